"""Text formats: delimited tables of any dialect; JSON records, lines, columns."""

import codecs
import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

import pandas as pd

from lore_core.data.errors import InputError, short
from lore_core.reading.columns import (
    CLASS_LISTS,
    Columns,
    check_table,
    columns_of_frame,
    columns_of_records,
    refusing_damage,
    shares_by_class,
)
from lore_core.reading.logs import columns_of_inspect, rows_of_log
from lore_core.reading.raw_file import RawFile

_DELIMITERS = (",", ";", "\t", "|")
_SAMPLE_BYTES = 2**20
_SAMPLE_LINES = 50
_COMMA_NUMBER = re.compile(r"[-+]?\d+,\d+([eE][-+]?\d+)?")
_POINT_NUMBER = re.compile(r"[-+]?\d*\.\d+([eE][-+]?\d+)?")
_LEADING_ZERO = re.compile(rb"""0[0-9](?<=[,;|\t\r\n" ]0.)""")
#: Comments before a table, and what Excel writes there.
_BEFORE_TABLE = re.compile(rb"(?:\xef\xbb\xbf)?(?:(?:#(?:[ #!].*)?|% .*|sep=.)\r?\n)+(?=[^\d])")
#: Spaces between cells, or a text in quotes.
_SPACES = re.compile(rb'("[^"]*")|[ \t]+')
#: The name of a column of ARFF, perhaps in quotes.
_ATTRIBUTE = re.compile(r"""@attribute\s+(?:'([^']*)'|"([^"]*)"|(\S+))""", re.IGNORECASE)
#: Cells read as missing; not "None", which may be a class name.
MISSING = ["", "NaN", "nan", "NA", "N/A", "#N/A", "null", "NULL", "<NA>"]


def open_text(raw: RawFile) -> Columns:
    """Open a delimited text file whose first line names the columns."""
    with raw.open() as stream:
        head = stream.read(_SAMPLE_BYTES)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        with raw.open() as stream, refusing_damage(raw.name, "UTF-16 text", UnicodeDecodeError):
            return open_text(RawFile(raw.name, stream.read().decode("utf-16").encode()))
    if before := _BEFORE_TABLE.match(head):
        with raw.open() as stream:  # (Blank lines count as lines, too.)
            rest = stream.read()[before.end() :]
        return open_text(RawFile(raw.name, b"\n" * before[0].count(b"\n") + rest))
    if b"\0" in head:
        raise InputError(f"'{raw.name}' is no UTF-8 text: it holds zero bytes. Save it as UTF-8.")
    is_complete = len(head) < _SAMPLE_BYTES
    try:
        sample = codecs.getincrementaldecoder("utf-8-sig")().decode(head, final=is_complete)
    except UnicodeDecodeError:
        sample = head.decode("cp1252", "replace")
    try:
        delimiter, rows = _sniff(sample, is_complete=is_complete)
    except csv.Error as error:
        raise InputError(
            f"'{raw.name}' cannot be read as a table: a cell is longer than "
            f"{csv.field_size_limit():,} characters, its first two lines than a megabyte, or a "
            "quote does not end. Close the quote; put many features into an .npz."
        ) from error
    if not rows:
        raise InputError(f"'{raw.name}' holds nothing but blank lines. Save it again.")
    if (parted := _with_tabs(raw, head, rows[0])) is not None:
        return open_text(RawFile(raw.name, parted))
    names = _header(raw, rows)
    decimal = _decimal(rows[1:], delimiter)
    frame, encoding = _parse(raw, names, delimiter, decimal)
    notes, incomplete = _end_of(raw, len(names), delimiter)
    if encoding == "cp1252":
        notes.append(f"'{raw.name}' is not UTF-8: read as Windows-1252 text.")
    if decimal == ",":
        notes.append(f"'{raw.name}' writes decimals with a comma: read so.")
    return columns_of_frame(
        raw,
        "CSV",
        frame,
        notes=tuple(notes),
        locate=lambda row: f"row {row} (line {_line(raw, row, delimiter, encoding)})",
        incomplete=incomplete,
    )


