"""Errors a user can fix (bad input, a path, a missing package), and their words."""

import os
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

Value = TypeVar("Value")

#: Module to the extra of pyproject.toml that installs it.
EXTRA_OF = {
    "streamlit": "app",
    "plotly": "figures",
    "jinja2": "figures",
    "PIL": "figures",
    "reportlab": "figures",
    "pypdfium2": "figures",
    "openTSNE": "maps",
    "umap": "maps",
    "anywidget": "notebook",
    "openpyxl": "excel",
    "duckdb": "duckdb",
}
_PACKAGE_OF = {"PIL": "pillow", "umap": "umap-learn"}


class InputError(ValueError):
    """What the user can fix: bad data or a bad argument, told in one sentence."""


def as_path(name: str | os.PathLike[str]) -> Path:
    """Return a path, ``~`` expanded; InputError where the system refuses it."""
    try:
        path = Path(name).expanduser()
        path.exists()
    except (RuntimeError, OSError) as error:
        reason = getattr(error, "strerror", None) or "no home directory of that user is known"
        raise InputError(f"'{short(os.fspath(name), 81)}' cannot be used: {reason}.") from error
    return path


class MissingPackageError(InputError, ModuleNotFoundError):
    """An optional package is not installed: ``what`` needs ``module``, one of :data:`EXTRA_OF`."""

    def __init__(self, what: str, module: str) -> None:
        package = _PACKAGE_OF.get(module, module)
        super().__init__(
            f"{what} needs the package '{package}', which is not installed. Install it with: "
            f'pip install "lore-lens[{EXTRA_OF[module]}]".'
        )
        self.name = module


def missing(what: str, error: ModuleNotFoundError) -> MissingPackageError | None:
    """Return the error for a failed import of an optional package, else None; ``what`` needs it."""
    if isinstance(error, MissingPackageError):
        return error
    module = (error.name or "").partition(".")[0]
    return MissingPackageError(what, module) if module in EXTRA_OF else None


def require(what: str, *modules: str) -> None:
    """Raise MissingPackageError, as ``what`` needs it, if a module is missing; imports nothing."""
    for module in modules:
        if find_spec(module) is None:
            raise MissingPackageError(what, module)


def counted(n: int, thing: str) -> str:
    """Return ``1 row`` or ``2,345 rows``."""
    return f"{n:,} {thing}" + ("" if n == 1 else "s")


def short(text: object, most: int = 100) -> str:
    """Return a text on one line, truncated."""
    line = " ".join(str(text).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def listed(names: Iterable[object], most: int = 20) -> str:
    """Return names as a short list in a sentence."""
    texts = [short(name, 60) for name in names]
    if len(texts) > most:
        return ", ".join(texts[:most]) + f" and {len(texts) - most:,} more"
    return ", ".join(texts)


def check_choice(value: Value, name: str, choices: Iterable[Value]) -> Value:
    """Return one of some choices, or raise InputError."""
    known = list(dict.fromkeys(choices))
    if value not in known:
        raise InputError(f"'{name}' must be one of {listed(known, 99)}; got {value!r}.")
    return value
