"""The tables of metrics that are printed, shown and saved: of one model, and of several methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import pandas as pd

from lore_core.chance.simulation import NullErrors
from lore_core.comparison.summary import Summary
from lore_core.metrics.catalogue import unit_of
from lore_core.metrics.tables import table_of_metrics


def metric_table(summary: Summary, chance: NullErrors | None = None) -> pd.DataFrame:
    """List every metric of one model: :func:`~lore_core.metrics.tables.table_of_metrics`."""
    intervals = {str(name): (low, high) for name, low, high in summary.intervals.itertuples()}
    values = {**summary.values, **summary.details}
    return table_of_metrics(values, summary.n_rows, intervals=intervals, chance=chance)


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