def open_arff(raw: RawFile) -> Columns:
    """Open Weka's ARFF: names of columns in lines ``@attribute``, rows behind ``@data``."""
    with refusing_damage(raw.name, "UTF-8 text", UnicodeDecodeError), raw.open() as stream:
        text = re.sub(r"(?m)^%.*", "", stream.read().decode("utf-8-sig"))
    before, *rest = re.split(r"(?im)^[ \t]*@data[ \t\r]*$", text, maxsplit=1)
    if not rest or rest[0].lstrip().startswith("{"):
        found = "sparse rows" if rest else "no line @data"
        raise InputError(f"'{raw.name}' is an ARFF file with {found}. Save it as CSV.")
    rows = re.sub(r"(?m)(^|,)[ \t]*\?[ \t\r]*(?=,|$)", r"\1", rest[0])
    if re.search(r"(?m)(^|,)[ \t]*'", rows):
        swapped = rows.replace("\\'", "\0").translate(str.maketrans("'\"", "\"'"))
        rows = swapped.replace("\0", "'")
    names = ",".join(f'"{one or two or three}"' for one, two, three in _ATTRIBUTE.findall(before))
    return open_text(RawFile(raw.name, ("\n" * before.count("\n") + names + rows).encode()))


def _sniff(sample: str, *, is_complete: bool) -> tuple[str, list[list[str]]]:
    """Return the delimiter with the best agreement of header and rows, and the first rows."""
    lines = sample.splitlines(keepends=True)
    lines = (lines if is_complete or len(lines) < 2 else lines[:-1])[:_SAMPLE_LINES]
    best, chosen, first_rows = (-1.0, 0), ",", [row for row in csv.reader(lines) if row]
    for delimiter in _DELIMITERS:
        rows: list[list[str]] = []
        with suppress(csv.Error):
            reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter != "\t")
            rows = [row for row in reader if row]
        width = len(rows[0]) if rows else 0
        agreement = sum(len(row) == width for row in rows) / max(len(rows), 1), width
        if width > 1 and agreement > best:
            best, chosen, first_rows = agreement, delimiter, rows
    if len(first_rows) < 2 and not is_complete:
        raise csv.Error
    return chosen, first_rows


def _with_tabs(raw: RawFile, head: bytes, header: Sequence[str]) -> bytes | None:
    """Return a table parted by spaces, drawn with bars or in single quotes as others; else None."""
    start = [line for line in head.removeprefix(codecs.BOM_UTF8).splitlines() if line.strip()][:2]
    is_quoted = all(re.fullmatch(r"\s*'.+'\s*", name) for name in header)
    has_rule = any(map(_is_rule, start))
    has_bars = b"|" in b"".join(start) and (has_rule or start[0].lstrip().startswith(b"|"))
    has_spaces = has_rule or len(header) == 1 < min(len(line.split()) for line in start)
    if not (is_quoted or has_bars or has_spaces):
        return None
    with raw.open() as stream:
        content = stream.read().removeprefix(codecs.BOM_UTF8)
    if is_quoted:
        return content.translate(bytes.maketrans(b"'\"", b"\"'"))
    lines = [_parted(line.strip(), has_bars=has_bars) for line in content.splitlines()]
    rows = {number: line.count(b"\t") + 1 for number, line in enumerate(lines) if line}
    (first, width), *others = rows.items()
    is_by_r = not has_bars and sum(n > width for _, n in others) > len(others) / 2
    if is_by_r:
        lines[first] = b"\t" + lines[first]  # (There is no name for the column of rows' names.)
    if wrong := [number for number, n in others if n != width + is_by_r]:
        raise InputError(
            f"'{raw.name}' has {rows[wrong[0]]} values in line {wrong[0] + 1} for {width} names. "
            "Save it with commas between columns and texts in quotes."
        )
    if re.fullmatch(rb"labels(\t\d+)+", lines[first]):  # so LIBSVM calls predicted classes
        lines[first] = lines[first].replace(b"labels", b"prediction")
    return b"\n".join(lines) + b"\n" * content.endswith((b"\n", b"\r"))


def _parted(line: bytes, *, has_bars: bool) -> bytes:
    """Return a line with tabs between its cells, nothing of one that only draws."""
    if _is_rule(line):
        return b""
    if not has_bars:
        return _SPACES.sub(lambda match: match[1] or b"\t", line)
    cells = line.removeprefix(b"|").removesuffix(b"|").split(b"|")
    return b"\t".join(map(bytes.strip, cells))


