"""Delimited text: delimiter, byte-order mark, decimal comma and encoding are detected."""

import csv
import dataclasses
import io
import re

import pandas as pd

from lore_core.data.errors import short
from lore_core.data.validation import InputError
from lore_core.reading.columns import Columns, check_table, columns_of_values
from lore_core.reading.raw_file import RawFile, missing_line_break

_DELIMITERS = (",", ";", "\t", "|")
_SAMPLE_BYTES = 2**20
_SAMPLE_LINES = 50
_COMMA_NUMBER = re.compile(r"[-+]?\d+,\d+([eE][-+]?\d+)?")
_POINT_NUMBER = re.compile(r"[-+]?\d*\.\d+([eE][-+]?\d+)?")
#: Cells read as missing; not "None", which may be a class name.
MISSING = ["", "NaN", "nan", "NA", "N/A", "#N/A", "null", "NULL", "<NA>"]


def open_text(raw: RawFile) -> Columns:
    """Open a delimited text file whose first line names the columns."""
    with raw.open() as stream:
        head = stream.read(_SAMPLE_BYTES)
    encoding = "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    if b"\0" in head and not encoding.startswith("utf-16"):
        raise InputError(f"'{raw.name}' is not text: it holds zero bytes. Save it as CSV again.")
    sample, is_complete = head.decode(encoding, "replace"), len(head) < _SAMPLE_BYTES
    try:
        delimiter, rows = _sniff(sample, is_complete=is_complete)
    except csv.Error as error:
        raise InputError(
            f"'{raw.name}' cannot be read as a table: a cell is longer than "
            f"{csv.field_size_limit():,} characters, or a quote does not end. Close the quote, or "
            "leave the column out."
        ) from error
    if len(rows) < 2 and not is_complete:
        raise InputError(
            f"'{raw.name}' cannot be read as a table: its first two lines, or a quote in them, are "
            "longer than a megabyte. Close the quote; put many features into an .npz."
        )
    if not rows:
        raise InputError(f"'{raw.name}' holds nothing but blank lines. Save it again.")
    names = _header(raw, rows)
    decimal = _decimal(rows[1:], delimiter)
    notes: tuple[str, ...] = ()
    try:
        frame = _parse(raw, names, delimiter, decimal, encoding)
    except UnicodeDecodeError:
        if encoding.startswith("utf-16"):
            raise InputError(
                f"'{raw.name}' is damaged: it begins as UTF-16 text but does not go on so. Save it "
                "as UTF-8."
            ) from None
        encoding = "cp1252"
        frame = _parse(raw, names, delimiter, decimal, encoding)
        notes = (f"'{raw.name}' is not UTF-8: read as Windows-1252 text.",)
    if decimal == ",":
        notes += (f"'{raw.name}' writes decimals with a comma: read so.",)
    check_table(raw.name, names, len(frame))
    return dataclasses.replace(
        columns_of_values(raw, "CSV", {name: frame[name] for name in names}),
        notes=notes + missing_line_break(raw),
        locate=lambda row: f"row {row} (line {_line(raw, row, delimiter, encoding)})",
        incomplete=_cut_line(raw, names, delimiter, encoding),
    )


def _sniff(sample: str, *, is_complete: bool) -> tuple[str, list[list[str]]]:
    """Return the delimiter with the best agreement of header and rows, and the first rows."""
    lines = sample.splitlines(keepends=True)
    if not is_complete and len(lines) > 1:
        lines = lines[:-1]
    best: tuple[float, int] = (-1.0, 0)
    chosen, first_rows = ",", [row for row in csv.reader(lines[:_SAMPLE_LINES]) if row]
    for delimiter in _DELIMITERS:
        try:
            reader = csv.reader(
                lines[:_SAMPLE_LINES], delimiter=delimiter, skipinitialspace=delimiter != "\t"
            )
            rows = [row for row in reader if row]
        except csv.Error:
            continue
        if not rows or len(rows[0]) < 2:
            continue
        agree = sum(len(row) == len(rows[0]) for row in rows) / len(rows)
        if (agree, len(rows[0])) > best:
            best, chosen, first_rows = (agree, len(rows[0])), delimiter, rows
    return chosen, first_rows


def _header(raw: RawFile, rows: list[list[str]]) -> list[str]:
    names = [name.strip() or f"Unnamed: {i}" for i, name in enumerate(rows[0])]
    if all(_is_number(name) for name in names):
        raise InputError(
            f"'{raw.name}' has no column names: its first line holds numbers only. Add a first "
            "line such as label,p_0,p_1."
        )
    check_table(raw.name, names, len(rows))
    if len(rows) > 1 and len(rows[1]) > len(names):
        raise InputError(
            f"'{raw.name}' has {len(rows[1])} values in its first data row but {len(names)} column "
            "names. Name every column."
        )
    return names


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


def _decimal(rows: list[list[str]], delimiter: str) -> str:
    if delimiter == ",":
        return "."
    cells = [cell.strip() for row in rows for cell in row]
    comma = any(_COMMA_NUMBER.fullmatch(cell) for cell in cells)
    point = any(_POINT_NUMBER.fullmatch(cell) for cell in cells)
    return "," if comma and not point else "."


def _parse(
    raw: RawFile, names: list[str], delimiter: str, decimal: str, encoding: str
) -> pd.DataFrame:
    try:
        with raw.open() as stream:
            return pd.read_csv(
                stream,
                sep=delimiter,
                decimal=decimal,
                header=0,
                names=names,
                encoding=encoding,
                encoding_errors="replace" if encoding == "cp1252" else "strict",
                skipinitialspace=delimiter != "\t",
                keep_default_na=False,
                na_values=MISSING,
                low_memory=False,
            )
    except UnicodeDecodeError:
        raise
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError) as error:
        found = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
        if found:
            text = (
                f"line {found[2]} of '{raw.name}' has {found[3]} values but the header names "
                f"{found[1]} columns. Quote cells that contain '{delimiter}'."
            )
        else:
            text = f"'{raw.name}' cannot be read as a table ({short(error).rstrip('.')})."
        raise InputError(text) from error


def _cut_line(raw: RawFile, names: list[str], delimiter: str, encoding: str) -> str:
    """Return what is wrong if the last line ends too early, else ``""``."""
    with raw.open() as stream:
        stream.seek(max(0, stream.seek(0, io.SEEK_END) - _SAMPLE_BYTES))
        last = stream.read().rpartition(b"\n")[2]
    # (With quotes or other line breaks the last line cannot be told.)
    known = last.strip() and b'"' not in last and b"\r" not in last
    n_values = last.count(delimiter.encode()) + 1
    if not known or encoding.startswith("utf-16") or n_values >= len(names):
        return ""
    return (
        f"the last line of '{raw.name}' holds {n_values} of {len(names)} values and does not end: "
        "the file may have been cut off there. Save it again."
    )


def _line(raw: RawFile, row: int, delimiter: str, encoding: str) -> int:
    """Return the 1-based line a data row starts on; blank lines and quoted breaks count."""
    with raw.open() as stream, io.TextIOWrapper(stream, encoding, "replace", newline="") as text:
        reader = csv.reader(text, delimiter=delimiter, skipinitialspace=delimiter != "\t")
        record, start = -2, 1  # the header is record −1
        try:
            for cells in reader:
                record += bool(cells)
                if record == row:
                    return start
                start = int(reader.line_num) + 1
        except csv.Error:
            pass
    return row + 2
