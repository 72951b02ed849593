"""The landscape as a browser draws it: its script, of files in one scope, without a build step."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

#: What is defined in a file is there in all after it.
_FILES = (
    "data",
    "view",
    "rows",
    "gl",
    "canvas",
    "overlay",
    "words",
    "style",
    "dom",
    "glimpses",
    "gamma",
    "interact",
    "landscape",
    "hub",
)


@cache
def landscape_script() -> str:
    """Return what mounts a landscape, by ``join``."""
    return _joined(*_FILES)


def page_script() -> str:
    """Return the script of a page that holds all it shows: what ``page.js`` says."""
    return _joined(*_FILES, "still", "page")


def notebook_script() -> str:
    """Return the script of a notebook's widget: what ``notebook.js`` says."""
    return _joined(*_FILES, "still", "notebook")


def _joined(*names: str) -> str:
    folder = files("lore_core.figures.browser")
    return "\n".join((folder / f"{name}.js").read_text(encoding="utf-8") for name in names)
