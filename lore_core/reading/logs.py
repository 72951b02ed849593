"""Logs of tools that evaluate language models, as rows; each tool is a row of a table of names."""

import io
import itertools
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from lore_core.data.errors import InputError
from lore_core.reading import npz
from lore_core.reading.columns import Columns, check_size, columns_of_records, refusing_damage
from lore_core.reading.raw_file import RawFile

#: Where logs of multiple choice hold the log-likelihoods of the choices, and the right choice.
_CHOICES = (
    ("filtered_resps", "target"),  # lm-evaluation-harness
    ("model_response.logprobs", "doc.gold_index"),  # lighteval
    ("predictions", "gold_index"),  # lighteval before 0.10
)
#: Where records hold an answer of OpenAI's API: whole, in a batch, or beside other keys.
_ANSWERS = ("", "response.body", "response", "completion")
#: Keys of prompts, hashes, tokens and inputs, which tell nothing about a row.
_UNUSED = (
    *("arguments", "resps", "filtered_resps", "target", "doc_hash", "prompt_hash", "target_hash"),
    *("filter", "model_response", "predictions", "gold_index", "input_tokens", "cont_tokens"),
)
#: Zstandard's number in zip archives, and the header of each member.
_ZSTANDARD, _LOCAL_HEADER = 93, "<4s5H3I2H"
_ATTACHED = "attachment://"
#: Members of an archive: one a sample, and those that count them.
_SAMPLES, _MEMBER = "samples/", re.compile(r"samples/.*\.json|header\.json|summaries\.json")
_LOG_NOTE = "An Inspect log: 'correct' is 1 where {scorer} says C (or 1), 0 where it says I (or 0)."


def rows_of_log(
    records: Sequence[Mapping[str, Any]],
) -> tuple[list[dict[str, Any]], tuple[str, ...]] | None:
    """Return the rows of a log of a known tool, and a note on them; None of other records."""
    if samples := _samples_of_events(records):
        return samples, ("A log of OpenAI's evals: its events are joined by sample.",)
    for row_of, note in _READERS.items():
        rows = [*itertools.takewhile(bool, map(row_of, records))]
        if rows and len(rows) == len(records):
            # Unlike numbers of choices have no classes in common: only which are right is known.
            alike = len({len(row.get("probs", ())) for row in rows}) == 1
            unused = ("confidence", "correct") if alike else ("label", "probs")
            if "probs" in rows[0]:
                rows = [{n: v for n, v in row.items() if n not in unused} for row in rows]
            return rows, (note,)
    return None


def is_log(names: Sequence[str]) -> bool:
    """Return whether a table with such columns is a log of multiple choice."""
    return any({path.split(".")[0] for path in paths} <= set(names) for paths in _CHOICES)


def _at(record: Any, path: str) -> Any:
    """Return what is at a path of keys, ``doc.gold_index``; None if nothing is."""
    for name in filter(None, path.split(".")):
        record = _mapping(record).get(name)
    return record


