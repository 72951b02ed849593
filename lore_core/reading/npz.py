"""NumPy archives: all headers are checked before any array is read; nothing is unpickled."""

from __future__ import annotations

import functools
import io
import math
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any, BinaryIO

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lore_core.data.archive_files import read_npy_header
from lore_core.data.errors import listed, short
from lore_core.data.validation import InputError, repeated
from lore_core.reading.columns import (
    MAX_COLUMNS,
    Columns,
    kind_of_dtype,
    refusing_damage,
    vector_of,
)
from lore_core.reading.raw_file import RawFile

#: Largest declared size that is read (against zip bombs).
MAX_BYTES = 8 * 2**30
#: Wider arrays do not become metadata columns.
MAX_EXPANDED = 100

#: Last record of a zip archive, and its count where there are too many entries for it.
_END, _END_SIGNATURE, _MANY = struct.Struct("<4s4H2LH"), b"PK\x05\x06", 0xFFFF
_LONGEST_COMMENT = 2**16

DAMAGE: tuple[type[Exception], ...] = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, TypeError),
    *(SyntaxError, OverflowError, tokenize.TokenError),
    RuntimeError,  # zipfile: an encrypted member or unknown compression
    LookupError,  # zipfile: a name in an unknown encoding
)
_Headers = dict[str, tuple[tuple[int, ...], np.dtype[Any]]]
#: 2-D arrays whose columns are columns of the data, and the prefix of unnamed ones.
_EXPANDED = {"groups": "group", "inputs": "input"}


def open_npz(raw: RawFile) -> Columns:
    """Open an archive; arrays are read when asked for."""
    headers = _headers(raw)
    class_names, feature_names = _given_names(raw, headers)
    companions = {"class_names"} | ({"feature_names"} if feature_names is not None else set())
    companions |= {f"{_EXPANDED[array]}_names" for array in _EXPANDED if _is_table(headers, array)}
    #: Column to its array, and its index there if the array holds several.
    columns: dict[str, tuple[str, int | None]] = {}
    for array in headers:
        names = _column_names(raw, headers, array) if _is_table(headers, array) else ()
        for index, name in enumerate(names):
            taken = name in headers or name in columns
            columns[f"{array}.{name}" if taken else name] = (array, index)
        if not names and array not in companions:
            columns[array] = (array, None)
    parents = {name: array for name, (array, index) in columns.items() if index is not None}
    shapes = {name: headers[array][0] for name, (array, _) in columns.items()}
    shapes |= {name: shapes[name][:1] for name in parents}
    kinds = {name: kind_of_dtype(headers[array][1]) for name, (array, _) in columns.items()}
    read_once = functools.cache(functools.partial(_read, raw))

    def load(name: str) -> Any:
        array, index = columns[name]
        values = _read(raw, array) if index is None else read_once(array)
        if index is not None and values.ndim == 2:
            values = values[:, index]
        return _vector(raw, array, values) if values.ndim == 1 else values

    return Columns(
        raw.name, "NPZ", shapes, kinds, load, parents, class_names, feature_names=feature_names
    )


def _refusing_damage(raw: RawFile) -> AbstractContextManager[None]:
    return refusing_damage(raw.name, "archive of numpy.savez", *DAMAGE)


def _headers(raw: RawFile) -> _Headers:
    headers: _Headers = {}
    total = 0
    with _refusing_damage(raw), raw.open() as stream, zipfile.ZipFile(stream) as archive:
        members = [item for item in archive.infolist() if item.filename.endswith(".npy")]
        if len(members) > MAX_COLUMNS:
            raise InputError(
                f"'{raw.name}' holds {len(members):,} arrays, more than the {MAX_COLUMNS:,} that "
                "are read. Put columns side by side into one array 'features'."
            )
        if not members:
            raise InputError(
                f"'{raw.name}' holds no arrays. Save it with numpy.savez(file, probs=…, labels=…)."
            )
        check_entries(stream, archive)
        for item in members:
            name = item.filename.removesuffix(".npy")
            if name in headers:
                raise InputError(f"'{raw.name}' holds the array '{name}' twice. Keep one.")
            with archive.open(item) as member:
                shape, _, dtype = read_npy_header(member)
                start = member.tell()
            if dtype.hasobject:
                raise InputError(
                    f"array '{name}' of '{raw.name}' is pickled (dtype object), which is never "
                    "loaded because it can run code. Save it as numbers or as text: "
                    "array.astype(str)."
                )
            size = math.prod(shape) * dtype.itemsize
            total += size
            if total > MAX_BYTES:
                raise InputError(
                    f"'{raw.name}' declares more than {MAX_BYTES / 2**30:.3g} GiB of arrays "
                    f"('{name}' has shape {shape}), which is more than is read. Save fewer rows or "
                    "features, or float32 instead of float64."
                )
            if any(length < 0 for length in shape) or start + size != item.file_size:
                raise InputError(
                    f"array '{name}' of '{raw.name}' is damaged: its header declares shape {shape} "
                    "but its data has another size. Save it again with numpy.savez."
                )
            headers[name] = (shape, dtype)
    return headers


