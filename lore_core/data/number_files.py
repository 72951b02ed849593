"""Files of a header and whole arrays: a ``.npz`` with a digest over all of it, nothing pickled."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lore_core.data.atomic_files import write_bytes
from lore_core.data.validation import InputError

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Kind:
    """A kind of file."""

    format: str  #: What the header calls it
    schema: int  #: Raised whenever a file written now could be misread by the version before
    what: str  #: In words: "sums of local errors"

    def write(self, path: str | Path, header: Mapping[str, Any], arrays: Arrays) -> None:
        """Write a file as a whole or not at all.

        ``header``: what JSON can hold.
        """
        whole = {"format": self.format, "schema": self.schema, **header}
        text = json.dumps({**whole, "digest": digest(whole, arrays)})
        content = io.BytesIO()
        # As numpy's own, but at the level of zlib that is several times as fast.
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for name, array in {"header": np.array(text), **arrays}.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)
        write_bytes(path, content.getvalue())

    def read(self, path: str | Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return header and arrays, and make sure that they are what was written.

        Raises InputError if there is no such file, or it is damaged, changed, of another kind or of
        another schema.
        """
        place = Path(path).expanduser()
        damaged = f"'{place.name}' is damaged or holds no {self.what}"
        try:
            with place.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            header = json.loads(str(arrays.pop("header")))
            said, kind, schema = header.pop("digest"), header["format"], header["schema"]
        except OSError as error:
            raise InputError(
                f"'{place.name}' cannot be read ({error.strerror or error})."
            ) from error
        except (ValueError, KeyError, TypeError, AttributeError, EOFError) as error:
            raise InputError(f"{damaged} ({error}).") from error
        except (zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
            raise InputError(f"{damaged} ({error}).") from error
        if kind != self.format:
            raise InputError(f"{damaged}.")
        if schema != self.schema:
            raise InputError(
                f"'{place.name}' has schema {schema}, and this version reads {self.schema}. Make "
                "it again."
            )
        if said != digest(header, arrays):
            raise InputError(f"{damaged}: its digest is not that of its content.")
        return header, arrays


def digest(header: Mapping[str, Any], arrays: Arrays) -> str:
    """Sha256 of a header and arrays: equal only where they are equal to the last bit."""
    state = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        state.update(f"\0{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        state.update(array.tobytes())
    return state.hexdigest()
