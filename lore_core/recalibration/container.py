"""The file itself: a zip of ``header.json`` and ``.npy`` arrays, with one digest over all of it."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from lore_core.data.validation import InputError

#: What the header calls this kind of file.
FORMAT = "lore-recalibrator"
#: Raised whenever a file written now could be misread by the version before. Schema 1 held the
#: attributes of the classes of its day, schema 2 the confidence of every row; see old_files.py.
SCHEMA = 3

Container = tuple[dict[str, Any], dict[str, NDArray[Any]]]

_HEADER = "header.json"
#: The same fit gives the same bytes: no time of day goes into the file.
_DATE = (1980, 1, 1, 0, 0, 0)
#: Bytes of a part; only the header is compressed, and it is never near this.
_LARGEST = 4 * 2**30


def pack(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> bytes:
    """Write a header and its arrays to the bytes of one file; nothing is pickled.

    ``header``: what JSON can hold, without "format", "schema" and "digest". ``arrays``: numbers,
    booleans or text.
    """
    whole = {"format": FORMAT, "schema": SCHEMA, **header}
    whole["digest"] = _digest(whole, arrays)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        text = json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False)
        info = zipfile.ZipInfo(_HEADER, _DATE)
        archive.writestr(info, text.encode(), compress_type=zipfile.ZIP_DEFLATED)
        for name, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, array, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", _DATE), member.getvalue())
    return content.getvalue()


def unpack(source: str | Path | bytes | BinaryIO) -> Container:
    """Read a header and its arrays, and make sure that they are what was written.

    ``source``: the file, its content, or something open for reading. Raises InputError if there is
    no such file, or it is damaged, changed, of another kind or of a newer schema.
    """
    name = f"'{Path(source).name}'" if isinstance(source, (str, Path)) else "the file"
    try:
        if isinstance(source, (str, Path)):
            content = Path(source).expanduser().read_bytes()
        else:
            content = source if isinstance(source, bytes) else source.read()
    except OSError as error:
        raise InputError(
            f"{name} cannot be read ({error.strerror}). Pass a file that "
            "Recalibrator.save() has written."
        ) from error
    damaged = f"{name} is damaged or was changed after it was written"
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if _HEADER not in archive.namelist():
                raise InputError(_other_kind(name))
            if any(item.file_size > _LARGEST for item in archive.infolist()):
                raise InputError(f"{damaged}: a part of it claims more than 4 GiB. Save it again.")
            header = json.loads(archive.read(_HEADER))
            _check_kind(header, name)
            arrays = {
                member.removesuffix(".npy"): _array(archive.read(member))
                for member in archive.namelist()
                if member != _HEADER
            }
    except InputError:
        raise
    except zipfile.BadZipFile as error:
        raise InputError(
            f"{damaged}, or no file of a recalibrator at all ({error}). Save it again."
        ) from error
    # A damaged zip raises whatever the byte that flipped leads to.
    except Exception as error:
        raise InputError(f"{damaged} ({type(error).__name__}: {error}). Save it again.") from error
    if header.get("digest") != _digest(header, arrays):
        raise InputError(f"{damaged}: its digest is not that of its content. Save it again.")
    return header, arrays


def _array(content: bytes) -> NDArray[Any]:
    array: NDArray[Any] = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    array.flags.writeable = False
    return array


def _other_kind(name: str) -> str:
    return (
        f"{name} is no file of a recalibrator: it has no header of one. Pass a file that "
        "Recalibrator.save() has written."
    )


def _check_kind(header: Any, name: str) -> None:
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InputError(_other_kind(name))
    schema = header.get("schema")
    if not isinstance(schema, int) or schema < 1:
        raise InputError(f"{name} must say its schema, a whole number from 1; got {schema!r}.")
    if schema > SCHEMA:
        raise InputError(
            f"{name} has schema {schema}, written by {header.get('written_by', 'a newer version')};"
            f" this version reads up to {SCHEMA}. Update lore-lens, or save the file with this one."
        )


def _digest(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> str:
    state = hashlib.sha256()
    content = {key: value for key, value in header.items() if key != "digest"}
    state.update(json.dumps(content, sort_keys=True, allow_nan=False).encode())
    for name in sorted(arrays):
        array = arrays[name]
        state.update(f"\0{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        state.update(np.ascontiguousarray(array).tobytes())
    return state.hexdigest()
