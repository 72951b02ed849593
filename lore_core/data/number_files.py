"""Files of a header and whole arrays: a zip with one checksum over all of it, nothing pickled.

The checksum finds damage. Whoever edits a file can write it anew: who must know that a file is
theirs signs it with a key.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import math
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lore_core.data.atomic_files import write_bytes
from lore_core.data.validation import InputError

Arrays = Mapping[str, NDArray[Any]]
Content = tuple[dict[str, Any], dict[str, NDArray[Any]]]

_HEADER = "header.json"
#: The same content gives the same bytes: no time of day goes into a file.
_DATE = (1980, 1, 1, 0, 0, 0)
#: Bytes of a header, and of a compressed file's parts beside so many times its own bytes.
_LARGEST_HEADER = 32 * 2**20
_LARGEST, _TIMES = 64 * 2**20, 100
#: numpy's letters for truth, whole and other numbers, and text.
_KINDS = "biufU"
#: Level of zlib: several times as fast as the usual one, and hardly larger.
_QUICKLY = 1


@dataclass(frozen=True)
class Kind:
    """A kind of file."""

    format: str  #: What the header calls it
    schema: int  #: Raised whenever a file written now would be misread by the version before
    what: str  #: In words: "a recalibrator"
    written_by: str  #: What makes such a file: "Recalibrator.save()"
    compressed: bool = False  #: Whether arrays are

    def pack(self, header: Mapping[str, Any], arrays: Arrays, key: bytes | None = None) -> bytes:
        """Write a header and its arrays to the bytes of one file; nothing is pickled.

        ``header``: what JSON can hold, without what is written here: "format", "schema", "digest"
        and, with a ``key``, "signature". ``arrays``: numbers, booleans or text.
        """
        whole = {"format": self.format, "schema": self.schema, **header}
        whole["digest"] = digest(whole, arrays)
        if key is not None:
            whole["signature"] = _signature(whole["digest"], key)
        content = io.BytesIO()
        how = zipfile.ZIP_DEFLATED if self.compressed else zipfile.ZIP_STORED
        with zipfile.ZipFile(content, "w", allowZip64=True, compresslevel=_QUICKLY) as archive:
            text = json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False)
            archive.writestr(zipfile.ZipInfo(_HEADER, _DATE), text.encode(), zipfile.ZIP_DEFLATED)
            for name, array in arrays.items():
                member = io.BytesIO()
                np.lib.format.write_array(member, array, allow_pickle=False)
                archive.writestr(zipfile.ZipInfo(f"{name}.npy", _DATE), member.getvalue(), how)
        return content.getvalue()

    def unpack(self, content: bytes, name: str, key: bytes | None = None) -> Content:
        """Read a header and its arrays, and make sure that they are what was written.

        ``name``: how sentences call the file. ``key``: what it must be signed with, if it must.
        Raises InputError if it is damaged, changed, of another kind or of another schema.
        """
        damaged = f"{name} is damaged or was changed after it was written"
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                if _HEADER not in archive.namelist():
                    raise InputError(self._other_kind(name))
                if not self._fits(archive.infolist(), len(content)):
                    raise InputError(
                        f"{damaged}: its parts claim more bytes than such a file can hold. Save it "
                        "again."
                    )
                header = json.loads(archive.read(_HEADER), parse_constant=_no_number)
                self._check(header, name)
                arrays = {
                    member.removesuffix(".npy"): _array(archive.read(member))
                    for member in archive.namelist()
                    if member != _HEADER
                }
                checksum = digest(header, arrays)
        except InputError:
            raise
        except zipfile.BadZipFile as error:
            raise InputError(
                f"{damaged}, or no file of {self.what} at all ({str(error)[:80]}). Save it again."
            ) from error
        # A damaged zip raises whatever the byte that flipped leads to.
        except Exception as error:
            raise InputError(
                f"{damaged} ({type(error).__name__}: {str(error)[:80]}). Save it again."
            ) from error
        if header.get("digest") != checksum:
            raise InputError(f"{damaged}: its checksum is not that of its content. Save it again.")
        if key is not None:
            signature = str(header.get("signature", "")).encode()
            if not hmac.compare_digest(signature, _signature(checksum, key).encode()):
                raise InputError(
                    f"{name} must be signed with the key that was given; it is signed with another "
                    "or not at all. Take no file whose origin you do not know."
                )
        return header, arrays

    def _fits(self, parts: Sequence[zipfile.ZipInfo], n_bytes: int) -> bool:
        """Whether parts have sizes that so many bytes can hold; nothing is unpacked."""
        most = _LARGEST + _TIMES * n_bytes if self.compressed else n_bytes
        arrays = sum(part.file_size for part in parts if part.filename != _HEADER)
        header = sum(part.file_size for part in parts if part.filename == _HEADER)
        return arrays <= most and header <= _LARGEST_HEADER

    def write(self, path: str | Path, header: Mapping[str, Any], arrays: Arrays) -> None:
        """Write a file as a whole or not at all; see :meth:`pack`."""
        write_bytes(path, self.pack(header, arrays))

    def read(self, path: str | Path, key: bytes | None = None) -> Content:
        """Read a file; see :meth:`unpack`. Raises InputError, too, if it cannot be opened."""
        place = Path(path)
        try:
            content = place.expanduser().read_bytes()
        except OSError as error:
            raise InputError(
                f"'{place.name}' cannot be read ({error.strerror}). {self._remedy}"
            ) from error
        return self.unpack(content, f"'{place.name}'", key)

    @property
    def _remedy(self) -> str:
        return f"Pass a file that {self.written_by} has written."

    def _other_kind(self, name: str) -> str:
        return f"{name} is no file of {self.what}: it has no header of one. {self._remedy}"

    def _check(self, header: Any, name: str) -> None:
        if not isinstance(header, dict) or header.get("format") != self.format:
            raise InputError(self._other_kind(name))
        schema = header.get("schema")
        if schema != self.schema:
            by = header.get("written_by", "another version")
            raise InputError(
                f"{name} must have schema {self.schema}; got {schema!r}, written by {by}. Read it "
                "with that version of lore-lens, or save it again with this one."
            )


def digest(header: Mapping[str, Any], arrays: Arrays) -> str:
    """Sha256 of a header and arrays: equal only where they are equal to the last bit.

    What the header itself says of it does not count.
    """
    content = {key: item for key, item in header.items() if key not in ("digest", "signature")}
    state = hashlib.sha256(json.dumps(content, sort_keys=True, allow_nan=False).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        state.update(f"\0{name}\0{array.dtype.str}\0{arrays[name].shape}\0".encode())
        state.update(array.tobytes())
    return state.hexdigest()


def _signature(checksum: str, key: bytes) -> str:
    return hmac.new(key, checksum.encode(), hashlib.sha256).hexdigest()


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no JSON")


def _array(content: bytes) -> NDArray[Any]:
    """Return an array as it lies in its bytes, read-only; what its header claims must be there."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }[version]
    shape, by_column, dtype = read(stream)
    start = stream.tell()
    if dtype.kind not in _KINDS:
        raise ValueError(f"an array of {dtype}, which allow_pickle=False does not load")
    if start + math.prod(shape) * dtype.itemsize != len(content) or min(shape, default=0) < 0:
        raise ValueError(f"an array of shape {shape} in {len(content):,} bytes")
    order: Literal["F", "C"] = "F" if by_column else "C"
    return np.ndarray(shape, dtype, content, start, order=order)
