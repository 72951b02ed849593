"""From a path or an upload to named columns: which format it is, by suffix and by first bytes."""

from __future__ import annotations

from lore_core.data.validation import InputError
from lore_core.reading.arrow_tables import open_feather, open_parquet
from lore_core.reading.columns import Columns
from lore_core.reading.json_tables import open_json
from lore_core.reading.npz import open_npz
from lore_core.reading.raw_file import RawFile, Source, raw_file
from lore_core.reading.text_tables import open_text

#: Suffix to format.
READABLE = {
    ".npz": "NPZ",
    ".csv": "CSV",
    ".tsv": "CSV",
    ".txt": "CSV",
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".feather": "Feather",
    ".arrow": "Feather",
    ".json": "JSON",
    ".jsonl": "JSON",
    ".ndjson": "JSON",
}
_MAGIC = {
    b"PK\x03\x04": "NPZ",
    b"PK\x05\x06": "NPZ",
    b"PAR1": "Parquet",
    b"ARROW1": "Feather",
    b"\xff\xff\xff\xff": "Feather",
}


def open_columns(source: Source) -> Columns:
    """Open a file of any readable format as named columns.

    Raises InputError if the format cannot be read or the file is damaged.
    """
    raw = raw_file(source)
    openers = {
        "NPZ": open_npz,
        "CSV": open_text,
        "Parquet": open_parquet,
        "Feather": open_feather,
        "JSON": open_json,
    }
    columns = openers[_format(raw)](raw)
    if not columns.shapes:
        raise InputError(f"'{raw.name}' holds no column. Save it again with data.")
    return columns


def _format(raw: RawFile) -> str:
    by_suffix = READABLE.get(raw.suffix)
    if by_suffix is None and raw.suffix:
        raise InputError(
            f"'{raw.name}' is of no readable kind. These can be read: {', '.join(READABLE)}."
        )
    with raw.open() as stream:
        head = stream.read(8)
    if not head:
        raise InputError(f"'{raw.name}' is empty (0 bytes). Save it again.")
    if head.startswith(b"\x93NUMPY"):
        raise InputError(
            f"'{raw.name}' is a single array (.npy). Save probs, labels and features together "
            "with numpy.savez."
        )
    if head.startswith(b"FEA1"):
        raise InputError(
            f"'{raw.name}' is Feather of version 1, whose damaged files end the program that reads "
            "them. Save it as version 2 (pandas: to_feather), or as Parquet."
        )
    by_content = next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)
    if by_content is None:
        if by_suffix in (None, "CSV", "JSON"):
            return by_suffix or "CSV"
        what = {"NPZ": "zip archive, as .npz is", "Parquet": "Parquet file"}
        raise InputError(
            f"'{raw.name}' is not a {what.get(str(by_suffix), 'Feather file')}: its first bytes "
            "are others. Save it again, or give it the suffix of what it is."
        )
    return by_content
