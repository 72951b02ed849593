"""lm-evaluation-harness (``--log_samples``) and lighteval (details): multiple choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lore_core.data.arrays import Floats

KEYS = (
    {"filtered_resps", "target"},
    {"doc", "model_response", "metric"},
    {"gold_index", "choices", "predictions"},
)
NOTE = "The log-likelihoods of the choices became probabilities by softmax."
#: Keys of prompts, hashes and inputs, which tell nothing about a row.
_UNUSED = (
    *("arguments", "resps", "filtered_resps", "doc_hash", "prompt_hash", "target_hash", "filter"),
    *("target", "model_response", "predictions", "gold_index", "choices", "doc", "gold"),
)


def rows_of(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]] | None:
    """Return a row a question: whole vectors if all have as many choices, else the best one's."""
    known = [choice for record in records if (choice := _choice(record)) is not None]
    if len(known) < len(records):
        return None
    # Unlike numbers of choices have no classes in common: only which answers are right is known.
    alike = len({len(p) for p, _ in known}) == 1
    rows = []
    for record, (p, label) in zip(records, known, strict=True):
        row = {name: value for name, value in record.items() if name not in _UNUSED}
        if isinstance(question := record.get("doc"), dict):
            row["doc"] = {name: value for name, value in question.items() if name not in _UNUSED}
        row["row_id"] = row.pop("doc_id", None)
        made = {"confidence": float(p.max()), "correct": int(p.argmax() == label)}
        rows.append({**({"label": label, "probs": p.tolist()} if alike else made), **row})
    return rows


def _choice(record: Mapping[str, Any]) -> tuple[Floats, int] | None:
    """Return the softmax of the choices' log-likelihoods, and the right choice."""
    asked = record.get("doc")
    answered, gold = record.get("model_response"), record.get("target")
    if isinstance(answered, dict) and isinstance(asked, dict):
        values, gold = answered.get("logprobs"), asked.get("gold_index")
    elif "gold_index" in record:
        values, gold = record.get("predictions"), record["gold_index"]
    else:  # [["-1.2", "False"], …]
        values = record.get("filtered_resps")
    gold = gold[0] if isinstance(gold, list) and len(gold) == 1 else gold
    if not isinstance(values, list) or len(values) < 2:
        return None
    try:
        pairs = (value if isinstance(value, list) else [value] for value in values)
        likelihoods = np.array([float(pair[0]) for pair in pairs])
        label = int(str(gold))
    except (IndexError, TypeError, ValueError):
        return None
    powers = np.exp(likelihoods - likelihoods.max())
    return powers / powers.sum(), label
