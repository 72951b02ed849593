"""JSON: records, one record a line, columns, and logs of lm-evaluation-harness and Inspect."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from lore_core.data.arrays import Floats
from lore_core.data.validation import InputError
from lore_core.reading.columns import Columns, columns_of_records, short
from lore_core.reading.inspect_logs import columns_of_samples, count_logged, is_inspect_log
from lore_core.reading.raw_file import RawFile, missing_line_break

#: How half of a character beyond the first 65,536 is written; two of them are one.
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")
#: Keys of lm-evaluation-harness.
_RESPONSES, _TARGET = "filtered_resps", "target"
#: Prompts, hashes and what the responses were made from: no news about a row.
_UNUSED = ("arguments", "resps", _RESPONSES, "doc_hash", "prompt_hash", "target_hash", "filter")
_CHOICE_NOTE = "The log-likelihoods of the choices became probabilities by softmax."


def open_json(raw: RawFile) -> Columns:
    """Open JSON or JSON Lines; what is nested becomes columns such as ``metrics.acc``.

    Read are a list of objects, one object a line, columns of equal length (``{"label": [0, 1],
    …}``), and ``{"columns": […], "data": [[…], …]}``. Lists of as many numbers in every row are a
    matrix. A sample log of lm-evaluation-harness and a log of Inspect are read as what they hold.
    Raises InputError if it is none of these, damaged or empty.
    """
    with raw.open() as stream:
        try:
            text = stream.read().decode("utf-8-sig")
        except UnicodeDecodeError:
            raise InputError(
                f"'{raw.name}' is not UTF-8 text, as JSON is. Save it again."
            ) from None
    log = _whole_log(text)
    if log is not None:
        return columns_of_samples(raw, log["samples"], count_logged(log))
    records: Sequence[Mapping[str, Any]] = list(_records(raw, text))
    choices = _is_choice_log(records)
    if choices:
        records = list(_rows_of_choices(records))
    if _HALF_CHARACTER.search(text):
        try:
            json.dumps(records, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise InputError(
                f"'{raw.name}' holds half a character (one of \\ud800 to \\udfff alone), which is "
                "no text. Save it again."
            ) from None
    notes: tuple[str, ...] = (_CHOICE_NOTE,) if choices else ()
    if _is_one_a_line(text.splitlines()):
        notes += missing_line_break(raw)
    return columns_of_records(raw, records, notes)


def _whole_log(text: str) -> dict[str, Any] | None:
    """Return a log of Inspect, if the file is one."""
    if '"samples"' not in text or '"eval"' not in text:
        return None
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):  # lines, or damaged, which is said below
        return None
    return whole if is_inspect_log(whole) else None


def _records(raw: RawFile, text: str) -> Iterator[Mapping[str, Any]]:
    """Yield one object a row."""
    lines = text.splitlines()
    if _is_one_a_line(lines):
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield _record(raw, _parsed(raw, line, f"line {number}"), f"line {number}")
        return
    whole = _parsed(raw, text, "the text")
    if isinstance(whole, dict) and {"columns", "data"} <= set(whole):
        rows: Iterable[Any] = (
            dict(zip(whole["columns"], row, strict=False)) for row in whole["data"]
        )
    elif isinstance(whole, dict) and _is_table(whole):
        rows = (dict(zip(whole, row, strict=True)) for row in zip(*whole.values(), strict=True))
    elif isinstance(whole, list):
        rows = whole
    else:
        raise InputError(
            f"'{raw.name}' must hold a list of records, one record a line, or columns of one "
            "length. Save one object a prediction."
        )
    for number, row in enumerate(rows):
        yield _record(raw, row, f"record {number}")


def _is_one_a_line(lines: Sequence[str]) -> bool:
    """Whether each line is an object, by the first."""
    try:
        head = json.loads(next((line for line in lines if line.strip()), ""))
    except (ValueError, RecursionError):  # said of the whole
        return False
    several = sum(bool(line.strip()) for line in lines) > 1
    return isinstance(head, dict) and (several or not _is_table(head))


def _is_table(found: Mapping[str, Any]) -> bool:
    """Whether an object holds whole columns and not one row."""
    if {"columns", "data"} <= set(found):
        return True
    lengths = {len(cells) if isinstance(cells, list) else -1 for cells in found.values()}
    return len(lengths) == 1 and lengths.pop() > 1


def _parsed(raw: RawFile, text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        reason = "nested too deeply"
    except ValueError as error:
        reason = short(error)
    raise InputError(f"{where} of '{raw.name}' is no JSON ({reason}). Save it again.")


def _record(raw: RawFile, value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InputError(
            f"{where} of '{raw.name}' must be an object with a name for every value; got "
            f"{short(json.dumps(value), 40)}. Save one object a prediction."
        )
    return value


def _is_choice_log(records: Sequence[Mapping[str, Any]]) -> bool:
    """Whether every record holds the log-likelihoods of two choices or more, and the right one.

    As ``lm_eval --log_samples`` writes them: ``"filtered_resps": [["-1.2", "False"], …]``.
    """
    return bool(records) and all(
        _TARGET in record and _likelihoods(record) is not None for record in records
    )


def _rows_of_choices(records: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield rows of them.

    With as many choices everywhere: ``probs`` and ``label``, the right choice. Else ``confidence``,
    that of the most likely choice, and ``correct``.
    """
    known = [(_softmax(_likelihoods(record)), _index(record)) for record in records]
    alike = len({len(p) for p, _ in known}) == 1
    for record, (p, label) in zip(records, known, strict=True):
        row = {name: value for name, value in record.items() if name not in (*_UNUSED, _TARGET)}
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
    """Return the index of the right choice; it is written as a number or as its text."""
    try:
        return int(str(record[_TARGET]))
    except (KeyError, ValueError):
        return None


def _softmax(likelihoods: list[float] | None) -> Floats:
    powers = np.exp(np.array(likelihoods) - max(likelihoods or [0.0]))
    return np.asarray(powers / powers.sum())
