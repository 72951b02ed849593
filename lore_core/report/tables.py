"""Every table of the bundle, as it is written to CSV and Parquet."""

import io
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from lore_core.comparison.tables import metric_table, stacked
from lore_core.data.export_text import csv_text
from lore_core.metrics import BandwidthCurve, RewardCurve
from lore_core.metrics.catalogue import CURVES
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE, LocalErrors
from lore_core.regions.rows import row_table, worst_rows
from lore_core.report.findings import Findings
from lore_core.view.where import subgroup_table

_WORST_ROWS = 50
#: A number that no text holds before the end of a line.
_END = 0.8414709848078965
#: Lines that are written at once.
_BLOCK = 2**17
ABOUT_TABLES = {
    "metrics": "every metric before recalibration: value, unit, 95 % CI, estimate, p, rows",
    "reliability": "confidence bins: rows, mean confidence, accuracy, interval",
    "rows": "one line an evaluation row: confidence, outcome, local error, subgroup, each method",
    "worst_rows": "the rows with the largest local errors and all that is known of them",
    "subgroups": "significantly miscalibrated subgroups, with gaps on held-out rows",
    "subgroup_composition": "composition of those subgroups that are regions of the map",
    "classes": "every class, the worst first: mean probability, frequency, local errors, p",
    "bandwidth_curve": "MLCE and ALCE at every γ",
    "bandwidth_chance": "what a calibrated model would show at every γ",
    "variables": "columns ranked by evidence that the gap differs along them",
    "recalibrators": "methods × metrics: value, unit, interval, paired difference, p, rows",
    "recalibrated_reliability": "confidence bins after each method",
    "recalibrated_bandwidth_curves": "MLCE and ALCE at every γ after each method drawn",
    "worst_group": "the worst group and the worst cells under every method",
    "groups": "every group under every method, with intervals",
    "models": "another model: both values and differences of metrics and subgroups",
    "decisions": "rewards at many cost ratios",
    "decisions_at_own_costs": "rewards at the report's own costs",
    "retraining": "what recalibration can gain and what it cannot, with intervals",
}


def tables(findings: Findings) -> dict[str, pd.DataFrame]:
    """Return all tables by the name of their file."""
    local = findings.summary.local
    made = {
        "metrics": metric_table(findings.summary, findings.chance),
        "reliability": findings.summary.reliability.frame(),
        "rows": _rows(findings, local),
    }
    if local is not None:
        worst = worst_rows(local, n_rows=_WORST_ROWS, min_effective_size=MIN_EFFECTIVE_SIZE)
        made["worst_rows"] = row_table(findings.view.evaluation, worst, local)
    if findings.classes is not None:
        made["classes"] = findings.classes.reset_index()
    made["subgroups"] = subgroup_table(findings.view, findings.search, findings.gains)
    parts = [frame.assign(subgroup=number + 1) for number, frame in findings.compositions.items()]
    if parts:
        made["subgroup_composition"] = pd.concat(parts, ignore_index=True)
    if findings.curve is not None:
        made["bandwidth_curve"] = findings.curve.frame()
    if findings.band is not None:
        frame = pd.DataFrame({"gamma": findings.band.gamma})
        for key in CURVES:
            frame[f"{key}_low"], frame[f"{key}_high"] = findings.band.band(key)
        made["bandwidth_chance"] = frame
    made["variables"] = findings.variables
    if findings.comparison is not None:
        made["recalibrators"] = findings.comparison.frame(findings.comparison.ranking)
        summaries = findings.comparison.summaries.items()
        made["recalibrated_reliability"] = stacked(
            {label: item.reliability.frame() for label, item in summaries}
        )
    if findings.models is not None:
        made["models"] = findings.models.frame()
    if findings.method_curves:
        made["recalibrated_bandwidth_curves"] = stacked(_frames(findings.method_curves))
    if findings.group_table is not None:
        made["worst_group"] = findings.group_table.rename_axis("method").reset_index()
        made["groups"] = stacked(findings.group_reports)
    made["decisions"] = stacked(_frames(findings.rewards))
    made["decisions_at_own_costs"] = stacked(_frames(findings.rewards_at_costs))
    if findings.retraining is not None:
        made["retraining"] = findings.retraining.reset_index()
    return {name: _plain(frame) for name, frame in made.items()}


