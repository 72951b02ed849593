"""Files of this machine that a reader named: whether they are still what was read."""

from __future__ import annotations

from pathlib import Path

#: Of each file its path, size and time.
State = tuple[tuple[str, int, int], ...]


def state_of(path: Path) -> State:
    """Return what tells one state of a file, or of a directory's files, from another.

    Raises OSError if it cannot be looked at.
    """
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    found = [(file, file.stat()) for file in files if file.is_file()]
    return tuple((str(file), state.st_size, state.st_mtime_ns) for file, state in found)
