"""Logs of tools that evaluate language models: one module a tool, listed here.

A module has ``KEYS``, sets of keys of which a record of its tool has one whole, ``NOTE``, a
sentence on what was made of it, and ``rows_of``, which turns records into rows, or returns None
where they are none of its own after all.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from lore_core.reading.tools import choices, evals, helm, openai

TOOLS = (choices, openai, evals, helm)
#: Records among which one is looked for.
_FIRST = 10


def is_log(names: Collection[str]) -> bool:
    """Return whether a table or record with such columns or keys may be a log."""
    return any(keys <= set(names) for tool in TOOLS for keys in tool.KEYS)


def rows_of_log(
    records: Sequence[Mapping[str, Any]],
) -> tuple[Sequence[Mapping[str, Any]], tuple[str, ...]] | None:
    """Return the rows of a tool's log with notes on them; None if the records are no log."""
    for tool in TOOLS:
        if any(keys <= record.keys() for keys in tool.KEYS for record in records[:_FIRST]):
            rows = tool.rows_of(records)
            if rows:
                return rows, (tool.NOTE,)
    return None
