"""Tables of metrics, of one model and of several methods, and limits they are checked against."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from lore_core.comparison.summary import Summary
from lore_core.data.validation import InputError
from lore_core.inference.simulation import NullErrors
from lore_core.metrics.catalogue import CATALOGUE, unit_of
from lore_core.metrics.proper_scores import clip_note
from lore_core.metrics.tables import table_of_metrics
from lore_core.recalibration import TemperatureScaling

if TYPE_CHECKING:
    from lore_core.comparison.two_models import ModelComparison

Checked = Literal["met", "not sure", "exceeded"]
SUBGROUPS = "worst subgroup"
GROWTH, SUBGROUP_GROWTH = "growth of the mean gap", "growth of a subgroup's gap"
_COLUMNS = ["check", "limit", "value", "low", "high", "result", "where"]


def metric_table(summary: Summary, chance: NullErrors | None = None) -> pd.DataFrame:
    """List every metric of one model: :func:`~lore_core.metrics.tables.table_of_metrics`."""
    intervals = {str(name): tuple(ends) for name, *ends in summary.intervals.itertuples()}
    values = {**summary.values, **summary.details}
    return table_of_metrics(values, summary.n_rows, intervals=intervals, chance=chance)


def note_on_nll(unclipped: Mapping[str, tuple[int, float]]) -> str:
    """Say by method what the NLL is without its clip: ``clip_note``, and which is fitted by it."""
    note, name = clip_note(unclipped), TemperatureScaling.label
    return f"{note} {name} is fitted with that clip." if note and name in unclipped else note


def stacked(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Concatenate the tables of several methods; the last column names them."""
    return pd.concat(
        [frame.assign(method=label) for label, frame in frames.items()], ignore_index=True
    )


def long_table(
    columns: Mapping[str, pd.DataFrame], methods: list[str], metrics: list[str]
) -> pd.DataFrame:
    """Return one row a method and metric: ``method, metric, unit``, then the columns."""
    order = pd.MultiIndex.from_product([methods, metrics], names=["method", "metric"])
    units = [unit_of(metric).in_files for _, metric in order]
    table = pd.DataFrame({"unit": units}, index=order)
    for name, frame in columns.items():
        table[name] = frame.reindex(index=methods, columns=metrics).to_numpy().ravel()
    return table.reset_index()


def beyond_chance(low: float, high: float) -> Literal["better", "worse", ""]:
    """Say on which side of 0 the interval of a difference of errors lies."""
    return "better" if high < 0 else "worse" if low > 0 else ""


def check_metrics(table: pd.DataFrame, limits: Mapping[str, float]) -> pd.DataFrame:
    """Check metrics against limits: "exceeded", if by the whole interval, "not sure" or "met"."""
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
    """Check the held-out gap with the bound furthest from 0 against a limit; one row."""
    row: tuple[object, ...] = (SUBGROUPS, limit, np.nan, np.nan, np.nan, "met", "")
    if len(subgroups):
        ends = subgroups[["held_out_gap_low", "held_out_gap_high"]].to_numpy()
        gap = subgroups["held_out_gap"].to_numpy()
        low, high = np.sort(ends * np.sign(gap)[:, None], axis=1).T
        k = int(low.argmax())
        value = float(abs(gap[k]))
        result = _result(1.0, value, float(low[k]), limit)
        row = (SUBGROUPS, limit, value, low[k], high[k], result, subgroups["where"].iloc[k])
    return pd.DataFrame([row], columns=_COLUMNS)


def check_growth(found: ModelComparison, limit: float) -> pd.DataFrame:
    """Check by how much a second model's mean gap and a subgroup's grew against a limit."""
    of, low, high = found.growth
    rows = [(GROWTH, limit, of, low, high, _result(1.0, of, low, limit), "")]
    if grown := found.of_kind("new", "worse"):
        worst = max(grown, key=lambda item: item.growth[1])
        result, where = _result(1.0, *worst.growth[:2], limit), worst.rows_in_words
        rows.append((SUBGROUP_GROWTH, limit, *worst.growth, result, where))
    else:
        rows.append((SUBGROUP_GROWTH, limit, np.nan, np.nan, np.nan, "met", ""))
    return pd.DataFrame(rows, columns=_COLUMNS)


def _result(sign: float, value: float, near: float, limit: float) -> Checked:
    if sign * (value - limit) <= 0:
        return "met"
    return "not sure" if sign * (near - limit) <= 0 else "exceeded"
