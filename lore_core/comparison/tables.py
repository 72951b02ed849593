"""The tables of metrics that are printed, shown and saved: of one model, and of several methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import pandas as pd

from lore_core.comparison.summary import Summary
from lore_core.inference.simulation import NullErrors
from lore_core.metrics.catalogue import DESCRIBED, unit_of


def metric_table(summary: Summary, chance: NullErrors | None = None) -> pd.DataFrame:
    """Value, 95 % interval and chance of every metric of one model.

    One row a metric: ``metric, value, unit, low, high, p_value, rows``, NaN where not known. Values
    are not multiplied: ``unit`` says of what they are, and how many rows they rest on.
    """
    values = {**summary.values, **summary.details}
    bounds = summary.intervals
    rows = []
    for metric in DESCRIBED:
        if metric.name not in values:
            continue
        value = float(values[metric.name])
        low = high = p = np.nan
        if bounds is not None and metric.name in bounds.index:
            low, high = (float(bounds[side][metric.name]) for side in ("low", "high"))
        if chance is not None and metric.chance is not None:
            p = chance.p_value(metric.chance, value)
        rows.append((metric.name, value, metric.unit.in_files, low, high, p, summary.n_rows))
    return pd.DataFrame(rows, columns=["metric", "value", "unit", "low", "high", "p_value", "rows"])


def stacked(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Put the tables of several methods one below the other; the last column says whose."""
    return pd.concat(
        [frame.assign(method=label) for label, frame in frames.items()], ignore_index=True
    )


def long_table(
    columns: Mapping[str, pd.DataFrame | None], methods: list[str], metrics: list[str]
) -> pd.DataFrame:
    """One row a method and metric: ``method, metric, unit``, then the columns.

    ``columns``: by their names values of methods × metrics; NaN where there are none.
    """
    order = pd.MultiIndex.from_product([methods, metrics], names=["method", "metric"])
    units = [unit_of(metric).in_files for _, metric in order]
    table = pd.DataFrame({"unit": units}, index=order)
    for name, frame in columns.items():
        table[name] = (
            np.nan
            if frame is None
            else frame.reindex(index=methods, columns=metrics).to_numpy().ravel()
        )
    return table.reset_index()


def beyond_chance(low: float, high: float) -> Literal["better", "worse", ""]:
    """Say on which side of 0 a difference lies beyond chance; of an error, less is better.

    ``low``, ``high``: its 95 % interval; NaN where there is none.
    """
    return "better" if high < 0 else "worse" if low > 0 else ""
