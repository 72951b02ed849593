"""Datasets in files: in archives, texts as codes; as ``.npz``."""

from __future__ import annotations

import datetime
import json
import zipfile
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lore_core.data.archive_files import Form, fields_of
from lore_core.data.dataset import Dataset
from lore_core.data.rules import check_fields
from lore_core.data.validation import InputError

_FRAMES = ("groups", "metadata")
#: Names with a meaning in the file; metadata columns of such names are renamed.
_RESERVED = {
    *("probs", "logits", "confidence", "predictions", "labels", "class_names", "sample_weight"),
    *("features", "feature_names", "groups", "group_names", "inputs", "input_names"),
    *("images", "split", "unit"),
}
#: Largest text array: numpy gives every text the room of the longest one.
_MAX_TEXT_BYTES = 4 * 2**30


class _About(TypedDict):
    name: str
    class_names: tuple[str, ...]
    feature_names: tuple[str, ...] | None
    complete: bool


def _parts(dataset: Dataset) -> dict[str, Any]:
    parts = fields_of(dataset)
    for name in _FRAMES:
        if parts[name] is not None:
            columns = parts[name].items()
            parts[name] = [(str(column), _column_parts(values)) for column, values in columns]
    return parts


def _build(parts: dict[str, Any]) -> Dataset:
    for name in _FRAMES:
        if parts[name] is not None:
            parts[name] = pd.DataFrame({str(k): _column(column) for k, column in parts[name]})
    probabilities = parts["probabilities"]
    check_fields(_About, {name: parts[name] for name in _About.__annotations__}, "")
    made = Dataset(**parts)
    # As they were computed; dividing by their sums again could change the last bit.
    apart = made.probabilities - probabilities
    if probabilities.dtype != np.float64 or max(apart.max(), -apart.min()) > 1e-9:
        raise ValueError("probabilities that do not sum to 1")
    return made.with_checked(probabilities)


def _column_parts(column: pd.Series[Any]) -> dict[str, Any]:
    """Return a column as an array, as codes of texts, or as a list of values."""
    dtype = column.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "biufmM":
        return {"array": column.to_numpy()}
    if isinstance(dtype, pd.DatetimeTZDtype):
        moments = column.dt.tz_convert("UTC").dt.tz_localize(None)
        return {"array": moments.to_numpy(), "zone": str(dtype.tz)}
    if str(dtype) == "str" or all(type(value) is str for value in column):
        codes, texts = pd.factorize(column)
        words = json.dumps([str(text) for text in texts]).encode()
        return {
            "codes": codes.astype(np.int32),
            "words": np.frombuffer(words, np.uint8),
            "dtype": str(dtype),
        }
    return {"values": [_value(value) for value in column]}


def _value(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    plain = value is None or isinstance(value, (bool, int, float, str))
    return value if plain or type(value) in _MOMENTS else str(value)


def _column(parts: dict[str, Any]) -> pd.Series[Any]:
    if "values" in parts:
        return pd.Series(parts["values"], dtype=object)
    if "array" in parts:
        column = pd.Series(parts["array"])
        if "zone" in parts:
            column = column.dt.tz_localize("UTC").dt.tz_convert(str(parts["zone"]))
        return column
    codes, words = parts["codes"], json.loads(parts["words"].tobytes())
    if codes.dtype != np.int32 or ((codes < -1) | (codes >= len(words))).any():
        raise ValueError("codes of no text")
    if not all(isinstance(word, str) for word in words):
        raise ValueError("words that are no text")
    texts = np.array([*words, np.nan], dtype=object)
    return pd.Series(texts[codes], dtype=object if parts["dtype"] == "object" else "str")


_MOMENTS = (datetime.datetime, datetime.date, datetime.time)


def _moment_form(kind: Any) -> Form:
    return Form(
        kind.__name__,
        kind,
        lambda moment: {"iso": moment.isoformat()},
        lambda parts: kind.fromisoformat(parts["iso"]),
    )


FORMS = (Form("Dataset", Dataset, _parts, _build), *map(_moment_form, _MOMENTS))


def save_npz(dataset: Dataset, path: str | Path) -> None:
    """Write a dataset to one ``.npz`` file without pickled objects; an existing file is replaced.

    Numbers keep their precision; group names and other values become text, missing ones the empty
    text. Where only the confidence was known, only that is written. Metadata of a group column's
    name is that column, written once. Columns called like one of the file's own entries become
    ``metadata_<name>``. Raises InputError if a column holds texts too long to be stored as an
    array.
    """
    arrays = _arrays(dataset)
    # Not np.savez: columns called "file" or "allow_pickle" would be its arguments.
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _arrays(dataset: Dataset) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {}
    if dataset.complete:
        arrays["probs"] = dataset.probabilities
    else:
        arrays["confidence"] = dataset.confidence
    arrays["labels"] = dataset.labels
    arrays["class_names"] = np.array(dataset.class_names, dtype=np.str_)
    predictions = dataset.predictions
    # After recalibration another class can be the most probable one.
    if not dataset.complete or (predictions != dataset.probabilities.argmax(axis=1)).any():
        arrays["predictions"] = predictions
    parts = {name: getattr(dataset, name) for name in ("features", "images", "split")}
    parts |= {"sample_weight": dataset.weights, "unit": dataset.units}
    arrays |= {name: part for name, part in parts.items() if part is not None}
    if dataset.feature_names is not None:
        arrays["feature_names"] = np.array(dataset.feature_names, dtype=np.str_)
    if dataset.groups is not None:
        arrays["groups"] = np.column_stack([_as_texts(of) for _, of in dataset.groups.items()])
        arrays["group_names"] = np.array([*map(str, dataset.groups)], dtype=np.str_)
    if dataset.metadata is not None:
        for column, values in dataset.metadata.items():
            # A loaded dataset has its group columns in both places.
            if dataset.groups is not None and column in dataset.groups:
                continue
            name = str(column)
            while name in _RESERVED or name in arrays:
                name = f"metadata_{name}"
            arrays[name] = _as_array(values)
    return arrays


def _as_array(column: pd.Series[Any]) -> NDArray[Any]:
    missing = bool(column.isna().any())
    if pd.api.types.is_bool_dtype(column) and not missing:
        return column.to_numpy(dtype=np.bool_)
    if pd.api.types.is_integer_dtype(column) and not missing:
        return column.to_numpy(dtype=np.int64)
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_complex_dtype(column):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return _as_texts(column)


def _as_texts(column: pd.Series[Any]) -> NDArray[np.str_]:
    texts = ["" if gone else str(value) for value, gone in zip(column, column.isna(), strict=True)]
    longest = max(map(len, texts), default=0)
    if 4 * longest * len(texts) > _MAX_TEXT_BYTES:
        raise InputError(
            f"column {column.name!r} must hold shorter texts; its longest has {longest:,}. Cut it."
        )
    return np.array(texts, dtype=np.str_)
