"""Private, bounded cache on disk: links outlive the server, and damaged files are removed."""

import contextlib
import hashlib
import json
import os
import re
import shutil
import stat
import time
from collections.abc import Sequence
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any

from lore_core.data.archive_files import Form, Kind
from lore_core.data.atomic_files import replaced_at_once, user_cache
from lore_core.data.validation import InputError

#: Bytes at most, and at most one in so many of those that are free.
_MAX_BYTES, _FREE_SHARE = 2 * 2**30, 10
#: Seconds without use after which a file is removed.
MAX_AGE_SECONDS = 7 * 86_400.0
_SUFFIX = ".kept"
#: Names of these files, and of those that were not written to their end; nothing else is touched.
_NAME = re.compile(rf"\.?[a-z]+-[0-9a-f]{{40}}{re.escape(_SUFFIX)}(\.[0-9a-f]+\.part)?")


def cache_folder() -> Path:
    """Return the folder in which this user's dashboards share a cache."""
    return user_cache() / "kept"


def make_private(folder: Path) -> None:
    """Make a folder that only this account looks into; InputError where that cannot be."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = folder.lstat()
        if hasattr(os, "getuid") and (
            not stat.S_ISDIR(state.st_mode) or state.st_uid != os.getuid()
        ):
            raise InputError(
                f"'{folder}' must be a folder of the account that runs this; it is another's."
            )
        if state.st_mode & 0o077:
            folder.chmod(0o700)
    except OSError as error:
        raise _not_writable(folder, error) from error


def _not_writable(folder: Path, error: OSError) -> InputError:
    return InputError(
        f"'{folder}' must be a folder of yours that can be written; got {error.strerror or error}."
    )


@dataclass(frozen=True)
class CacheEntry:
    """One file of the cache."""

    path: Path
    n_bytes: int
    used: float  #: When it was used last, seconds since 1970

    @property
    def kind(self) -> str:
        """What it holds: "data", "map" or "report"."""
        return self.path.name.strip(".").partition("-")[0]


class DiskCache:
    """Values in a folder, by kind and key; least recently used go first. Servers may share one."""

    def __init__(
        self, folder: Path, forms: Sequence[Form] = (), max_bytes: int = _MAX_BYTES
    ) -> None:
        self.folder = folder
        self._file = Kind("lore-cache", "what a dashboard keeps", "lore app", tuple(forms))
        self._max_bytes = max_bytes

    def path_of(self, kind: str, key: str) -> Path:
        """Return the path of a value's file."""
        return self.folder / f"{kind}-{hashlib.sha256(key.encode()).hexdigest()[:40]}{_SUFFIX}"

    def put(self, kind: str, key: str, value: Any) -> None:
        """Write a value, or count it as used if it is there; InputError if it cannot be."""
        if self.touch(kind, key):
            return
        path = self.path_of(kind, key)
        header, arrays = self._file.encode({"kind": kind, "key": key, "value": value})
        make_private(self.folder)
        try:
            self._make_room(
                len(json.dumps(header)) + sum(array.nbytes for array in arrays.values())
            )
            if path.is_symlink():  # what it leads to would be replaced
                path.unlink(missing_ok=True)
            with replaced_at_once(path) as written:
                written.chmod(0o600)
                with written.open("wb") as stream:
                    self._file.save(stream, header, arrays)
        except OSError as error:
            raise _not_writable(self.folder, error) from error

    def touch(self, kind: str, key: str) -> bool:
        """Count a value as used now; return whether it is there."""
        path = self.path_of(kind, key)
        try:
            if not stat.S_ISREG(path.lstat().st_mode):
                return False
            os.utime(path)
        except OSError:
            return False
        return True

    def get(self, kind: str, key: str) -> Any:
        """Return a value as it was put; None if it is not there, too old or damaged."""
        path = self.path_of(kind, key)
        try:
            with _opened(path) as stream:
                if time.time() - os.fstat(stream.fileno()).st_mtime <= MAX_AGE_SECONDS:
                    content = self._file.read(stream)
                    os.utime(path)
                    return content["value"]
        except OSError:
            return None
        except (InputError, KeyError):
            pass
        _remove(path)
        return None

    def entries(self) -> list[CacheEntry]:
        """Return all files, used last first; what is too old is removed."""
        found = []
        # (A link may lead to files that are anybody's.)
        for path in () if self.folder.is_symlink() else self.folder.glob(f"*{_SUFFIX}*"):
            with contextlib.suppress(OSError):  # another server may have removed it
                state = path.lstat()
                if not (_NAME.fullmatch(path.name) and stat.S_ISREG(state.st_mode)):
                    continue
                if time.time() - state.st_mtime > MAX_AGE_SECONDS:
                    _remove(path)
                else:
                    found.append(CacheEntry(path, state.st_size, state.st_mtime))
        return sorted(found, key=lambda entry: -entry.used)

    def clear(self) -> None:
        """Remove everything."""
        for entry in self.entries():
            _remove(entry.path)
        with contextlib.suppress(OSError):
            self.folder.rmdir()

    def _make_room(self, n_bytes: int) -> None:
        """Remove what was used longest ago until there is room; InputError if there is none."""
        entries = self.entries()
        held = sum(entry.n_bytes for entry in entries)
        room = min(self._max_bytes, held + shutil.disk_usage(self.folder).free // _FREE_SHARE)
        if n_bytes > room:
            raise InputError(
                f"it takes {n_bytes / 1e6:,.0f} MB, of which the disk has no more than "
                f"{room / 1e6:,.0f} MB for it."
            )
        while entries and held + n_bytes > room:
            oldest = entries.pop()
            held -= oldest.n_bytes
            _remove(oldest.path)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def _opened(path: Path) -> BufferedReader:
    """Open a file to read; OSError for a link or a pipe, which could block."""

    def opener(name: str, flags: int) -> int:
        more = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        return os.open(name, flags | more)

    stream = open(path, "rb", opener=opener)  # noqa: SIM115 - who asks closes it
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise OSError(f"'{path}' is no file")
    return stream
