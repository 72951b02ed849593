"""Short text of a result, by the names of its parts."""

from dataclasses import fields
from typing import Any

from lore_core.data.errors import short


class Displayed:
    """Base of dataclasses that print short: arrays and tables by their shape, texts cut."""

    def __repr__(self) -> str:
        known: Any = self
        parts = (f"{f.name}={_text(getattr(self, f.name))}" for f in fields(known) if f.repr)
        return f"{type(self).__name__}({', '.join(parts)})"


def _text(value: Any) -> str:
    shape = getattr(value, "shape", ())
    return f"<{type(value).__name__} of shape {shape}>" if shape else short(repr(value), 60)
