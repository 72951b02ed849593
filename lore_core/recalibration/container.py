"""The file of a recalibrator, before its header is understood."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from lore_core.data.number_files import Content, Kind

#: Raised whenever a file written now would be misread by the version before.
SCHEMA = 1
_KIND = Kind("lore-recalibrator", SCHEMA, "a recalibrator", "Recalibrator.save()")

pack = _KIND.pack


def unpack(source: str | Path | bytes | BinaryIO, key: bytes | None = None) -> Content:
    """Read a header and its arrays: see :meth:`~lore_core.data.number_files.Kind.unpack`.

    ``source``: the file, its content, or something open for reading. ``key``: what it must be
    signed with, if it must. Raises InputError if there is
    no such file, or it is damaged, changed, of another kind or of another schema.
    """
    if isinstance(source, (str, Path)):
        return _KIND.read(source, key)
    return _KIND.unpack(source if isinstance(source, bytes) else source.read(), "the file", key)
