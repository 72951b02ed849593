"""Messages between processes: JSON and plain arrays, nothing that runs.

The receiver takes nothing on trust: every size is known before it is allocated, every type is
compared with what is expected, and a dataset is checked as any other is.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import math
import types
import typing
from collections.abc import Callable, Mapping
from io import BufferedReader
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lore_core.data.arrays import Floats
from lore_core.data.dataset import Dataset

Arrays = dict[str, NDArray[Any]]
#: Reads so many bytes, all of them.
Read = Callable[[int], bytearray]
Kind = TypeVar("Kind")

#: Bytes of the length that a message begins with.
WORD = 8
#: Kinds of numpy's that are handed over as they lie in memory.
_PLAIN = "biufmMU"
_FRAMES = ("groups", "metadata")
_ARRAYS = (
    *("probabilities", "labels", "predictions", "features", "images", "split"),
    *("has_image", "weights"),
)
#: Rows that are compared at a time.
_ROWS = 2**14
_MOMENTS: dict[str, Any] = {
    kind.__name__: kind for kind in (datetime.datetime, datetime.date, datetime.time)
}


def message_of(told: Any, arrays: Mapping[str, NDArray[Any]]) -> list[memoryview | bytes]:
    """Return a message in parts: a length, what is told as JSON, and arrays as they lie there."""
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    shapes = {name: [array.dtype.str, array.shape] for name, array in whole.items()}
    text = json.dumps({"told": told, "arrays": shapes}).encode()
    parts: list[memoryview | bytes] = [len(text).to_bytes(WORD, "little"), text]
    parts += [array.reshape(-1).view(np.uint8).data for array in whole.values() if array.size]
    return parts


def message_from(read: Read, most: int) -> tuple[Any, Arrays]:
    """Take a message apart that is no longer than ``most`` bytes; ValueError if it is none."""
    length = int.from_bytes(read(WORD), "little")
    if length > most:
        raise ValueError("more words than are taken")
    try:
        message = json.loads(bytes(read(length)))
        told, shapes = message["told"], message["arrays"]
        sizes = {}
        for name, (word, shape) in shapes.items():
            dtype = np.dtype(str(word))
            if dtype.kind not in _PLAIN or not all(type(n) is int and n >= 0 for n in shape):
                raise ValueError("an array of another kind")
            sizes[str(name)] = (dtype, tuple(shape), math.prod(shape) * dtype.itemsize)
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError("no message") from error
    if length + sum(size for *_, size in sizes.values()) > most:
        raise ValueError("more arrays than are taken")
    arrays = {
        name: np.frombuffer(read(size), dtype).reshape(shape)
        for name, (dtype, shape, size) in sizes.items()
    }
    return told, arrays


def exactly(stream: BufferedReader, length: int) -> bytearray:
    """Read so many bytes; ValueError if there are fewer."""
    content = bytearray(length)
    if stream.readinto(content) != length:
        raise ValueError("a message that ends too early")
    return content


def dataset_told(dataset: Dataset) -> tuple[dict[str, Any], Arrays]:
    """Return what JSON can say of a dataset, and its arrays."""
    told: dict[str, Any] = {
        "name": dataset.name,
        "class_names": dataset.class_names,
        "feature_names": dataset.feature_names,
        "complete": dataset.complete,
    }
    arrays: Arrays = {}
    for name in _ARRAYS:
        if getattr(dataset, name) is not None:
            arrays[name] = getattr(dataset, name)
    for name in _FRAMES:
        frame = getattr(dataset, name)
        if frame is not None:
            told[name] = [
                (str(column), _column_told(values, f"{name}.{k}", arrays))
                for k, (column, values) in enumerate(frame.items())
            ]
    return told, arrays


def dataset_from(told: Any, arrays: Arrays) -> Dataset:
    """Return the dataset that was told of, checked again; ValueError if it is none."""
    frames = {
        name: pd.DataFrame(
            {
                str(column): _column_from(values, arrays.get(f"{name}.{k}"))
                for k, (column, values) in enumerate(told[name])
            }
        )
        for name in _FRAMES
        if told.get(name) is not None
    }
    probabilities = arrays["probabilities"]
    names, known = tuple[str, ...], told["feature_names"]
    parts: dict[str, Any] = {**{name: arrays.get(name) for name in _ARRAYS}, **frames}
    made = Dataset(
        **parts,
        name=from_json(str, told["name"]),
        class_names=from_json(names, told["class_names"]),
        feature_names=None if known is None else from_json(names, known),
        complete=from_json(bool, told["complete"]),
    )
    # As they were computed there; dividing by their sums once more could change a last bit.
    if probabilities.dtype != np.float64 or _differ(made.probabilities, probabilities):
        raise ValueError("probabilities that do not sum to 1")
    return made.with_checked(probabilities)


def _differ(one: Floats, other: Floats) -> bool:
    steps = range(0, len(one), _ROWS)
    return any(np.abs(one[at : at + _ROWS] - other[at : at + _ROWS]).max() > 1e-9 for at in steps)


def _column_told(column: pd.Series[Any], name: str, arrays: Arrays) -> dict[str, Any]:
    """Return a column: an array, codes of texts, or one value after the other."""
    dtype = column.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "biufmM":
        arrays[name] = column.to_numpy()
        return {}
    if isinstance(dtype, pd.DatetimeTZDtype):
        arrays[name] = column.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
        return {"zone": str(dtype.tz)}
    if str(dtype) == "str" or all(type(value) is str for value in column):
        codes, texts = pd.factorize(column)
        arrays[name] = codes.astype(np.int32)
        return {"texts": list(texts), "dtype": str(dtype)}
    return {"values": [_value_told(value) for value in column]}


def _column_from(told: dict[str, Any], array: NDArray[Any] | None) -> pd.Series[Any]:
    if "values" in told:
        return pd.Series([_value_from(value) for value in told["values"]], dtype=object)
    if array is None:
        raise ValueError("a column without values")
    if "zone" in told:
        return pd.Series(array).dt.tz_localize("UTC").dt.tz_convert(str(told["zone"]))
    if "texts" not in told:
        return pd.Series(array)
    texts = np.empty(len(told["texts"]) + 1, dtype=object)
    texts[:-1] = from_json(tuple[str, ...], told["texts"])
    texts[-1] = np.nan  # of code −1
    if array.dtype != np.int32 or ((array < -1) | (array >= len(texts))).any():
        raise ValueError("codes of no text")
    return pd.Series(texts[array], dtype=object if told["dtype"] == "object" else "str")


def _value_told(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    name = type(value).__name__
    return {name: value.isoformat()} if type(value) is _MOMENTS.get(name) else str(value)


def _value_from(told: Any) -> Any:
    if not isinstance(told, dict):
        return told
    ((name, value),) = told.items()
    return _MOMENTS[name].fromisoformat(value)


def to_json(value: Any, arrays: Arrays | None = None) -> Any:
    """Return dataclasses, tuples and mappings as JSON has them.

    ``arrays`` takes the arrays of datasets, and others, which are then named in the JSON.
    """
    arrays = {} if arrays is None else arrays
    if isinstance(value, Dataset):
        told, of_dataset = dataset_told(value)
        arrays |= of_dataset
        return told
    if isinstance(value, np.ndarray):
        name = f"array {len(arrays)}"
        arrays[name] = value
        return name
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        return {item.name: to_json(getattr(value, item.name), arrays) for item in fields}
    if isinstance(value, Mapping):
        return {str(key): to_json(item, arrays) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [to_json(item, arrays) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    return value


def from_json(kind: type[Kind], value: Any, arrays: Arrays | None = None) -> Kind:
    """Return a value of a type from its JSON; ValueError if it is of another.

    ``kind``: a plain type, a Literal, a dataclass, or a tuple, Mapping or union of such; with the
    ``arrays`` of a message a Dataset or an array, too.
    """
    return typing.cast(Kind, _from_json(kind, value, arrays or {}))


def _from_json(kind: Any, value: Any, arrays: Arrays) -> Any:
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if kind is Dataset:
        return dataset_from(value, arrays)
    if origin is np.ndarray:
        return arrays[value]
    if origin in (typing.Union, types.UnionType):
        if value is None and type(None) in parts:
            return None
        (kind,) = (part for part in parts if part is not type(None))
        return _from_json(kind, value, arrays)
    if origin is tuple and isinstance(value, list):
        kinds = [parts[0]] * len(value) if parts[-1] is Ellipsis else parts
        return tuple(
            _from_json(part, item, arrays) for part, item in zip(kinds, value, strict=True)
        )
    if origin is not None and isinstance(value, dict) and issubclass(origin, Mapping):
        return {str(key): _from_json(parts[1], item, arrays) for key, item in value.items()}
    if origin is typing.Literal and value in parts:
        return value
    if isinstance(kind, type) and dataclasses.is_dataclass(kind) and isinstance(value, dict):
        hints = typing.get_type_hints(kind)
        return kind(**{name: _from_json(hints[name], item, arrays) for name, item in value.items()})
    if kind is float and type(value) in (int, float):
        return float(value)
    if origin is None and type(value) is kind:
        return value
    raise ValueError(f"{str(value)[:40]!r} is no {kind}")
