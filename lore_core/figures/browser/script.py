"""The modules of the browser's landscape as one script: no build step, no network."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

#: In the order they need each other.
_MODULES = (
    "protocol",
    "fields",
    "view",
    "rows",
    "flags",
    "space",
    "gl",
    "canvas",
    "sparing",
    "overlay",
    "labels",
    "hover",
    "style",
    "dom",
    "glimpses",
    "caption",
    "swipe",
    "inset",
    "telling",
    "gamma",
    "interact",
    "landscape",
    "hub",
)
_IMPORT = re.compile(r"^import .*?;\n", re.MULTILINE | re.DOTALL)
_EXPORT = re.compile(r"^export (?=(async |function|const|class))", re.MULTILINE)


@cache
def landscape_script() -> str:
    """Return the modules joined: what they import from each other is in the same scope."""
    return _joined(_MODULES)


def page_script() -> str:
    """Return the modules joined for a page that holds all it shows: what ``page.js`` says."""
    return _joined((*_MODULES, "still", "page"))


def notebook_script() -> str:
    """Return the modules joined for a notebook's widget: what ``notebook.js`` says."""
    return _joined((*_MODULES, "still", "notebook"))


def _joined(modules: tuple[str, ...]) -> str:
    folder = files("lore_core.figures.browser")
    sources = ((folder / f"{name}.js").read_text(encoding="utf-8") for name in modules)
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", source)) for source in sources)
