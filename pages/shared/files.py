"""Files of this machine that a reader names: which may be read, and whether they changed since."""

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import streamlit as st

from lore_core import InputError
from lore_core.dashboard.access import LOCAL_HOSTS
from lore_core.data.errors import short
from lore_core.reading.raw_file import RawFile

Made = TypeVar("Made")
#: Of a file its path, size and time; and of several.
FileState = tuple[str, int, int]
State = tuple[FileState, ...]
_STARTED_IN = Path.cwd()
_NAME_LENGTH = 81  #: Letters of a path that an error shows
#: What a proxy adds to what it passes on.
_FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Real-Ip")


def arguments() -> argparse.Namespace:
    """Return the command line: see :class:`~lore_core.dashboard.server.ServerSettings`."""
    parser = argparse.ArgumentParser(prog="app.py")
    parser.add_argument("--data", action="append", default=[])
    parser.add_argument("--against", action="append", default=[])
    parser.add_argument("--data-root", type=Path)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--path-prefix", default="")
    parser.add_argument("--selection", type=Path)
    parser.add_argument("--whole", type=Path)
    return parser.parse_known_args(sys.argv[1:])[0]


def answers_this_machine_only() -> bool:
    """Whether it answers to this machine's own names, and listens at its own address, alone."""
    hosts: list[str] = st.get_option("server.allowedHosts")
    listed = bool(hosts) and all(host.lower() in LOCAL_HOSTS for host in hosts)
    is_proxied = bool(st.get_option("server.corsAllowedOrigins"))
    return listed and not is_proxied and st.get_option("server.address") in LOCAL_HOSTS


def is_local() -> bool:
    """Whether the reader sits at this machine: paths are its, and nobody else's to name."""
    headers = st.context.headers
    return answers_this_machine_only() and not any(name in headers for name in _FORWARDED)


def named_path(text: str) -> Path:
    """Return the path a reader means; InputError outside the folder, whether it exists or not."""
    try:
        path = _root() / Path(text.strip()).expanduser()
        check_inside([path])
        if path.is_dir():
            next(path.iterdir(), None)
    except InputError:
        raise
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error).rstrip(".")
        raise InputError(f"'{short(text, _NAME_LENGTH)}' cannot be read: {reason}.") from error
    return path


def check_inside(places: Iterable[Path | RawFile]) -> None:
    """Refuse files outside the folder that is read from; links count as what they lead to."""
    for place in places:
        path = place.content if isinstance(place, RawFile) else place
        if isinstance(path, tuple):
            check_inside(path)
        elif isinstance(path, Path) and not path.resolve().is_relative_to(_root()):
            raise InputError(
                f"'{path}' lies outside '{_root()}', the folder this dashboard reads from. Upload "
                "the file, or start it with: lore app --data-root FOLDER."
            )


def _root() -> Path:
    named: Path | None = arguments().data_root
    return (named or _STARTED_IN).expanduser().resolve()


def once_a_state(name: str, state: object, make: Callable[[], Made]) -> Made:
    """Make something of files once for each state of them, in this session as ``name``."""
    made: tuple[object, Made] | None = st.session_state.get(name)
    if made is None or made[0] != state:
        made = st.session_state[name] = state, make()
    return made[1]


def directory_state(directory: Path, instead: str) -> State:
    """Return what tells one state of a directory from another; ``instead``: of naming a file."""
    try:
        list(directory.iterdir())
        return state_of(directory)
    except NotADirectoryError as error:
        raise InputError(f"'{directory}' is a file. {instead}") from error
    except OSError as error:
        raise InputError(f"'{directory}' cannot be read: {error.strerror}.") from error


def states_of(paths: Iterable[Path]) -> State:
    """Return the states of files and directories together; of what is gone there is none."""
    found: list[tuple[str, int, int]] = []
    for path in paths:
        with contextlib.suppress(OSError):
            found += state_of(path)
    return tuple(found)


def state_of(path: Path) -> State:
    """Return the state of a file, or of a directory's files; OSError if it cannot be looked at."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    found = [(file, file.stat()) for file in files if file.is_file()]
    return tuple((str(file), state.st_size, state.st_mtime_ns) for file, state in found)
