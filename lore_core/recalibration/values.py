"""Values as JSON and arrays, and back: what a fitted recalibrator consists of, nothing else."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lore_core.data.validation import InputError

#: How an object without a place in JSON is told: its tag and its parts, or None.
Tagged = tuple[str, Any]


class Arrays:
    """The arrays of one file; equal ones are kept once."""

    def __init__(self) -> None:
        self.by_name: dict[str, NDArray[Any]] = {}
        self._names: dict[str, str] = {}

    def add(self, array: NDArray[Any]) -> str:
        """Keep an array and return its name in the file."""
        if array.dtype.hasobject:
            # Names of groups; wherever they are read, it is as text.
            flat = [str(value) for value in array.ravel()]
            array = np.array(flat, dtype=np.str_).reshape(array.shape)
        # A table of numbers in Fortran order is another array to numpy, but not to us.
        array = np.ascontiguousarray(array) if array.ndim else array
        key = hashlib.sha256(f"{array.dtype.str}{array.shape}".encode() + array.tobytes())
        name = self._names.setdefault(key.hexdigest(), f"array_{len(self._names)}")
        self.by_name[name] = array
        return name


def encode(value: Any, arrays: Arrays, tagged: Callable[[Any], Tagged | None], what: str) -> Any:
    """Return what JSON can hold of a value, with its arrays put aside.

    ``tagged`` takes apart what is neither a number, text, array nor a container of those, or
    returns None: then an InputError is raised, which calls the value ``what``.
    """
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else {"float": str(float(value))}
    if isinstance(value, np.ndarray):
        return {"array": arrays.add(value)}
    if isinstance(value, list):
        return [encode(item, arrays, tagged, what) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [encode(item, arrays, tagged, what) for item in value]}
    if isinstance(value, Mapping):
        content = {key: encode(item, arrays, tagged, what) for key, item in value.items()}
        return {"object": content}
    found = tagged(value)
    if found is None:
        raise InputError(
            f"{what} cannot be saved: it holds a {type(value).__name__}, which has no place in a "
            "file of numbers and text. Use numbers, text and the recalibrators of lore_core."
        )
    tag, parts = found
    return {tag: encode(parts, arrays, tagged, what)}


def decode(
    value: Any, arrays: Mapping[str, NDArray[Any]], build: Mapping[str, Callable[[Any], Any]]
) -> Any:
    """Return the value that :func:`encode` was given.

    ``build`` puts together what ``tagged`` took apart, by tag. Raises InputError if a tag is
    unknown.
    """
    if isinstance(value, list):
        return [decode(item, arrays, build) for item in value]
    if not isinstance(value, dict):
        return value
    ((tag, parts),) = value.items()
    if tag == "float":
        return float(parts)
    if tag == "array":
        return arrays[parts]
    if tag == "tuple":
        return tuple(decode(item, arrays, build) for item in parts)
    if tag == "object":
        return {key: decode(item, arrays, build) for key, item in parts.items()}
    if tag not in build:
        raise InputError(
            f"the file of a recalibrator must hold kinds of values this version knows; got {tag!r}."
        )
    return build[tag](decode(parts, arrays, build))