def table_files(name: str, frame: pd.DataFrame) -> dict[str, bytes]:
    """Return a table as the files it becomes, by their paths in the bundle."""
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    # (As `csv_text` writes it, but a million lines in a fifth of the time.)
    parts: list[Any] = [csv_text(frame.iloc[:0]).encode()]
    for start in range(0, len(frame), _BLOCK):
        columns = (_csv_texts(frame[name].iloc[start : start + _BLOCK]) for name in frame)
        lines = pc.binary_join_element_wise(*columns, ",")
        all_lines = pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines)
        parts += [pc.binary_join(all_lines, "\n")[0].as_buffer(), b"\n"]
    return {f"tables/{name}.csv": b"".join(parts), f"tables/{name}.parquet": buffer.getvalue()}


def _csv_texts(column: pd.Series) -> pa.Array:
    values = column.to_numpy()
    if column.dtype == bool:
        return pc.if_else(pa.array(values), "True", "False")
    if isinstance(column.dtype, np.dtype) and values.dtype.kind in "iu":
        return pa.array(values).cast(pa.string())
    if column.dtype == np.float64:
        size = np.abs(values)
        # (Arrow writes these in another form than Python.)
        other = ~((size >= 1e-4) & (size < 1e9)) | (values == np.rint(values))
        texts = ["" if np.isnan(value) else repr(value) for value in values[other].tolist()]
        plain = pa.array(values).cast(pa.string())
        return pc.replace_with_mask(plain, pa.array(other), pa.array(texts, pa.string()))
    known: Any = column
    codes = np.arange(len(column))
    if not pd.api.types.is_numeric_dtype(column):
        codes, known = pd.factorize(values, use_na_sentinel=False)
    # (Two columns: of one alone an empty text would be quoted, and the other ends each.)
    lines = csv_text(pd.DataFrame({"": known, "x": _END})).removeprefix(",x\n")
    return pa.array(lines.split(f",{_END}\n")[:-1], pa.string()).take(pa.array(codes))


def _frames(curves: Mapping[str, BandwidthCurve | RewardCurve]) -> dict[str, pd.DataFrame]:
    return {label: curve.frame() for label, curve in curves.items()}


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    """Make columns a file can hold: text of anything but numbers and truth values."""
    plain = frame.reset_index(drop=True)
    plain.attrs = {}
    plain.columns = pd.Index([str(name) for name in plain.columns], dtype=object)
    for position, name in enumerate(plain.columns):
        column = plain.iloc[:, position]
        if pd.api.types.is_numeric_dtype(column):
            continue
        values = column.astype(object)
        if pd.api.types.infer_dtype(values, skipna=False) != "string":
            missing = column.isna().to_numpy()
            texts = [None if gone else str(v) for v, gone in zip(column, missing, strict=True)]
            values = pd.Series(texts, dtype=object)
        plain[name] = values
    return plain


def _rows(findings: Findings, local: LocalErrors | None) -> pd.DataFrame:
    dataset, target_rows = findings.view.evaluation, findings.view.target_rows
    names = np.array(dataset.class_names, dtype=object)
    columns: dict[str, Any] = {
        "row": np.arange(len(dataset)),
        "predicted": names[dataset.predictions],
        "true": names[dataset.labels],
        "confidence": target_rows.confidence,
        "outcome": target_rows.outcome.astype(bool),
    }
    if local is not None:
        columns |= {
            "signed_error": local.signed,
            "n_eff": local.effective_size,
            "bin": local.bin_index,
        }
    # Number of the first subgroup that holds a row, from 1; 0 for none.
    columns["subgroup"] = np.zeros(len(dataset), dtype=np.int64)
    for number in reversed(range(len(findings.search.subgroups))):
        columns["subgroup"][findings.search.mask(number)] = number + 1
    if findings.picture_map is not None:
        points = findings.view.points(on=findings.picture_map)
        columns |= {"map_1": points[:, 0], "map_2": points[:, 1]}
    if findings.comparison is not None:
        columns |= {
            f"confidence after {label}": item.confidence
            for label, item in findings.comparison.datasets.items()
        }
    return pd.DataFrame(columns)