def _is_rule(line: bytes) -> bool:
    """Return whether a line only draws, as below a header of Markdown or around a table."""
    return b"--" in line and not line.strip(b" \t|+:=-")


def _header(raw: RawFile, rows: list[list[str]]) -> list[str]:
    names = [name.strip() or f"Unnamed: {i}" for i, name in enumerate(rows[0])]
    if pd.to_numeric(pd.Series(names).str.replace(",", "."), errors="coerce").notna().all():
        raise InputError(
            f"'{raw.name}' has no column names: its first line holds numbers only. Add label,p_0,…"
        )
    check_table(raw.name, names, len(rows))
    if len(rows) > 1 and len(rows[1]) > len(names):
        raise InputError(f"'{raw.name}' has {len(rows[1])} values in row 0 for {len(names)} names.")
    return names


def _decimal(rows: list[list[str]], delimiter: str) -> str:
    if delimiter == ",":
        return "."
    cells = [cell.strip() for row in rows for cell in row]
    comma = any(_COMMA_NUMBER.fullmatch(cell) for cell in cells)
    point = any(_POINT_NUMBER.fullmatch(cell) for cell in cells)
    return "," if comma and not point else "."


def _parse(
    raw: RawFile, names: list[str], delimiter: str, decimal: str, encoding: str = "utf-8-sig"
) -> tuple[pd.DataFrame, str]:
    """Return the table and its encoding."""
    how: dict[str, Any] = {"sep": delimiter, "header": 0, "names": names, "encoding": encoding}
    how["encoding_errors"] = "replace" if encoding == "cp1252" else "strict"
    how["skipinitialspace"] = delimiter != "\t"
    kept: dict[str, Any] = {"keep_default_na": False, "na_values": MISSING, "low_memory": False}
    try:
        with raw.open() as stream:
            frame = pd.read_csv(stream, decimal=decimal, **how, **kept)
        return _with_leading_zeros(raw, frame, how), encoding
    except UnicodeDecodeError:
        return _parse(raw, names, delimiter, decimal, "cp1252")
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError) as error:
        raise InputError(
            f"'{raw.name}' cannot be read as a table ({short(error).rstrip('.')}). Quote cells "
            f"that contain '{delimiter}'."
        ) from error


def _with_leading_zeros(raw: RawFile, frame: pd.DataFrame, how: dict[str, Any]) -> pd.DataFrame:
    """Return whole numbers of which one is written ``007`` as texts: classes, or names of rows."""
    whole = [*frame.select_dtypes("integer")]
    with raw.open() as stream:
        if not whole or not _LEADING_ZERO.search(stream.read()):
            return frame
        stream.seek(0)
        texts = pd.read_csv(stream, **how, usecols=whole, dtype=str)
    padded = [name for name in whole if texts[name].str.match(r"[-+]?0\d").any()]
    return frame.assign(**{name: texts[name] for name in padded})


def _end_of(raw: RawFile, n_columns: int = 0, delimiter: str = ",") -> tuple[list[str], str]:
    """Return a note if no line break ends a text, and what is wrong if its last line is short."""
    with raw.open() as stream:
        stream.seek(max(0, stream.seek(0, io.SEEK_END) - _SAMPLE_BYTES))
        last = re.split(rb"[\r\n]", stream.read())[-1]
    if not last.strip(b" \t\0"):
        return [], ""
    note = f"'{raw.name}' does not end with a line break: if it was cut off, rows are missing."
    n_values = last.count(delimiter.encode()) + 1
    # (With quotes the last line may be a part of a cell.)
    if b'"' in last or n_values >= n_columns:
        return [note], ""
    return [note], (
        f"the last line of '{raw.name}' holds {n_values} of {n_columns} values and does not end: "
        "it may have been cut off. Save it again."
    )


def _line(raw: RawFile, row: int, delimiter: str, encoding: str) -> int:
    """Return the 1-based line a data row ends on; blank lines and quoted breaks count."""
    with raw.open() as stream, io.TextIOWrapper(stream, encoding, "replace", newline="") as text:
        reader = csv.reader(text, delimiter=delimiter, skipinitialspace=delimiter != "\t")
        with suppress(csv.Error):
            next(islice(filter(None, reader), row + 1, None), None)  # the header is record 0
            return reader.line_num
    return row + 2


