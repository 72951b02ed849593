"""The landscape as a browser draws it: its script, of files in one scope, without a build step."""

from functools import cache
from importlib.resources import files

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
    """Join the landscape's script; ``purpose``: its last files, none where there is a server."""
    folder = files("lore_core.figures.browser")
    names = (*_FILES, *purpose)
    return "\n".join((folder / f"{name}.js").read_text(encoding="utf-8") for name in names)
