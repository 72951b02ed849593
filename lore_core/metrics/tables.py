"""The table of metrics of one model, as numbers and as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from lore_core.data.number_text import p_words
from lore_core.metrics.catalogue import CATALOGUE, DESCRIBED

if TYPE_CHECKING:
    from lore_core.inference.simulation import NullErrors


def table_of_metrics(
    values: Mapping[str, float],
    n_rows: int,
    *,
    intervals: Mapping[str, tuple[float, float, float]] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    chance: NullErrors | None = None,
) -> pd.DataFrame:
    """Return ``metric, value, unit``, ends, ``p_value, rows`` of every metric of one model.

    Ends: ``low, high, estimate`` of ``intervals`` or ``at_least, at_most`` of ``bounds``, or NaN.
    """
    ends = ("low", "high", "estimate") if bounds is None else ("at_least", "at_most")
    known = (intervals if bounds is None else bounds) or {}
    rows = []
    for metric in DESCRIBED:
        if metric.name not in values:
            continue
        value, p = float(values[metric.name]), np.nan
        if chance is not None and metric.chance is not None:
            p = chance.p_value(metric.chance, value)
        own = map(float, known.get(metric.name, (np.nan,) * len(ends)))
        rows.append((metric.name, value, metric.unit.in_files, *own, p, n_rows))
    return pd.DataFrame(rows, columns=["metric", "value", "unit", *ends, "p_value", "rows"])


def metric_columns(table: pd.DataFrame) -> dict[str, list[str]]:
    """Write a table of metrics, or of a comparison, as columns of text; bounds where not exact."""
    metrics = [CATALOGUE[name] for name in table["metric"]]
    columns = {"metric": [metric.heading for metric in metrics]}
    observed = table["value"] if "value" in table else table.iloc[:, 0]
    if "estimate" in table:
        table = table.assign(value=table["estimate"].fillna(observed))
    for name in ("value", "other", "difference"):
        if name in table:
            columns[name] = [m.text(of) for m, of in zip(metrics, table[name], strict=True)]
    if "low" in table:
        ends = zip(metrics, table["low"], table["high"], strict=True)
        columns["95 % CI"] = [m.interval_text(low, high) for m, low, high in ends]
    if "at_least" in table:
        ends = zip(metrics, table["at_least"], table["at_most"], strict=True)
        columns["guaranteed"] = [
            m.interval_text(low, high) if low < high else "" for m, low, high in ends
        ]
    if "estimate" in table:
        columns["observed"] = [m.text(of) for m, of in zip(metrics, observed, strict=True)]
    if "p_value" in table:
        columns["p"] = [p_words(p) for p in table["p_value"]]
    return columns
