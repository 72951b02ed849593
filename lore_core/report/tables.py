"""Every table of the bundle, as it is written to CSV and Parquet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from lore_core.chance.significance import MIN_EFFECTIVE_SIZE
from lore_core.metrics.local_error import LocalErrors
from lore_core.regions.row_tables import row_table, worst_rows
from lore_core.report.findings import Findings

__all__ = ["RANKED_BY", "long_comparison", "metric_table", "rank_metric", "ranked", "tables"]

#: Metrics a calibrated model's chance is known of, by their name in NullErrors.
_CHANCE = {"ECE": "ece", "MCE": "mce", "ALCE": "alce", "MLCE": "mlce"}
_ORDER = (
    "accuracy", "mean_confidence", "NLL", "Brier", "ECE", "ECE debiased", "MCE", "ALCE", "MLCE",
    "MLCE supported",
)  # fmt: skip
#: What recalibrators are ranked by: the first the data allow. Both NLL and Brier are proper scores:
#: in expectation nothing but the truth is best.
RANKED_BY = ("NLL", "Brier", "ECE")
_WORST_ROWS = 50


def tables(found: Findings) -> dict[str, pd.DataFrame]:
    """Return all tables by the name of their file.

    Parameters
    ----------
    found : Findings
        What the report is about.
    """
    made: dict[str, pd.DataFrame] = {}
    local = None if found.summary is None else found.summary.local
    if found.summary is not None:
        made["metrics"] = metric_table(found)
        made["reliability"] = found.summary.reliability.frame()
    made["rows"] = _rows(found, local)
    if local is not None:
        worst = worst_rows(local, n_rows=_WORST_ROWS, min_effective_size=MIN_EFFECTIVE_SIZE)
        made["worst_rows"] = row_table(found.evaluation, worst, local)
    if found.search is not None:
        made["regions"] = found.search.frame().assign(
            sentence=[region.sentence for region in found.search.regions],
            made_of=found.made_of,
            excess_by=found.excess,
        )
        parts = [
            frame.assign(region=number) for number, frame in enumerate(found.compositions, start=1)
        ]
        if parts:
            made["region_composition"] = pd.concat(parts, ignore_index=True)
    if found.curve is not None:
        made["bandwidth_curve"] = found.curve.frame()
    if found.band is not None:
        frame = pd.DataFrame({"gamma": found.band.gamma})
        for metric in ("mlce", "mlce_supported", "alce"):
            low, high = found.band.band(metric)
            frame[f"{metric}_low"], frame[f"{metric}_high"] = low, high
        made["bandwidth_chance"] = frame
    if found.variables is not None:
        made["variables"] = found.variables
    if found.comparison is not None:
        made["recalibrators"] = long_comparison(found)
        made["recalibrated_reliability"] = pd.concat(
            [
                item.reliability.frame().assign(method=label)
                for label, item in found.comparison.summaries.items()
            ],
            ignore_index=True,
        )
    if found.method_curves:
        made["recalibrated_bandwidth_curves"] = pd.concat(
            [item.frame().assign(method=label) for label, item in found.method_curves.items()],
            ignore_index=True,
        )
    if found.group_table is not None:
        made["worst_group"] = found.group_table.rename_axis("method").reset_index()
        made["groups"] = pd.concat(
            [frame.assign(method=label) for label, frame in found.group_reports.items()],
            ignore_index=True,
        )
    if found.rewards:
        made["decisions"] = pd.concat(
            [item.frame().assign(method=label) for label, item in found.rewards.items()],
            ignore_index=True,
        )
        made["decisions_at_own_costs"] = pd.concat(
            [item.frame().assign(method=label) for label, item in found.own_rewards.items()],
            ignore_index=True,
        )
    return {name: _plain(frame) for name, frame in made.items()}


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    """Columns a file can hold: of anything but numbers and truth values the text."""
    plain = frame.reset_index(drop=True)
    plain.attrs = {}
    plain.columns = pd.Index([str(name) for name in plain.columns], dtype=object)
    for position, name in enumerate(plain.columns):
        column = plain.iloc[:, position]
        if not (pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column)):
            missing = column.isna().to_numpy()
            texts = [None if gone else str(v) for v, gone in zip(column, missing, strict=True)]
            plain[name] = pd.Series(texts, dtype=object)
    return plain


def metric_table(found: Findings) -> pd.DataFrame:
    """Value, 95 % interval and chance of every metric, before recalibration.

    Parameters
    ----------
    found : Findings
        With a summary.
    """
    summary: Any = found.summary
    assert summary is not None
    values = {str(name): float(value) for name, value in summary.values.items()}
    values["ECE debiased"] = float(summary.reliability.debiased_calibration_error)
    chance = {**_CHANCE}
    if summary.local is not None:
        values["MLCE supported"] = summary.local.supported_maximum(MIN_EFFECTIVE_SIZE)
        chance["MLCE supported"] = "mlce_supported"
    rows = []
    for name in [*(name for name in _ORDER if name in values), *sorted(set(values) - set(_ORDER))]:
        value = values[name]
        low = high = p = np.nan
        if summary.intervals is not None and name in summary.intervals.index:
            low, high = (float(summary.intervals.loc[name, side]) for side in ("low", "high"))
        if found.chance is not None and name in chance and np.isfinite(value):
            p = found.chance.p_value(chance[name], value)  # type: ignore[arg-type]
        rows.append({"metric": name, "value": value, "low": low, "high": high, "p_value": p,
                     "rows": summary.n_rows})  # fmt: skip
    return pd.DataFrame(rows)


def _rows(found: Findings, local: LocalErrors | None) -> pd.DataFrame:
    """One line an evaluation row: what was promised, what came, and what each method says."""
    dataset, aimed = found.evaluation, found.aimed
    assert dataset.predictions is not None  # set by Dataset
    names = [str(name) for name in dataset.class_names or ()]
    columns: dict[str, Any] = {
        "row": np.arange(len(dataset)),
        "predicted": [names[k] for k in dataset.predictions],
        "true": [names[k] for k in dataset.labels],
        "confidence": aimed.confidence,
        "came_true": aimed.outcome.astype(bool),
    }
    if local is not None:
        columns |= {
            "signed_error": local.signed,
            "n_eff": local.effective_size,
            "bin": local.bin_index,
        }
    if found.search is not None:
        columns["region"] = found.search.label + 1
    points = found.points(found.drawn_on)
    if points is not None:
        columns |= {"map_1": points[:, 0], "map_2": points[:, 1]}
    if found.comparison is not None:
        columns |= {
            f"confidence after {label}": item.confidence
            for label, item in found.comparison.datasets.items()
        }
    return pd.DataFrame(columns)


def rank_metric(found: Findings) -> str:
    """Name the metric recalibrators are ranked by."""
    assert found.comparison is not None
    table = found.comparison.table
    return next(
        name for name in RANKED_BY if name in table and bool(np.isfinite(table[name]).all())
    )


def ranked(found: Findings) -> list[str]:
    """Methods from best to worst by :func:`rank_metric`.

    Parameters
    ----------
    found : Findings
        With a comparison.
    """
    assert found.comparison is not None
    column = found.comparison.table[rank_metric(found)]
    return [str(name) for name in column.sort_values(kind="stable").index]


def long_comparison(found: Findings) -> pd.DataFrame:
    """One row a method and metric: value, interval, and the paired difference to the first.

    Parameters
    ----------
    found : Findings
        With a comparison.
    """
    result: Any = found.comparison
    assert result is not None
    first = result.table.index[0]
    sides = {
        "low": result.low,
        "high": result.high,
        "difference_low": result.difference_low,
        "difference_high": result.difference_high,
    }
    rows = []
    for method in ranked(found):
        for metric in result.table.columns:
            value = float(result.table.loc[method, metric])
            row: dict[str, Any] = {
                "method": method, "metric": metric, "value": value,
                "difference": value - float(result.table.loc[first, metric]),
            }  # fmt: skip
            for name, frame in sides.items():
                there = frame is not None and method in frame.index and metric in frame.columns
                row[name] = float(frame.loc[method, metric]) if there else np.nan
            rows.append(row)
    return pd.DataFrame(rows)
