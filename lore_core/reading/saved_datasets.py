"""Hugging Face datasets: folders of ``save_to_disk``, and class names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from lore_core.data.dataset import CALIBRATION, EVALUATION
from lore_core.data.errors import listed, short
from lore_core.data.validation import InputError
from lore_core.reading.raw_file import RawFile, check_parts, is_saved_dataset
from lore_core.reading.roles import SPLIT_WORDS

#: Files that mark a folder as a dataset, or as a dict of datasets by split.
_STATE, _SPLITS = "state.json", "dataset_dict.json"
#: Key of a schema's metadata for the columns' kinds.
_KINDS = b"huggingface"
_END_BYTES = 8


def is_saved_dict(folder: Path) -> bool:
    """Return whether a folder holds datasets by split."""
    return (folder / _SPLITS).is_file()


def splits_of(folder: Path) -> list[RawFile]:
    """Return a folder's calibration and evaluation split, or the only one."""
    names = _json(folder / _SPLITS).get("splits")
    known = [str(name) for name in names] if isinstance(names, list) else []
    chosen: dict[str, list[str]] = {CALIBRATION: [], EVALUATION: []}
    for name in known:
        half = SPLIT_WORDS.get(name.lower())
        if half in chosen and Path(name).name == name:
            chosen[half].append(name)
    if not any(chosen.values()) or max(map(len, chosen.values())) > 1:
        raise InputError(
            f"'{folder.name}' holds the splits {listed(known) or 'of no name'}, of which one must "
            "be called validation or calibration, and one test or evaluation. Name the two "
            "folders to read."
        )
    unnamed = sorted(
        p.name for p in folder.iterdir() if is_saved_dataset(p) and p.name not in known
    )
    if unnamed:
        raise InputError(
            f"{_SPLITS} of '{folder.name}' does not name {listed(unnamed)}, of which there is a "
            "folder. Save the datasets again, or name the folders to read."
        )
    return [
        RawFile(f"{folder.name}_{name}", folder / name) for half in chosen.values() for name in half
    ]


def read_stream(source: pa.NativeFile | BinaryIO) -> tuple[pa.Table, bool]:
    """Read an Arrow stream; False if no marker ends it: it may be cut off between two batches."""
    with pa.ipc.open_stream(source) as reader:
        batches = []
        while True:
            end = source.tell()
            try:
                batches.append(reader.read_next_batch())
            except StopIteration:
                is_whole = source.tell() - end == _END_BYTES and not source.read(1)
                return pa.Table.from_batches(batches, reader.schema), is_whole


def parts_of(raw: RawFile) -> list[tuple[str, pa.Table]]:
    """Read name and rows of the Arrow streams in a folder, in the order of its state file."""
    folder = raw.content
    assert isinstance(folder, Path)
    files = _json(folder / _STATE).get("_data_files")
    names = [str(item.get("filename")) for item in files or [] if isinstance(item, dict)]
    if not names or any(Path(name).name != name for name in names):
        raise InputError(f"'{raw.name}' names no data files in {_STATE}. Save the dataset again.")
    check_parts(f"{_STATE} of '{raw.name}'", names, "Save the dataset again.")
    parts = []
    for name in names:
        try:
            with pa.memory_map(str(folder / name)) as source:
                table, is_whole = read_stream(source)
            if not is_whole:
                raise ValueError(f"it is cut off after {table.num_rows:,} rows")
            parts.append((name, table))
        except (OSError, pa.ArrowException, ValueError) as error:
            raise InputError(
                f"'{short(name)}' of '{raw.name}' is missing or damaged "
                f"({short(error).rstrip('.')}). Save the dataset again."
            ) from error
    return parts


def class_names_in(schema: pa.Schema) -> dict[str, tuple[str, ...]]:
    """Return column to class names, for columns of class numbers by the schema."""
    try:
        kinds = json.loads((schema.metadata or {})[_KINDS])["info"]["features"]
        found = {
            str(name): tuple(map(str, kind["names"]))
            for name, kind in kinds.items()
            if isinstance(kind, dict) and kind.get("_type") == "ClassLabel"
        }
    except (KeyError, TypeError, ValueError, AttributeError):
        return {}
    return {name: names for name, names in found.items() if names}


def holds_images(kind: pa.DataType) -> bool:
    """Return whether a column holds encoded images, ``{bytes, path}``."""
    if not pa.types.is_struct(kind) or kind.num_fields != 2:
        return False
    names = {kind.field(k).name: kind.field(k).type for k in range(2)}
    return set(names) == {"bytes", "path"} and pa.types.is_binary(names["bytes"])


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            f"'{path.name}' of '{path.parent.name}' cannot be read. Save the dataset again."
        ) from error
    return found if isinstance(found, dict) else {}
