"""Tables of metrics, of one model and of several methods, and limits they are checked against."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import numpy as np
import pandas as pd

from lore_core.comparison.summary import Summary
from lore_core.data.validation import InputError
from lore_core.inference.simulation import NullErrors
from lore_core.metrics.catalogue import CATALOGUE, unit_of
from lore_core.metrics.tables import table_of_metrics

#: What can come of a limit.
Checked = Literal["met", "not sure", "exceeded"]
#: What the row of a table about places is called.
PLACES = "worst place"
_COLUMNS = ["check", "limit", "value", "low", "high", "result", "where"]


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


def check_metrics(table: pd.DataFrame, limits: Mapping[str, float]) -> pd.DataFrame:
    """Check metrics of one model against limits.

    ``table``: from :func:`metric_table`. ``limits``: by names of
    metrics, in the table's own units (shares 0 to 1, not points): the largest value allowed, or the
    smallest where more is better. Returns one row a limit, in their order: ``check, limit, value,
    low, high, result, where``. ``result`` is "exceeded" where the value is beyond the limit and the
    whole interval is, "not sure" where the interval reaches back to the limit, else "met". Of a
    metric without an interval the value alone decides. ``where`` is empty. Raises InputError if a
    metric is unknown, the data have no value of it, no value of it is better than another, or a
    limit is no number.
    """
    known = table.set_index("metric")
    rows = []
    for name, limit in limits.items():
        metric = CATALOGUE.get(name)
        if metric is None or metric.direction is None or not math.isfinite(limit):
            wanted = ", ".join(m.name for m in CATALOGUE.values() if m.direction is not None)
            raise InputError(f"a limit must be a number for one of {wanted}; got {name}={limit!r}.")
        if name not in known.index:
            raise InputError(
                f"these data have no {metric.words}, which a limit is for: it needs "
                f"{' and '.join(metric.needs) or 'rows'}. Leave the limit out."
            )
        value, low, high = (float(known[side][name]) for side in ("value", "low", "high"))
        sign = 1.0 if metric.direction == "lower" else -1.0
        near = low if sign > 0 else high
        rows.append((name, limit, value, low, high, _result(sign, value, near, limit), ""))
    return pd.DataFrame(rows, columns=_COLUMNS)


def check_subgroups(subgroups: pd.DataFrame, limit: float) -> pd.DataFrame:
    """Check the gaps of places against a limit.

    ``subgroups``: from :func:`~lore_core.view.where.subgroup_table`: significant ones, with
    their gaps on rows that did not take part in finding them. ``limit``: largest gap allowed, in
    either direction: a share, 0 to 1. Returns one row as of :func:`check_metrics`, for the place
    whose gap has the bound furthest from 0; without a value where there is none.
    """
    if not len(subgroups):
        rows = [(PLACES, limit, np.nan, np.nan, np.nan, "met", "")]
        return pd.DataFrame(rows, columns=_COLUMNS)
    ends = subgroups[["held_out_gap_low", "held_out_gap_high"]].to_numpy()
    gap = subgroups["held_out_gap"].to_numpy()
    low, high = np.sort(ends * np.sign(gap)[:, None], axis=1).T
    worst = int(low.argmax())
    value = float(abs(gap[worst]))
    result = _result(1.0, value, float(low[worst]), limit)
    rows = [
        (PLACES, limit, value, low[worst], high[worst], result, subgroups["where"].iloc[worst]),
    ]
    return pd.DataFrame(rows, columns=_COLUMNS)


def _result(sign: float, value: float, near: float, limit: float) -> Checked:
    if sign * (value - limit) <= 0:
        return "met"
    return "not sure" if sign * (near - limit) <= 0 else "exceeded"
