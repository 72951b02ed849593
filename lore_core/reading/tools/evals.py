"""OpenAI Evals: a log of events, of which those of one sample belong together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

KEYS = ({"spec"}, {"run_id", "event_id", "sample_id", "type", "data"})
NOTE = "An OpenAI Evals log: 'correct' is that of the event 'match', one row a sample."
_UNUSED = ("prompt",)


def rows_of(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]] | None:
    """Return a row a sample that was matched, with what its other events say."""
    rows: dict[str, dict[str, Any]] = {}
    for record in records:
        data = record.get("data")
        if record.get("sample_id") is not None and isinstance(data, dict):
            row = rows.setdefault(str(record["sample_id"]), {"row_id": record["sample_id"]})
            row |= {name: data[name] for name in data if name not in (*row, *_UNUSED)}
    return [row for row in rows.values() if "correct" in row] or None
