"""Multiple choice, as lm-evaluation-harness and lighteval log it: one row a question."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from lore_core.data.probabilities import softmax

_NOTE = "The log-likelihoods of the choices became probabilities by softmax."
#: Keys of a record of a log, and its log-likelihoods of choices with the right one.
_LOGS: tuple[tuple[set[str], Callable[[Any], tuple[Any, Any]]], ...] = (
    ({"filtered_resps", "target"}, lambda row: (row["filtered_resps"], row["target"])),
    (
        {"doc", "model_response", "metric"},
        lambda row: (row["model_response"]["logprobs"], row["doc"]["gold_index"]),
    ),
)
#: Keys that tell nothing about a row: prompts, hashes, and what rows are made of.
_UNUSED = (
    *("arguments", "resps", "filtered_resps", "doc_hash", "prompt_hash", "target_hash", "filter"),
    *("target", "model_response"),
)
_Records = Sequence[Mapping[str, Any]]


def is_log(names: Collection[str]) -> bool:
    """Return whether a table or record with such columns or keys may be a log."""
    return any(keys <= set(names) for keys, *_ in _LOGS)


def rows_of_log(records: _Records) -> tuple[_Records, tuple[str, ...]]:
    """Return the rows of a log with a note on them; what is no log as it is."""
    for keys, choices_of in _LOGS:
        if records and keys <= records[0].keys():
            try:
                return _rows(records, [*map(choices_of, records)]), (_NOTE,)
            except (IndexError, KeyError, TypeError, ValueError):
                return records, ()
    return records, ()


def _rows(records: _Records, choices: list[tuple[Any, Any]]) -> list[dict[str, Any]]:
    """Return whole vectors if all questions have as many choices, else the best one's."""
    several = [_probabilities(values) for values, _ in choices]
    # Unlike numbers of choices have no classes in common: only which answers are right is known.
    alike = len(set(map(len, several))) == 1
    rows = []
    for record, p, (_, known) in zip(records, several, choices, strict=True):
        label = int(str(known[0] if isinstance(known, list) else known))
        row = {name: value for name, value in record.items() if name not in _UNUSED}
        row["row_id"] = row.pop("doc_id", None)
        made = {"confidence": max(p), "correct": int(np.argmax(p) == label)}
        rows.append({**({"label": label, "probs": p} if alike else made), **row})
    return rows


def _probabilities(values: Any) -> list[float]:
    """Return probabilities from log-likelihoods ``[["-1.2", "False"], …]`` or ``[-1.2, …]``."""
    pairs = (value if isinstance(value, list) else [value] for value in values)
    likelihoods = [float(pair[0]) for pair in pairs]
    if len(likelihoods) < 2:
        raise ValueError("a single answer is no choice")
    return [*map(float, softmax(np.array([likelihoods]))[0])]
