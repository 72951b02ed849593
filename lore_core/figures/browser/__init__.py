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
def landscape_script(*purpose: str) -> str:
    """Return what mounts a landscape, by ``join``.

    ``purpose``: the last files: ``"still", "page"`` for a page that holds all it shows, ``"still",
    "notebook"`` for a notebook's widget; none where there is a server.
    """
    folder = files("lore_core.figures.browser")
    names = (*_FILES, *purpose)
    return "\n".join((folder / f"{name}.js").read_text(encoding="utf-8") for name in names)
