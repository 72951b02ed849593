"""A file on disk or an upload, before anyone knows what is in it."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol, TypeAlias

from lore_core.data.validation import InputError


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


class Readable(Protocol):
    """An open file or an upload: what has ``read``."""

    def read(self) -> bytes | str:
        """Return all that is left."""
        ...


#: One file.
Source: TypeAlias = "str | os.PathLike[str] | Readable | RawFile"
#: One file, several, or a directory.
Sources: TypeAlias = "Source | Sequence[Source]"


def raw_file(source: Source) -> RawFile:
    """Return the file behind a path or a file-like object.

    Raises InputError if the path does not exist, is a directory, or ``source`` is neither path nor
    file.
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
