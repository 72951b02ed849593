"""Write a dataset as the ``.npz`` file that :func:`lore_core.load` reads."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lore_core.data.dataset import Dataset
from lore_core.data.validation import InputError

#: Names with a meaning in the file; metadata columns of such names are renamed.
_RESERVED = {
    "probs",
    "logits",
    "confidence",
    "predictions",
    "labels",
    "features",
    "groups",
    "group_names",
    "class_names",
    "images",
    "split",
    "inputs",
    "input_names",
    "feature_names",
    "sample_weight",
}
#: Largest text array: numpy gives every text the room of the longest one.
_MAX_TEXT_BYTES = 4 * 2**30


def save_npz(dataset: Dataset, path: str | Path) -> None:
    """Write a dataset to one ``.npz`` file without pickled objects.

    Parameters
    ----------
    dataset : Dataset
        Numbers keep their precision; group names and other values become text, missing ones the
        empty text. Where only the confidence was known, only that is written.
    path : str or Path
        Where to; an existing file is replaced.

    Raises
    ------
    InputError
        If a column holds texts too long to be stored as an array.

    Notes
    -----
    Metadata of a group column's name is that column, written once. Columns called like one of the
    file's own entries become ``metadata_<name>``.
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
    for name in ("features", "images", "split"):
        if getattr(dataset, name) is not None:
            arrays[name] = getattr(dataset, name)
    if dataset.weights is not None:
        arrays["sample_weight"] = dataset.weights
    if dataset.feature_names is not None:
        arrays["feature_names"] = np.array(dataset.feature_names, dtype=np.str_)
    if dataset.groups is not None:
        columns = [_text(dataset.groups.iloc[:, i]) for i in range(dataset.groups.shape[1])]
        arrays["groups"] = np.column_stack(columns)
        arrays["group_names"] = np.array([str(name) for name in dataset.groups], dtype=np.str_)
    if dataset.metadata is not None:
        for i, column in enumerate(dataset.metadata):
            # A loaded dataset has its group columns in both places.
            if dataset.groups is not None and column in dataset.groups:
                continue
            name = str(column)
            while name in _RESERVED or name in arrays:
                name = f"metadata_{name}"
            arrays[name] = _values(dataset.metadata.iloc[:, i])
    return arrays


def _values(column: pd.Series[Any]) -> NDArray[Any]:
    missing = bool(column.isna().any())
    if pd.api.types.is_bool_dtype(column) and not missing:
        return column.to_numpy(dtype=np.bool_)
    if pd.api.types.is_integer_dtype(column) and not missing:
        return column.to_numpy(dtype=np.int64)
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_complex_dtype(column):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return _text(column)


def _text(column: pd.Series[Any]) -> NDArray[np.str_]:
    texts = [
        "" if missing else str(value) for value, missing in zip(column, column.isna(), strict=True)
    ]
    longest = max(map(len, texts), default=0)
    if 4 * longest * len(texts) > _MAX_TEXT_BYTES:
        raise InputError(
            f"column {column.name!r} must hold shorter texts; its longest has {longest:,} "
            f"characters, in {len(texts):,} rows. Cut or leave out this column."
        )
    return np.array(texts, dtype=np.str_)
