"""Logs of Inspect (inspect_ai): a sample a row, with what was asked, answered and scored."""

from __future__ import annotations

import dataclasses
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import pyarrow as pa

from lore_core.data.validation import InputError
from lore_core.reading import npz
from lore_core.reading.columns import Columns, columns_of_records, short
from lore_core.reading.raw_file import RawFile

#: How scorers write what is right and what is wrong (inspect_ai.scorer: CORRECT, INCORRECT).
_SCORES = {"C": 1, "I": 0}
#: How a zip archive calls Zstandard, and what stands before each of its parts.
_ZSTANDARD, _LOCAL_HEADER = 93, "<4s5H3I2H"
_ATTACHED = "attachment://"
#: Parts of an archive: a sample each, and those that say how many there are.
_SAMPLES, _ABOUT = "samples/", ("header.json", "summaries.json")
NOTE = "An Inspect log: 'correct' is 1 where {scorer} says C (or 1), 0 where it says I (or 0)."


def open_eval(raw: RawFile) -> Columns:
    """Open an ``.eval`` log: a zip of one JSON file a sample.

    Raises InputError if it is damaged, holds no sample or no score.
    """
    try:
        with raw.open() as stream, zipfile.ZipFile(stream) as archive:
            npz.check_entries(stream, archive)
            parts = sorted(
                (part for part in archive.infolist() if _is_read(part.filename)),
                key=lambda part: part.filename,
            )
            if sum(part.file_size for part in parts) > npz.MAX_BYTES:
                raise InputError(
                    f"'{raw.name}' declares more than {npz.MAX_BYTES / 2**30:.3g} GiB, which is "
                    "more than is read. Log fewer samples."
                )
            held = [(part.filename, json.loads(_unpacked(stream, archive, part))) for part in parts]
    except InputError:
        raise
    except (*npz.DAMAGE, pa.ArrowException) as error:
        raise InputError(
            f"'{raw.name}' is damaged or no Inspect log ({short(error).rstrip('.')}). Save it "
            "again."
        ) from error
    samples = [content for name, content in held if name.startswith(_SAMPLES)]
    about = [content for name, content in held if not name.startswith(_SAMPLES)]
    return columns_of_samples(raw, samples, max(map(count_logged, about), default=0))


def is_inspect_log(whole: object) -> bool:
    """Whether a JSON object is a whole log, as ``inspect log convert --to json`` writes it."""
    return isinstance(whole, dict) and {"eval", "samples"} <= set(whole)


def count_logged(about: object) -> int:
    """Return how many samples were logged, by a log's header or its summaries; 0 if by none."""
    if isinstance(about, list):
        items = [item for item in about if isinstance(item, dict)]
        return len({(str(item.get("id")), str(item.get("epoch"))) for item in items})
    results = about.get("results") if isinstance(about, dict) else None
    count = results.get("completed_samples") if isinstance(results, dict) else None
    return count if isinstance(count, int) else 0


def columns_of_samples(raw: RawFile, samples: object, n_logged: int) -> Columns:
    """Return the columns of a log's samples: ``input, target, answer, correct`` and metadata.

    What a sample's own metadata and its score's metadata hold becomes columns by the names there:
    that is where a confidence stands, for Inspect has no field for it. ``n_logged``: how many
    samples the log says that it holds, at least.
    """
    if not isinstance(samples, list) or not samples:
        raise InputError(f"'{raw.name}' holds no sample. Save the log when the run has ended.")
    if not all(isinstance(sample, dict) for sample in samples):
        raise InputError(f"'{raw.name}' is no Inspect log: a sample is no object. Save it again.")
    scorer = next((name for sample in samples for name in _scores(sample)), None)
    if scorer is None:
        raise InputError(
            f"'{raw.name}' has no score: which answers are right is not known. Score the log "
            "(inspect score) and save it."
        )
    rows = (_row(sample, scorer) for sample in samples)
    columns = columns_of_records(raw, rows, (NOTE.format(scorer=f"'{scorer}'"),))
    if len(samples) >= n_logged:
        return columns
    incomplete = (
        f"'{raw.name}' holds {len(samples):,} samples but says that {n_logged:,} were logged: some "
        "are lost. Copy or save it again."
    )
    return dataclasses.replace(columns, incomplete=incomplete)


def _unpacked(stream: BinaryIO, archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> bytes:
    """Return a part's bytes; Inspect packs them by Zstandard, which Python's zipfile lacks."""
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


def _is_read(name: str) -> bool:
    return name in _ABOUT or (name.startswith(_SAMPLES) and name.endswith(".json"))


def _scores(sample: Mapping[str, Any]) -> Mapping[str, Any]:
    scores = sample.get("scores")
    return scores if isinstance(scores, dict) else {}


def _row(sample: Mapping[str, Any], scorer: str) -> dict[str, Any]:
    score = _scores(sample).get(scorer)
    score = score if isinstance(score, dict) else {"value": score}
    value = score.get("value")
    row: dict[str, Any] = {
        "id": sample.get("id"),
        "input": _said(_text(sample.get("input")), sample),
        "target": _text(sample.get("target")),
        "answer": score.get("answer"),
        "correct": _SCORES.get(value, value) if isinstance(value, str) else value,
    }
    if sample.get("epoch", 1) != 1:
        row["epoch"] = sample["epoch"]
    for held in (sample.get("metadata"), score.get("metadata")):
        if isinstance(held, dict):
            row |= {name: item for name, item in held.items() if name not in row}
    return row


def _said(text: str | None, sample: Mapping[str, Any]) -> str | None:
    """Return a text that stands among the attachments, as long ones do."""
    kept = sample.get("attachments")
    if text is None or not text.startswith(_ATTACHED) or not isinstance(kept, dict):
        return text
    found = kept.get(text.removeprefix(_ATTACHED))
    return found if isinstance(found, str) else text


def _text(value: object) -> str | None:
    """Return what was asked: a text, or the texts of messages one after the other."""
    if isinstance(value, list):
        return "\n".join(filter(None, map(_text, _contents(value)))) or None
    return None if value is None else str(value)


def _contents(messages: list[Any]) -> Iterator[Any]:
    for message in messages:
        if isinstance(message, dict):
            yield message.get("content", message.get("text"))
        else:
            yield message