def check_entries(stream: BinaryIO, archive: zipfile.ZipFile) -> None:
    """Raise BadZipFile if a damaged directory silently hides entries or misnames one."""
    entries = archive.infolist()
    size = stream.seek(0, io.SEEK_END)
    stream.seek(max(0, size - _END.size - _LONGEST_COMMENT))
    tail = stream.read()
    counted = _END.unpack_from(tail, tail.rfind(_END_SIGNATURE))[4]
    if counted not in (len(entries) & _MANY, _MANY):
        raise zipfile.BadZipFile(f"its directory lists {len(entries):,} of {counted:,} entries")
    for entry in entries:
        # (It compares the names before it finds that it cannot unpack the entry.)
        with suppress(NotImplementedError):
            archive.open(entry).close()


def _read(raw: RawFile, name: str) -> NDArray[Any]:
    with (
        _refusing_damage(raw),
        raw.open() as stream,
        zipfile.ZipFile(stream) as archive,
        archive.open(f"{name}.npy") as member,
    ):
        return np.asarray(np.lib.format.read_array(member, allow_pickle=False))


def _vector(raw: RawFile, name: str, values: NDArray[Any]) -> pd.Series[Any]:
    try:
        return vector_of(values)
    except ValueError as error:
        raise InputError(
            f"array '{name}' of '{raw.name}' is damaged ({short(error, 80)}). Save it again, as "
            "numbers, text or dates with a unit."
        ) from error


def _texts(raw: RawFile, array: str, what: str = "") -> tuple[str, ...]:
    """Return names in an array; ``what``: what they name, if they must differ."""
    names = tuple(map(str, _vector(raw, array, np.atleast_1d(_read(raw, array)).ravel())))
    for name in repeated(names) if what else ():
        raise InputError(f"array '{array}' of '{raw.name}' names two {what} '{name}'. Rename one.")
    return names


def _given_names(
    raw: RawFile, headers: _Headers
) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
    """Return the names of classes and of features, as far as the file has them."""
    classes = features = None
    if "class_names" in headers:
        shape = headers["class_names"][0]
        if len(shape) != 1:
            raise InputError(
                f"array 'class_names' of '{raw.name}' must be one-dimensional, one name a class; "
                f"got shape {shape}."
            )
        classes = _texts(raw, "class_names", "classes")
    if "feature_names" in headers and "features" in headers:
        shape = headers["features"][0]
        if len(shape) == 2 and headers["feature_names"][0] == shape[1:]:
            features = _texts(raw, "feature_names")
    return classes, features


def _is_table(headers: _Headers, array: str) -> bool:
    return array in _EXPANDED and array in headers and len(headers[array][0]) in (1, 2)


def _column_names(raw: RawFile, headers: _Headers, array: str) -> Sequence[str]:
    """Return names of an array's columns; none if it is too wide to be split into them."""
    single, shape = _EXPANDED[array], headers[array][0]
    companion = f"{single}_names"
    count = 1 if len(shape) == 1 else shape[1]
    if count > MAX_COLUMNS:
        raise InputError(
            f"array '{array}' of '{raw.name}' has {count:,} columns, more than the {MAX_COLUMNS:,} "
            "that are read. Save fewer."
        )
    names: Sequence[str] = (
        [f"{single}_{index}" for index in range(count)] if count > 1 else [single]
    )
    if companion in headers:
        names = _texts(raw, companion, "columns")
    if len(names) != count:
        raise InputError(
            f"array '{companion}' of '{raw.name}' must name every column of '{array}'; got "
            f"{len(names)} names ({listed(names, 6)}) for {count} columns."
        )
    return () if array == "inputs" and count > MAX_EXPANDED else names
