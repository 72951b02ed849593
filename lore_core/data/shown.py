"""Results as short text, and as a table in notebooks."""

import dataclasses
from html import escape
from typing import Any

from lore_core.data.errors import short


class Shown:
    """Mixin of results, which shows arrays and tables by their shape."""

    def shown(self) -> dict[str, Any]:
        """Return what is shown, by name: the fields of a dataclass."""
        known: Any = self
        return {item.name: getattr(self, item.name) for item in dataclasses.fields(known)}

    def __repr__(self) -> str:
        parts = (f"{name}={_text(value)}" for name, value in self.shown().items())
        return f"{type(self).__name__}({', '.join(parts)})"

    def _repr_html_(self) -> str:
        rows = (
            f"<tr><th>{escape(name.replace('_', ' '))}</th><td>{escape(_text(value))}</td></tr>"
            for name, value in self.shown().items()
        )
        return f"<table><caption>{type(self).__name__}</caption>{''.join(rows)}</table>"


def _text(value: Any) -> str:
    shape = getattr(value, "shape", ())
    if (shape and len(shape) > 1) or (shape and shape[0] > 12):
        return f"{type(value).__name__} {shape}"
    if hasattr(value, "items"):
        return short(", ".join(f"{name}: {_text(item)}" for name, item in value.items()), 300)
    return f"{value:.4g}" if isinstance(value, float) else short(repr(value), 60)
