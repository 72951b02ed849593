"""Files of a header and whole arrays: a zip with one digest over all of it, nothing pickled."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lore_core.data.atomic_files import write_bytes
from lore_core.data.validation import InputError

Arrays = Mapping[str, NDArray[Any]]
Content = tuple[dict[str, Any], dict[str, NDArray[Any]]]

_HEADER = "header.json"
#: The same content gives the same bytes: no time of day goes into a file.
_DATE = (1980, 1, 1, 0, 0, 0)
#: Bytes of a part.
_LARGEST = 4 * 2**30
#: Level of zlib: several times as fast as the usual one, and hardly larger.
_QUICKLY = 1


@dataclass(frozen=True)
class Kind:
    """A kind of file."""

    format: str  #: What the header calls it
    schema: int  #: Raised whenever a file written now could be misread by the version before
    what: str  #: In words: "a recalibrator"
    written_by: str  #: What makes such a file: "Recalibrator.save()"
    compressed: bool = False  #: Whether arrays are

    def pack(self, header: Mapping[str, Any], arrays: Arrays) -> bytes:
        """Write a header and its arrays to the bytes of one file; nothing is pickled.

        ``header``: what JSON can hold, without "format", "schema" and "digest". ``arrays``:
        numbers, booleans or text.
        """
        whole = {"format": self.format, "schema": self.schema, **header}
        whole["digest"] = digest(whole, arrays)
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

    def unpack(self, content: bytes, name: str) -> Content:
        """Read a header and its arrays, and make sure that they are what was written.

        ``name``: how sentences call the file. Raises InputError if it is damaged, changed, of
        another kind or of a newer schema.
        """
        damaged = f"{name} is damaged or was changed after it was written"
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                if _HEADER not in archive.namelist():
                    raise InputError(self._other_kind(name))
                if any(item.file_size > _LARGEST for item in archive.infolist()):
                    raise InputError(
                        f"{damaged}: a part of it claims more than 4 GiB. Save it again."
                    )
                header = json.loads(archive.read(_HEADER))
                self._check(header, name)
                arrays = {
                    member.removesuffix(".npy"): _array(archive.read(member))
                    for member in archive.namelist()
                    if member != _HEADER
                }
        except InputError:
            raise
        except zipfile.BadZipFile as error:
            raise InputError(
                f"{damaged}, or no file of {self.what} at all ({error}). Save it again."
            ) from error
        # A damaged zip raises whatever the byte that flipped leads to.
        except Exception as error:
            raise InputError(
                f"{damaged} ({type(error).__name__}: {error}). Save it again."
            ) from error
        if header.get("digest") != digest(header, arrays):
            raise InputError(f"{damaged}: its digest is not that of its content. Save it again.")
        return header, arrays

    def write(self, path: str | Path, header: Mapping[str, Any], arrays: Arrays) -> None:
        """Write a file as a whole or not at all; see :meth:`pack`."""
        write_bytes(path, self.pack(header, arrays))

    def read(self, path: str | Path) -> Content:
        """Read a file; see :meth:`unpack`. Raises InputError, too, if it cannot be opened."""
        place = Path(path)
        try:
            content = place.expanduser().read_bytes()
        except OSError as error:
            raise InputError(
                f"'{place.name}' cannot be read ({error.strerror}). {self._remedy}"
            ) from error
        return self.unpack(content, f"'{place.name}'")

    @property
    def _remedy(self) -> str:
        return f"Pass a file that {self.written_by} has written."

    def _other_kind(self, name: str) -> str:
        return f"{name} is no file of {self.what}: it has no header of one. {self._remedy}"

    def _check(self, header: Any, name: str) -> None:
        if not isinstance(header, dict) or header.get("format") != self.format:
            raise InputError(self._other_kind(name))
        schema = header.get("schema")
        if not isinstance(schema, int) or schema < 1:
            raise InputError(f"{name} must say its schema, a whole number from 1; got {schema!r}.")
        if schema > self.schema:
            by = header.get("written_by", "a newer version")
            raise InputError(
                f"{name} has schema {schema}, written by {by}; this version reads up to "
                f"{self.schema}. Update lore-lens, or save the file with this one."
            )


def digest(header: Mapping[str, Any], arrays: Arrays) -> str:
    """Sha256 of a header and arrays: equal only where they are equal to the last bit.

    What the header itself says of it does not count.
    """
    content = {key: value for key, value in header.items() if key != "digest"}
    state = hashlib.sha256(json.dumps(content, sort_keys=True, allow_nan=False).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        state.update(f"\0{name}\0{array.dtype.str}\0{arrays[name].shape}\0".encode())
        state.update(array.tobytes())
    return state.hexdigest()


def _array(content: bytes) -> NDArray[Any]:
    array: NDArray[Any] = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    array.flags.writeable = False
    return array