#: Half of a surrogate pair; two of them are one character.
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")


def open_json(raw: RawFile) -> Columns:
    """Open JSON or JSON Lines: records, columns, pandas' other orients, or a log of a tool."""
    with refusing_damage(raw.name, "UTF-8 text", UnicodeDecodeError), raw.open() as stream:
        text = stream.read().decode("utf-8-sig")
    records: Sequence[Mapping[str, Any]]
    lines, class_names, end = text.splitlines(), list[Any](), list[str]()
    if _is_one_a_line(lines):
        rows = [(f"line {n}", line) for n, line in enumerate(lines, start=1) if line.strip()]
        records = [_record(raw, _json(raw, line, where), where) for where, line in rows]
        end, _ = _end_of(raw)
    else:
        content = _json(raw, text, "the text")
        if isinstance(content, dict):
            class_names, content = _class_list(content), _records_of(content)
        if not isinstance(content, list):
            raise InputError(f"'{raw.name}' must hold a list of records, one a line, or columns.")
        records = [_record(raw, row, f"record {number}") for number, row in enumerate(content)]
    if len(records) == 1 and {"eval", "samples"} <= set(records[0]):
        return columns_of_inspect(raw, records[0])
    records, notes = rows_of_log(records) or (records, ())
    if _HALF_CHARACTER.search(text):
        with refusing_damage(raw.name, "text of whole characters", UnicodeEncodeError):
            json.dumps(records, ensure_ascii=False).encode()
    names = tuple(map(str, class_names)) or None
    return columns_of_records(raw, records, notes=(*notes, *end), class_names=names)


def _class_list(content: Mapping[str, Any]) -> list[Any]:
    """Return the list of class names where whole columns are longer; else an empty one."""
    lists = {name: cells for name, cells in content.items() if isinstance(cells, list)}
    listing: list[Any] = next((lists.pop(name) for name in CLASS_LISTS if name in lists), [])
    return listing if lists and min(map(len, lists.values())) > len(listing) else []


def _records_of(content: Mapping[str, Any]) -> list[Any] | None:
    """Return the records of one object, by whichever way pandas or others hold them in it."""
    columns, rows = content.get("columns"), content.get("data")
    if isinstance(columns, list) and isinstance(rows, list) and {*map(type, rows)} <= {list}:
        return [dict(zip(map(str, columns), row, strict=False)) for row in rows]
    if {"eval", "samples"} <= set(content):
        return [content]
    lists = {name: cells for name, cells in content.items() if isinstance(cells, list) and cells}
    class_names = _class_list(content)
    lists = {name: cells for name, cells in lists.items() if cells is not class_names}
    first: list[Any] = next(iter(lists.values()), [None])
    if len(lists) == 1 and isinstance(first[0], dict) and shares_by_class(first) is None:
        return first  # beside a summary
    is_row = any(isinstance(value, (int, float)) for value in content.values())
    if len({*map(len, lists.values())}) == 1 < len(first) and not is_row:  # whole columns
        return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
    inner = [value for value in content.values() if isinstance(value, dict)]
    if not lists and len(inner) == 1 and (deeper := _records_of(inner[0])):
        return deeper
    if inner and len(inner) == len(content) and len({tuple(value) for value in inner}) == 1:
        are_columns = all(map(str.isdecimal, inner[0])) or len(inner) < len(inner[0])
        if not are_columns or all(map(str.isdecimal, content)):  # rows by number or name
            return inner
        return [{name: cells[row] for name, cells in content.items()} for row in inner[0]]
    return None


def _is_one_a_line(lines: Sequence[str]) -> bool:
    try:
        head = json.loads(next((line for line in lines if line.strip()), ""))
    except (ValueError, RecursionError):
        return False
    several = sum(bool(line.strip()) for line in lines) > 1
    return isinstance(head, dict) and (several or _records_of(head) is None)


def _json(raw: RawFile, text: str, where: str) -> Any:
    with refusing_damage(raw.name, f"JSON in {where}", ValueError, RecursionError):
        return json.loads(text)


def _record(raw: RawFile, value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InputError(
            f"{where} of '{raw.name}' must be an object with a name for every value; got "
            f"{short(json.dumps(value), 40)}. Save one object a prediction."
        )
    return value
