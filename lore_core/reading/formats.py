"""From a path or an upload to named columns: which format it is, by suffix and by first bytes."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from lore_core.reading.columns import Columns
from lore_core.validation import InputError

__all__ = ["READABLE", "RawFile", "open_columns", "raw_file"]

#: Suffix to format.
READABLE = {
    ".npz": "NPZ",
    ".csv": "CSV",
    ".tsv": "CSV",
    ".txt": "CSV",
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".feather": "Feather",
    ".arrow": "Feather",
}
_MAGIC = {
    b"PK\x03\x04": "NPZ",
    b"PK\x05\x06": "NPZ",
    b"PAR1": "Parquet",
    b"ARROW1": "Feather",
    b"\xff\xff\xff\xff": "Feather",
    b"FEA1": "Feather",
}


@dataclass(frozen=True, eq=False)
class RawFile:
    """A file on disk, or the bytes of an upload, with the name to call it by."""

    name: str
    content: Path | bytes

    def open(self) -> BinaryIO:
        """Return a fresh binary stream at the start of the file."""
        if isinstance(self.content, bytes):
            return io.BytesIO(self.content)
        try:
            return self.content.open("rb")
        except OSError as error:
            raise InputError(f"'{self.name}' cannot be opened: {error.strerror}.") from error

    @property
    def stem(self) -> str:
        """The name without its suffix."""
        return Path(self.name).stem

    @property
    def suffix(self) -> str:
        """The suffix in lower case."""
        return Path(self.name).suffix.lower()


def raw_file(source: Any) -> RawFile:
    """Return the file behind a path or a file-like object.

    Raises
    ------
    InputError
        If the path does not exist, is a directory, or ``source`` is neither path nor file.
    """
    if isinstance(source, RawFile):
        return source
    if isinstance(source, (str, os.PathLike)):
        path = Path(source).expanduser()
        if not path.exists():
            raise InputError(f"'{path}' does not exist. Check the path.")
        if path.is_dir():
            raise InputError(f"'{path}' is a directory where a file is expected.")
        return RawFile(path.name, path)
    if hasattr(source, "read"):
        if hasattr(source, "seek"):
            source.seek(0)
        content = source.read()
        if isinstance(content, str):
            content = content.encode("utf-8")
        return RawFile(Path(str(getattr(source, "name", "upload"))).name, bytes(content))
    raise InputError(
        f"a source must be a path or an open file; got {type(source).__name__}. "
        "For arrays in memory build a lore_core.Dataset."
    )


def open_columns(source: Any) -> Columns:
    """Open a file of any readable format as named columns.

    Raises
    ------
    InputError
        If the format cannot be read or the file is damaged.
    """
    from lore_core.reading.arrow_tables import open_feather, open_parquet
    from lore_core.reading.npz import open_npz
    from lore_core.reading.text_tables import open_text

    raw = raw_file(source)
    openers = {
        "NPZ": open_npz,
        "CSV": open_text,
        "Parquet": open_parquet,
        "Feather": open_feather,
    }
    return openers[_format(raw)](raw)


def _format(raw: RawFile) -> str:
    by_suffix = READABLE.get(raw.suffix)
    if by_suffix is None and raw.suffix:
        raise InputError(
            f"'{raw.name}' is of no readable kind. These can be read: {', '.join(READABLE)}."
        )
    with raw.open() as stream:
        head = stream.read(8)
    if not head:
        raise InputError(f"'{raw.name}' is empty (0 bytes). Save it again.")
    if head.startswith(b"\x93NUMPY"):
        raise InputError(
            f"'{raw.name}' is a single array (.npy). Save probs, labels and features together "
            "with numpy.savez."
        )
    by_content = next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)
    if by_content is None:
        if by_suffix in (None, "CSV"):
            return "CSV"
        what = {"NPZ": "zip archive, as .npz is", "Parquet": "Parquet file"}
        raise InputError(
            f"'{raw.name}' is not a {what.get(str(by_suffix), 'Feather file')}: its first bytes "
            "are others. Save it again, or give it the suffix of what it is."
        )
    return by_content
