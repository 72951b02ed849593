"""What the dashboard keeps on disk, so that a link outlives the server: private, bounded, plain.

A file is the sha256 of all that follows, and a message of :mod:`lore_core.reading.handover`: JSON
and plain arrays. One that is damaged is removed, as if it had never been there.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any

from lore_core.data.atomic_files import replaced_at_once
from lore_core.data.user_cache import user_cache
from lore_core.data.validation import InputError
from lore_core.reading.handover import WORD, Arrays, exactly, message_from, message_of

#: Bytes kept at most, and at most one in so many of those that are free.
_MOST, _OF_FREE = 2 * 2**30, 10
#: Seconds without use that end it.
KEPT_FOR = 7 * 86_400.0
_SUFFIX = ".kept"
#: Names of these files, and of those that were not written to their end; nothing else is touched.
_NAME = re.compile(rf"\.?[a-z]+-[0-9a-f]{{40}}{re.escape(_SUFFIX)}(\.[0-9a-f]+\.part)?")
_DIGEST = 32


def kept_folder() -> Path:
    """Return where this user's dashboards keep things."""
    return user_cache() / "kept"


def make_private(folder: Path) -> None:
    """Make a folder that only this account looks into.

    Raises InputError if it cannot be made, or is another account's.
    """
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
        raise InputError(
            f"'{folder}' must be a folder of yours that can be written; got "
            f"{error.strerror or error}."
        ) from error


@dataclass(frozen=True)
class KeptFile:
    """One thing that is kept."""

    kind: str  #: "data", "map" or "report"
    title: str  #: As pages call it
    n_bytes: int
    used: float  #: When it was used last, seconds since 1970


class KeptFiles:
    """A folder of things by kind and key; those used longest ago make room for others.

    ``most``: bytes in all. Several servers may use one folder.
    """

    def __init__(self, folder: Path, most: int = _MOST) -> None:
        self.folder = folder
        self._most = most

    def put(self, kind: str, key: str, title: str, told: Any, arrays: Arrays) -> None:
        """Keep a thing, whole before this returns; one that is there counts as used.

        ``told``: what JSON can hold. Raises InputError if it cannot be kept.
        """
        if not self.touch(kind, key):
            message = {"kind": kind, "key": key, "title": title, "told": told}
            self._write(self._place(kind, key), message, arrays)

    def touch(self, kind: str, key: str) -> bool:
        """Count a thing as used now; whether it is there."""
        place = self._place(kind, key)
        try:
            if not stat.S_ISREG(place.lstat().st_mode):
                return False
            os.utime(place)
        except OSError:
            return False
        return True

    def get(self, kind: str, key: str) -> tuple[Any, Arrays] | None:
        """Return a thing as it was put; None if it is not there, too old or damaged."""
        place = self._place(kind, key)
        try:
            with _opened(place) as stream:
                state = os.fstat(stream.fileno())
                if time.time() - state.st_mtime > KEPT_FOR:
                    raise ValueError("too old")
                said = stream.read(_DIGEST)
                if hashlib.file_digest(stream, "sha256").digest() != said:
                    raise ValueError("damaged")
                stream.seek(_DIGEST)
                message, arrays = message_from(stream, state.st_size)
            if (message["kind"], message["key"]) != (kind, key):
                raise ValueError("another thing")
            os.utime(place)
        except OSError:
            return None
        except (ValueError, KeyError, TypeError):
            self._remove(place)
            return None
        return message["told"], arrays

    def forget(self, kind: str, key: str) -> None:
        """Keep a thing no longer."""
        self._remove(self._place(kind, key))

    def things(self) -> list[KeptFile]:
        """Return what is kept, used last first; what is too old is removed."""
        return [
            KeptFile(
                place.name.strip(".").partition("-")[0],
                _title(place),
                state.st_size,
                state.st_mtime,
            )
            for place, state in self._files()
        ]

    def clear(self) -> int:
        """Remove everything; return how many bytes that were."""
        files = self._files()
        for place, _ in files:
            self._remove(place)
        with contextlib.suppress(OSError):
            self.folder.rmdir()
        return sum(state.st_size for _, state in files)

    def _place(self, kind: str, key: str) -> Path:
        return self.folder / f"{kind}-{hashlib.sha256(key.encode()).hexdigest()[:40]}{_SUFFIX}"

    def _write(self, place: Path, message: Any, arrays: Arrays) -> None:
        parts = message_of(message, arrays)
        size = _DIGEST + sum(map(len, parts))
        checksum = hashlib.sha256()
        for part in parts:
            checksum.update(part)
        make_private(self.folder)
        try:
            self._make_room(size)
            if place.is_symlink():  # what it leads to would be replaced
                self._remove(place)
            with replaced_at_once(place) as written:
                written.chmod(0o600)
                with written.open("wb") as stream:
                    for part in (checksum.digest(), *parts):
                        stream.write(part)
        except OSError as error:
            raise InputError(
                f"'{self.folder}' must be a folder of yours that can be written; got "
                f"{error.strerror or error}."
            ) from error

    def _make_room(self, size: int) -> None:
        """Remove what was used longest ago until there is room; InputError if there is none."""
        files = self._files()
        held = sum(state.st_size for _, state in files)
        most = min(self._most, held + shutil.disk_usage(self.folder).free // _OF_FREE)
        if size > most:
            raise InputError(
                f"it takes {size / 1e6:,.0f} MB, of which the disk has no more than "
                f"{most / 1e6:,.0f} MB for it."
            )
        while files and held + size > most:
            place, state = files.pop()
            held -= state.st_size
            self._remove(place)

    def _files(self) -> list[tuple[Path, os.stat_result]]:
        """Return all files, used last first; what is too old is removed."""
        found = dict(self._looked_at())
        for place, state in list(found.items()):
            if time.time() - state.st_mtime > KEPT_FOR:
                self._remove(place)
                del found[place]
        return sorted(found.items(), key=lambda item: -item[1].st_mtime)

    def _looked_at(self) -> Iterator[tuple[Path, os.stat_result]]:
        if self.folder.is_symlink():  # to files that may be anybody's
            return
        for place in self.folder.glob(f"*{_SUFFIX}*"):
            with contextlib.suppress(OSError):  # another server may have removed it
                state = place.lstat()
                if _NAME.fullmatch(place.name) and stat.S_ISREG(state.st_mode):
                    yield place, state

    def _remove(self, place: Path) -> None:
        with contextlib.suppress(OSError):
            place.unlink()


def _opened(place: Path) -> BufferedReader:
    """Open a file to read it; OSError where something else is there, which could be waited for."""

    def opener(path: str, flags: int) -> int:
        more = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        return os.open(path, flags | more)

    stream = open(place, "rb", opener=opener)  # noqa: SIM115 - who asks closes it
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise OSError(f"'{place}' is no file")
    return stream


def _title(place: Path) -> str:
    """Return what a thing is called; its arrays are not read."""
    try:
        with _opened(place) as stream:
            stream.seek(_DIGEST)
            length = int.from_bytes(exactly(stream, WORD), "little")
            if length <= place.stat().st_size:
                return str(json.loads(bytes(exactly(stream, length)))["told"]["title"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return "damaged, or not whole"