def _row_of_choices(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the softmax of log-likelihoods, ``[["-1.2", "False"], …]``, and the right choice."""
    for choices, right in _CHOICES:
        found, gold = _at(record, choices), _at(record, right)
        if not isinstance(found, list) or len(found) < 2:
            continue
        try:
            # (Answers in text may be numbers, too.)
            logs = [float(item[0]) if isinstance(item, list) else item + 0.0 for item in found]
            if isinstance(gold, str) and not gold.isdecimal():  # the text of a choice
                texts = [item["arg_1"].strip() for item in record["arguments"].values()]
                gold = texts.index(gold.strip())
            (label,) = map(int, gold if isinstance(gold, list) else [str(gold)])
        except (TypeError, ValueError, LookupError, AttributeError):
            continue
        with np.errstate(invalid="ignore"):  # (What is not finite is refused with its row.)
            powers = np.exp(np.array(logs) - max(logs))
            p = powers / powers.sum()
        row = {"label": label, "probs": p.tolist()}
        row |= {"confidence": float(p.max()), "correct": int(p.argmax() == label)}
        rest = {name: value for name, value in record.items() if name not in _UNUSED}
        row["row_id"] = rest.pop("doc_id", _at(record, "doc.id"))
        return row | rest
    return {}


def _samples_of_events(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the samples of a log of OpenAI's evals: what its events say of each."""
    samples: dict[str, dict[str, Any]] = {}
    for record in records:
        name, data = str(record.get("sample_id")), record.get("data")
        if {"run_id", "type"} <= set(record) and isinstance(data, dict):
            samples[name] = samples.get(name, {"id": name}) | data
        elif not {"spec", "final_report"} & set(record):
            return []
    return [row for row in samples.values() if "correct" in row]


def _row_of_stats(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return HELM's statistics of an instance, ``[{"name": {"name": "max_prob"}, "mean": …}]``."""
    stats = record.get("stats")
    if "instance_id" not in record or not isinstance(stats, list):
        return {}
    means = {str(_at(item, "name.name")): _at(item, "mean") for item in stats}
    rest = {name: value for name, value in record.items() if name not in ("stats", "instance_id")}
    return {"id": record["instance_id"], **rest, **means}


def _row_of_answer(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a chat completion's text, and its probability by the log-probabilities of tokens."""
    for path in _ANSWERS:
        answers = _at(record, f"{path}.choices")
        answer = _mapping(answers[0]) if isinstance(answers, list) and answers else {}
        tokens, text = _at(answer, "logprobs.content"), _at(answer, "message.content")
        if not isinstance(tokens, list) or not isinstance(text, str):
            continue
        logs = [_at(token, "logprob") for token in tokens]
        # (NaN is not below 0 either.)
        if not logs or not all(isinstance(log, (int, float)) and log < 1e-3 for log in logs):
            continue
        used = path.split(".")[0] or "choices"
        rest = {name: value for name, value in record.items() if name != used}
        called = "answer" if "correct" in record else "prediction"
        return {**rest, called: text.strip(), "confidence": min(1.0, float(np.exp(sum(logs))))}
    return {}


#: What makes a row of a tool's record, and a note on it.
_READERS: dict[Callable[[Mapping[str, Any]], dict[str, Any]], str] = {
    _row_of_choices: "The log-likelihoods of the choices became probabilities by softmax.",
    _row_of_stats: "A HELM log: each statistic of an instance is a column.",
    _row_of_answer: "The confidence is the probability of the whole answer, token by token.",
}


def open_eval(raw: RawFile) -> Columns:
    """Open an ``.eval`` log: a zip with one JSON file a sample."""
    with (
        refusing_damage(raw.name, "Inspect log", *npz.DAMAGE, pa.ArrowException),
        raw.open() as stream,
        zipfile.ZipFile(stream) as archive,
    ):
        npz.check_entries(stream, archive)
        parts = [part for part in archive.infolist() if _MEMBER.fullmatch(part.filename)]
        check_size(raw.name, sum(part.file_size for part in parts))
        parts.sort(key=lambda part: part.filename)
        contents = [(part.filename, json.loads(_unpacked(stream, archive, part))) for part in parts]
    samples = [content for name, content in contents if name.startswith(_SAMPLES)]
    about = [content for name, content in contents if not name.startswith(_SAMPLES)]
    return _columns_of_samples(raw, samples, max(map(_count_logged, about), default=0))


def columns_of_inspect(raw: RawFile, log: Mapping[str, Any]) -> Columns:
    """Return the columns of an Inspect log in JSON."""
    return _columns_of_samples(raw, log["samples"], _count_logged(log))


def _count_logged(about: object) -> int:
    """Return the number of samples by a log's header or summaries, else 0."""
    if isinstance(about, list):
        items = map(_mapping, about)
        return len({(str(item.get("id")), str(item.get("epoch"))) for item in items})
    count = _mapping(_mapping(about).get("results")).get("completed_samples")
    return count if isinstance(count, int) else 0


def _columns_of_samples(raw: RawFile, samples: Any, n_logged: int) -> Columns:
    """Return columns of a log's samples; ``n_logged``: their least number by the log itself."""
    samples = samples if isinstance(samples, list) else []
    if not samples or not all(isinstance(sample, dict) for sample in samples):
        raise InputError(f"'{raw.name}' holds no samples. Save the log when the run has ended.")
    scorer = next((name for sample in samples for name in _mapping(sample.get("scores"))), None)
    if scorer is None:
        raise InputError(f"'{raw.name}' has no score. Score the log (inspect score) and save it.")
    rows = (_row(sample, scorer) for sample in samples)
    incomplete = (
        f"'{raw.name}' holds {len(samples):,} samples but says that {n_logged:,} were logged: some "
        "are lost. Copy or save it again."
    ) * (len(samples) < n_logged)
    notes = (_LOG_NOTE.format(scorer=f"'{scorer}'"),)
    return columns_of_records(raw, rows, notes=notes, incomplete=incomplete)


def _unpacked(stream: BinaryIO, archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> bytes:
    """Return a member's bytes; Inspect compresses with Zstandard, which zipfile lacks."""
    if part.compress_type != _ZSTANDARD:
        return archive.read(part)
    stream.seek(part.header_offset)
    header = struct.unpack(_LOCAL_HEADER, stream.read(struct.calcsize(_LOCAL_HEADER)))
    stream.seek(header[-2] + header[-1], io.SEEK_CUR)
    packed = stream.read(part.compress_size)
    content: bytes = pa.decompress(packed, part.file_size, codec="zstd", asbytes=True)
    if zlib.crc32(content) != part.CRC:
        raise zipfile.BadZipFile(f"Bad CRC-32 for file '{part.filename}'")
    return content


def _mapping(value: object) -> Mapping[str, Any]:
    """Return values by name; none of anything else."""
    return value if isinstance(value, dict) else {}


def _row(sample: Mapping[str, Any], scorer: str) -> dict[str, Any]:
    score = _mapping(sample.get("scores")).get(scorer)
    score = score if isinstance(score, dict) else {"value": score}
    text = _text(sample.get("input"))
    if text is not None and text.startswith(_ATTACHED):
        text = _text(_mapping(sample.get("attachments")).get(text.removeprefix(_ATTACHED), text))
    row: dict[str, Any] = {
        "id": sample.get("id"),
        "input": text,
        "target": _text(sample.get("target")),
        "answer": score.get("answer"),
        "correct": score.get("value"),
    }
    if sample.get("epoch", 1) != 1:
        row["epoch"] = sample["epoch"]
    for metadata in (sample.get("metadata"), score.get("metadata")):
        row |= {name: item for name, item in _mapping(metadata).items() if name not in row}
    return row


def _text(value: object) -> str | None:
    """Return the question: a text, or the joined texts of messages."""
    if not isinstance(value, list):
        return None if value is None else str(value)
    contents = (m.get("content", m.get("text")) if isinstance(m, dict) else m for m in value)
    return "\n".join(filter(None, map(_text, contents))) or None
