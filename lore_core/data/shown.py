"""Results as short text, and as a table in notebooks."""

import dataclasses
from html import escape
from typing import Any

from lore_core.data.errors import short


class Shown:
    """Mixin of results, which shows arrays and tables by their shape."""

    def __repr__(self) -> str:
        parts = (f"{name}={text}" for name, text in _parts(self))
        return f"{type(self).__name__}({', '.join(parts)})"

    def _repr_html_(self) -> str:
        cells = ((escape(name.replace("_", " ")), escape(text)) for name, text in _parts(self))
        rows = "".join(f"<tr><th>{name}</th><td>{text}</td></tr>" for name, text in cells)
        return f"<table><caption>{escape(repr(self)[:99])}</caption>{rows}</table>"


def _parts(result: Any) -> list[tuple[str, str]]:
    # (Methods without parameters are no dataclasses.)
    fields = dataclasses.fields(result) if dataclasses.is_dataclass(result) else ()
    known = ((item.name, getattr(result, item.name)) for item in fields if item.repr)
    return [(name, _text(value)) for name, value in known if value is not None]


def _text(value: Any) -> str:
    shape = getattr(value, "shape", ())
    if len(shape) > 1 or max(shape, default=0) > 12:
        return f"{type(value).__name__} {shape}"
    if hasattr(value, "items"):
        return short(", ".join(f"{name}: {_text(item)}" for name, item in value.items()), 300)
    return f"{value:.4g}" if isinstance(value, float) else short(repr(value), 60)
