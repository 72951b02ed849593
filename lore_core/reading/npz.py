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
from lore_core.data.errors import InputError, listed
from lore_core.reading.columns import (
    CLASS_LISTS,
    Columns,
    check_size,
    check_table,
    kind_of_dtype,
    refusing_damage,
)
from lore_core.reading.raw_file import RawFile

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
    longest = max((shape[:1] for shape, _ in headers.values()), default=())
    others = (n for n in CLASS_LISTS[1:] if n in headers and headers[n][0] < longest)
    listing = "class_names" if "class_names" in headers else next(others, "")
    class_names = _texts(raw, listing) if listing else None
    named, numbers = (headers.get(of, ((),))[0] for of in ("feature_names", "features"))
    are_named = len(numbers) == 2 and named == numbers[1:]
    feature_names = _texts(raw, "feature_names") if are_named else None
    companions = {listing} | ({"feature_names"} if feature_names is not None else set())
    tables = [array for array in _EXPANDED if len(headers.get(array, ((),))[0]) in (1, 2)]
    companions |= {f"{_EXPANDED[array]}_names" for array in tables}
    #: Column to its array, and its index there if the array holds several.
    columns: dict[str, tuple[str, int | None]] = {}
    for array in headers:
        names = _column_names(raw, headers, array) if array in tables else ()
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

    return Columns(raw.name, "NPZ", shapes, kinds, load, parents, class_names, feature_names)


def _refusing_damage(raw: RawFile) -> AbstractContextManager[None]:
    return refusing_damage(raw.name, "archive of numpy.savez", *DAMAGE)


def _headers(raw: RawFile) -> _Headers:
    headers: _Headers = {}
    total = 0
    with _refusing_damage(raw), raw.open() as stream, zipfile.ZipFile(stream) as archive:
        members = [item for item in archive.infolist() if item.filename.endswith(".npy")]
        names = [item.filename.removesuffix(".npy") for item in members]
        if not members:
            raise InputError(f"'{raw.name}' holds no arrays. Save it with numpy.savez.")
        check_table(raw.name, names, 1)
        check_entries(stream, archive)
        for name, item in zip(names, members, strict=True):
            with archive.open(item) as member:
                shape, _, dtype = read_npy_header(member)
                start = member.tell()
            if dtype.hasobject:
                raise InputError(
                    f"array '{name}' of '{raw.name}' is pickled, which can run code. Save it as "
                    "numbers or as text: array.astype(str)."
                )
            size = math.prod(shape) * dtype.itemsize
            total += size
            check_size(raw.name, total)
            if any(length < 0 for length in shape) or start + size != item.file_size:
                raise ValueError(f"the data of array '{name}' do not have its shape {shape}")
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
    """Return an array (n,) as a table's Series; InputError for bad Unicode or unitless dates."""
    with refusing_damage(raw.name, f"archive with plain values as '{name}'", ValueError):
        kind = values.dtype.kind
        if kind == "S":
            values = np.char.decode(values, "utf-8", "replace")
        if values.dtype.kind == "U":
            # (numpy takes any numbers for characters and fails later.)
            native = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("="))
            points = native.view(np.uint32) if native.nbytes else np.empty(0)
            if ((points > 0xD7FF) & (points < 0xE000) | (points > 0x10FFFF)).any():
                raise ValueError("text with characters that do not exist")
            return pd.Series(values.astype(object)).infer_objects()
        if kind in "mM" and np.datetime_data(values.dtype)[0] == "generic":
            raise ValueError("dates without a unit")
        if not values.dtype.isnative:
            values = values.astype(values.dtype.newbyteorder("="))
        return pd.Series(values)


def _texts(raw: RawFile, array: str) -> tuple[str, ...]:
    return tuple(map(str, _vector(raw, array, np.atleast_1d(_read(raw, array)).ravel())))


def _column_names(raw: RawFile, headers: _Headers, array: str) -> Sequence[str]:
    """Return names of an array's columns; none if it is too wide to be split into them."""
    single, shape = _EXPANDED[array], headers[array][0]
    companion = f"{single}_names"
    count = 1 if len(shape) == 1 else shape[1]
    check_table(raw.name, range(count), 1)
    names: Sequence[str] = [f"{single}_{k}" for k in range(count)] if count > 1 else [single]
    if companion in headers:
        names = _texts(raw, companion)
        check_table(raw.name, names, 1)
    if len(names) != count:
        raise InputError(
            f"array '{companion}' of '{raw.name}' must name every column of '{array}'; got "
            f"{len(names)} names ({listed(names, 6)}) for {count} columns."
        )
    return () if array == "inputs" and count > MAX_EXPANDED else names
