"""Short text of an object, and a table of it for notebooks."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from typing import Any

import numpy as np

from lore_core.data.errors import short

_LONGEST, _FEW_NUMBERS, _MOST_ROWS = 60, 4, 20


class Displayed:
    """Base of what is shown by the names of its parts: arrays by their shape, texts cut."""

    def _parts(self) -> Mapping[str, Any]:
        """Return the parts that are shown, by name; those of a dataclass."""
        known: tuple[Field[Any], ...] = fields(self) if is_dataclass(self) else ()
        return {item.name: getattr(self, item.name) for item in known if item.repr}

    def __repr__(self) -> str:
        parts = (f"{name}={_text(value)}" for name, value in self._parts().items())
        return f"{type(self).__name__}({', '.join(parts)})"

    def _repr_html_(self) -> str:
        rows = (
            f"<tr><th>{html.escape(name)}</th><td>{_cell(value)}</td></tr>"
            for name, value in self._parts().items()
        )
        heading = html.escape(type(self).__name__)
        return f"<table><caption>{heading}</caption>{''.join(rows)}</table>"


def _cell(value: Any) -> str:
    if hasattr(value, "to_html"):
        made: str = value.to_html(max_rows=_MOST_ROWS, escape=True)
        return made
    return html.escape(value if isinstance(value, str) else _text(value))


def _text(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.size <= _FEW_NUMBERS:
        return repr(value.tolist())
    if isinstance(value, np.ndarray) or hasattr(value, "to_html"):
        return f"<{type(value).__name__} of shape {value.shape}>"
    if isinstance(value, (list, tuple, dict)) and len(repr(value)) > _LONGEST:
        return f"<{type(value).__name__} of {len(value):,}>"
    return f"{value:.6g}" if isinstance(value, float) else short(repr(value), _LONGEST)
