"""Options of the methods: names checked, so that a typo is not silently ignored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lore_core.data.validation import InputError


def check_options(method: str, options: Mapping[str, Any], known: tuple[str, ...]) -> None:
    """Raise where an option is not one of the method's."""
    for name in options:
        if name not in known:
            choice = ", ".join(f"'{option}'" for option in known) if known else "none"
            raise InputError(f"options of method '{method}' must be among: {choice}; got '{name}'.")
