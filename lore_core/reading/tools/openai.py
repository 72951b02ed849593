"""Chat completions of OpenAI's interface with ``logprobs``, alone or as batches return them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

KEYS = ({"choices"}, {"response", "custom_id"}, {"completion"})
NOTE = (
    "Chat completions: 'token_prob' is the probability of the answer, the product of those of its "
    "tokens, and 'answer' its text."
)
_TEXT_OF = ("content", "text")


def rows_of(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]] | None:
    """Return a row a completion; whether it is right stands beside it, or the expected answer."""
    rows = [row for record in records if (row := _row(record)) is not None]
    if len(rows) < len(records):
        return None
    target = next((name for name in ("target", "expected", "ideal") if name in rows[0]), None)
    for row in rows:
        if target and "correct" not in row and isinstance(row.get(target), str):
            row["correct"] = int(row["answer"].strip() == row[target].strip())
    if "correct" in rows[0]:
        rows = [{"confidence": row.pop("token_prob"), **row} for row in rows]
    return rows


def _row(record: Mapping[str, Any]) -> dict[str, Any] | None:
    beside = {name: record[name] for name in record if name not in ("response", "completion")}
    found: Any = record.get("response", record.get("completion", record))
    found = found.get("body", found) if isinstance(found, dict) else found
    choices = found.get("choices") if isinstance(found, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return None
    logs, message = choices[0].get("logprobs"), choices[0].get("message", choices[0])
    if not isinstance(logs, dict) or not isinstance(message, dict):
        return None
    tokens = logs.get("content")
    values = [token.get("logprob") for token in tokens] if isinstance(tokens, list) else None
    values = logs.get("token_logprobs") if values is None else values
    try:
        total = float(np.sum([float(value) for value in values or ()]))
    except (TypeError, ValueError):
        return None
    for name in ("choices", "object", "created", "usage", "system_fingerprint", "error"):
        beside.pop(name, None)
    answer = next((message[name] for name in _TEXT_OF if name in message), None)
    return {"token_prob": min(np.exp(total), 1.0), "answer": str(answer), **beside}
