"""Sample logs of lm-evaluation-harness: log-likelihoods of the choices become probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from lore_core.data.arrays import Floats

_RESPONSES, _TARGET = "filtered_resps", "target"
#: Prompts, hashes and what the responses were made from: no news about a row.
_LEFT_OUT = ("arguments", "resps", _RESPONSES, "doc_hash", "prompt_hash", "target_hash", "filter")
NOTE = "The log-likelihoods of the choices became probabilities by softmax."


def is_choice_log(records: Sequence[Mapping[str, Any]]) -> bool:
    """Whether every record holds the log-likelihoods of two choices or more, and the right one.

    As ``lm_eval --log_samples`` writes them: ``"filtered_resps": [["-1.2", "False"], …]``.
    """
    return bool(records) and all(
        _TARGET in record and _likelihoods(record) is not None for record in records
    )


def as_rows(records: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield rows of them.

    With as many choices everywhere: ``probs`` and ``label``, the right choice. Else ``confidence``,
    that of the most likely choice, and ``correct``.
    """
    known = [(_softmax(_likelihoods(record)), _index(record)) for record in records]
    alike = len({len(p) for p, _ in known}) == 1
    for record, (p, label) in zip(records, known, strict=True):
        row = {name: value for name, value in record.items() if name not in (*_LEFT_OUT, _TARGET)}
        row["row_id"] = row.pop("doc_id", None)
        if alike:
            yield {"label": label, "probs": p.tolist(), **row}
        else:
            right = int(p.argmax() == label)
            yield {"confidence": float(p.max()), "correct": right, **row}


def _likelihoods(record: Mapping[str, Any]) -> list[float] | None:
    pairs = record.get(_RESPONSES)
    if not isinstance(pairs, list) or len(pairs) < 2 or _index(record) is None:
        return None
    try:
        return [float(likelihood) for likelihood, _ in pairs]
    except (TypeError, ValueError):
        return None


def _index(record: Mapping[str, Any]) -> int | None:
    """Return the place of the right choice; it is written as a number or as its text."""
    try:
        return int(str(record[_TARGET]))
    except (KeyError, ValueError):
        return None


def _softmax(likelihoods: list[float] | None) -> Floats:
    powers = np.exp(np.array(likelihoods) - max(likelihoods or [0.0]))
    return np.asarray(powers / powers.sum())
