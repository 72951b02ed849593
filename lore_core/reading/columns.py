"""Named columns, loaded when asked for: what every file format is turned into first."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lore_core.data.arrays import Ints, Mask
from lore_core.data.errors import counted, listed, short
from lore_core.data.validation import InputError, repeated
from lore_core.reading.raw_file import RawFile

_MAX_COLUMNS = 10_000
#: Largest declared size that is read (against zip bombs).
MAX_BYTES = 8 * 2**30
#: Deepest nesting of records.
_MAX_DEPTH = 4
#: Keys of class and probability in lists of both, as of BigQuery and Hugging Face pipelines.
_CLASS_KEYS = (
    ("label", "class", "class_name", "classname", "name", "tagname", "category", "category_name"),
    ("prob", "probability", "score", "confidence", "confidencescore", "class_probability", "value"),
)
#: What lists of the classes' names are called.
CLASS_LISTS = ("class_names", "classes", "classes_", "vocab")
#: Keys of a list of classes, and of one of their probabilities, as of Vertex AI.
_LISTED_CLASSES = ("classes", "labels", "displayNames"), ("scores", "probabilities", "confidences")
#: Longest sparse vector that is filled with zeros: more would be much from a small file.
_MAX_SPARSE = 1000
#: Texts that lists or objects may be, and lists as of Python, numpy, PyTorch and PostgreSQL.
_NESTED = re.compile(r"\s*(?:(?:array|tensor)\()?[\[{(]|\s*\d?\.\d+(?:e-\d+)?[ ,;|]+\d?\.\d")
_LIST = re.compile(
    r"\s*(?:\w+\()?[\[({]?([\s\d.,;|eE+-]*\d[\s\d.,;|eE+-]*)[\])}]?(?:, dtype=[\w.]+)?\)?\s*"
)
_NUMPY_NUMBER = re.compile(r"np\.float\d+\(([^()]*)\)")
#: Values of a column: one a row, or a matrix.
_Values: TypeAlias = "pd.Series[Any] | NDArray[Any]"
#: What a column holds, as far as the file says.
Kind = Literal["whole", "number", "text", "bool", "date", "other"]
_KINDS: dict[str, Kind] = {
    "b": "bool",
    "f": "number",
    **dict.fromkeys("iu", "whole"),
    **dict.fromkeys("mM", "date"),
    **dict.fromkeys("OSU", "text"),
}


@dataclass(frozen=True, eq=False)
class Columns:
    """The named columns (or arrays) of one file."""

    file: str  #: File name in sentences, without folders
    format: str  #: ``"NPZ"``, ``"CSV"``, ``"Parquet"`` or ``"Feather"``
    #: Shape of every column, in file order: (n,), of list columns (n, m).
    shapes: Mapping[str, tuple[int, ...]]
    kinds: Mapping[str, Kind]
    load: Callable[[str], Any]  #: Name to values: a Series for shape (n,), else an array
    #: Columns of a 2-D array, to the array's name (``race`` of ``groups``).
    parents: Mapping[str, str] = field(default_factory=dict)
    #: Class names, and names of the columns of ``features``, that the file holds.
    class_names: tuple[str, ...] | None = None
    feature_names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()  #: What was done while opening it, as sentences
    #: How sentences name a 0-based data row, where that is more than its number.
    locate: Callable[[int], str] | None = None
    incomplete: str = ""  #: Why rows may be missing, as a sentence

    @property
    def names(self) -> tuple[str, ...]:
        """Every column, in file order."""
        return tuple(self.shapes)

    @property
    def unit(self) -> str:
        """``"array"`` or ``"column"``."""
        return "array" if self.format == "NPZ" else "column"

    def flat(self, name: str) -> bool:
        """Whether a column holds one value a row, perhaps as an (n, 1) array."""
        return self.shapes[name][1:] in ((), (1,))

    def called(self, name: str, *others: str) -> str:
        """Return the column's name in sentences: ``column 'p_1' of 'runs.csv'``."""
        if others:
            return f"{self.unit}s {listed((name, *others), 6)} of '{self.file}'"
        parent = self.parents.get(name)
        inner = f" ('{short(name)}')" if parent else ""
        return f"{self.unit} '{parent or short(name)}'{inner} of '{self.file}'"

    def where(self, row: int) -> str:
        """Return a 0-based data row's name in sentences, with its line or file."""
        return f"row {row}" if self.locate is None else self.locate(row)

    def series(self, name: str) -> pd.Series[Any]:
        """Return one value a row; InputError if the column has another shape."""
        values = self.load(name)
        if not isinstance(values, pd.Series):
            if values.ndim == 2 and values.shape[1] == 1:
                return pd.Series(values[:, 0])
            raise InputError(f"{self.called(name)} must hold one value a row; got {values.shape}.")
        return values

    def take(self, rows: Ints, n_rows: int) -> Columns:
        """Return columns in some of ``n_rows`` (−1: missing); arrays of another length stay."""

        def load(name: str) -> Any:
            values = self.load(name)
            if len(values) != n_rows:
                return values
            if isinstance(values, pd.Series):
                return values.reset_index(drop=True).reindex(rows).reset_index(drop=True)
            return values[rows]

        shapes = {
            name: (len(rows), *shape[1:]) if shape[:1] == (n_rows,) else shape
            for name, shape in self.shapes.items()
        }
        return replace(self, shapes=shapes, load=load, locate=lambda k: self.where(int(rows[k])))

    def joined(self, other: Columns, names: Sequence[str]) -> Columns:
        """Return these columns with those of another file, of as many rows, that are new."""
        added = [name for name in names if name not in self.shapes]
        return replace(
            self,
            shapes={**self.shapes, **{name: other.shapes[name] for name in added}},
            kinds={**self.kinds, **{name: other.kinds[name] for name in added}},
            parents={**self.parents, **{k: v for k, v in other.parents.items() if k in added}},
            load=lambda name: (other if name in added else self).load(name),
            feature_names=self.feature_names or other.feature_names,
        )

    def check(
        self,
        name: str | Sequence[str],
        bad: Mask,
        rule: str,
        fix: str,
        got: str | Callable[[int], str] = "",
        within: str = "",
    ) -> None:
        """Raise InputError at the first row of the mask ``bad``: the rule, its value and where."""
        if bad.any():
            row = int(bad.argmax())
            names = (name,) if isinstance(name, str) else name
            got = got(row) if callable(got) else got or _cell_text(self.series(names[0]).iloc[row])
            raise InputError(
                f"{self.called(*names)} must {rule}; got {got} at {self.where(row)}{within} "
                f"({counted(int(bad.sum()), 'such row')}). {fix}"
            )

    def check_cells(
        self, names: Sequence[str], matrix: NDArray[Any], bad: Mask, rule: str, fix: str
    ) -> None:
        """Raise InputError at the first bad cell of columns side by side, as of :meth:`matrix`."""
        if not bad.any():
            return
        wrong = np.asarray(bad.any(axis=1))
        row = int(wrong.argmax())
        cell = int(bad[row].argmax())
        value = matrix[row, cell]
        columns = [(name, k) for name in names for k in range(self.width(name))]
        name, number = columns[cell]
        within = f", column {number}" if len(self.shapes[name]) > 1 else ""
        got = "a missing value (NaN)" if np.isnan(value) else f"{value:.6g}"
        self.check(name, wrong, rule, fix, got, within)

    def width(self, name: str) -> int:
        """How many numbers a row of the column holds."""
        return int(np.prod(self.shapes[name][1:]))

    def matrix(self, names: Sequence[str], dtype: type[np.float64] | None = None) -> NDArray[Any]:
        """Return columns side by side, held once; by default float32 where exact, else float64."""
        matrix: NDArray[Any] = np.empty((0, 0), dtype=dtype or np.float32)
        start = 0
        for name in names:
            values = self.numbers(name)
            values = values.reshape(len(values), -1)
            exact = np.float32 if np.can_cast(values.dtype, np.float32) else np.float64
            kind = np.result_type(matrix.dtype, dtype or exact)
            if len(names) == 1:
                return np.asarray(values, dtype=kind)
            if start == 0:
                matrix = np.empty((len(values), sum(map(self.width, names))), dtype=kind)
            matrix = matrix.astype(kind, copy=False)
            matrix[:, start : start + values.shape[1]] = values
            start += values.shape[1]
        return matrix

    def numbers(self, name: str) -> NDArray[Any]:
        """Return the values as numbers; missing ones are NaN, text is refused."""
        values = self.load(name)
        if isinstance(values, pd.Series):
            return self._numeric(values, name)
        if values.dtype.kind not in "biuf":
            raise InputError(
                f"{self.called(name)} must hold numbers only; got {values.dtype}. Encode it first."
            )
        return np.asarray(values)

    def _numeric(self, values: pd.Series[Any], name: str) -> NDArray[Any]:
        if isinstance(values.dtype, np.dtype) and values.dtype.kind in "biuf":
            return values.to_numpy()
        if pd.api.types.is_numeric_dtype(values.dtype):
            return values.to_numpy(dtype=np.float64, na_value=np.nan)
        texts = values.astype(object)
        numbers = pd.to_numeric(texts, errors="coerce")
        bad = (numbers.isna() & texts.notna()).to_numpy()
        if bad.all() and texts.astype(str).str.fullmatch(r"\s*(\d+[.,]?\d*|\.\d+)\s*%\s*").all():
            shares = texts.astype(str).str.rstrip("% ").str.replace(",", ".")
            return shares.astype(np.float64).to_numpy() / 100
        if bad.any():
            fix = "Correct it (decimals with a point), or give the column another role."
            self.check(name, bad, "hold numbers only", fix, short(repr(texts[bad].iloc[0])))
        return numbers.to_numpy(dtype=np.float64)


def label_text(value: Any) -> str:
    """Return a label as text: whole numbers without decimals."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace").strip()
    return str(value).strip()


def _cell_text(value: Any) -> str:
    if pd.isna(value) is True:
        return "nothing"
    value = value.item() if isinstance(value, np.generic) else value
    return short(f"{value:g}" if isinstance(value, float) else repr(value))


def columns_of_records(raw: RawFile, records: Iterable[Mapping[str, Any]], **more: Any) -> Columns:
    """Return columns of records: nested values as ``metrics.acc``, equal lists as a matrix."""
    flat = [list(_flat(record)) for record in records]
    rows = [dict(pairs) for pairs in flat]
    for pairs, row in zip(flat, rows, strict=True):
        if len(row) < len(pairs):
            check_table(raw.name, [name for name, _ in pairs], len(rows))
    names = list(dict.fromkeys(itertools.chain.from_iterable(rows)))
    check_table(raw.name, names, len(rows))
    values: dict[str, _Values] = {}
    nested = set()
    for name in names:
        cells = [row.get(name) for row in rows]
        matrix = _matrix(cells)
        values[name] = pd.Series(cells, dtype=object).infer_objects() if matrix is None else matrix
        if matrix is None and any(isinstance(cell, (list, dict)) for cell in cells):
            nested.add(name)
    made = _columns_of_values(raw, "JSON", values, **more)
    return replace(made, kinds={**made.kinds, **dict.fromkeys(nested, "other")})


def columns_of_frame(raw: RawFile, what: str, frame: pd.DataFrame, **more: Any) -> Columns:
    """Return the columns of a table in memory; ``what``: its format, ``more``: what is known."""
    names = [str(name) for name in frame.columns]
    check_table(raw.name, names, 0 if frame.empty else len(frame))
    values = {name: frame.iloc[:, k].infer_objects() for k, name in enumerate(names)}
    return _columns_of_values(raw, what, values, **more)


def may_be_nested(text: Any) -> bool:
    """Return whether a cell is a text that a list or an object may be written as."""
    return isinstance(text, str) and _NESTED.match(text) is not None


def _parsed(text: str) -> Any:
    """Parse a text as a list of numbers, ``[0.1, 0.9]``, or as JSON, perhaps in single quotes."""
    numbers = _LIST.fullmatch(_NUMPY_NUMBER.sub(r"\1", text))
    if numbers:
        return [*map(float, re.split(r"[\s,;|]+", numbers[1].strip(" ,\n")))]
    return json.loads(text.replace("'", '"'))


def _written_in(raw: RawFile, name: str, cells: _Values) -> Columns | None:
    """Return what all texts of a column write, in lists or by name, if there are numbers in it."""
    is_text = isinstance(cells, pd.Series) and kind_of_dtype(cells.dtype) == "text"
    if is_text and all(map(may_be_nested, cells)):
        with suppress(ValueError, RecursionError):
            found = columns_of_records(raw, [{name: _parsed(text)} for text in cells])
            kinds = {*found.kinds.values()}
            return found if {"text"} != kinds <= {"number", "whole", "text"} else None
    return None


def _columns_of_values(
    raw: RawFile, kind: str, values: Mapping[str, _Values], **more: Any
) -> Columns:
    nested = {name: _written_in(raw, name, cells) for name, cells in values.items()}
    shapes = {name: known.shape for name, known in values.items() if nested[name] is None}
    kinds = {name: kind_of_dtype(values[name].dtype) for name in shapes}
    made = Columns(raw.name, kind, shapes, kinds, values.__getitem__, **more)
    for inner in filter(None, nested.values()):
        made = made.joined(inner, inner.names)
    return made


def _flat(record: Mapping[str, Any], prefix: str = "", depth: int = 1) -> Iterator[tuple[str, Any]]:
    listed_classes = _listed_classes(record)
    yield from listed_classes.items()
    for name, value in record.items():
        if (vector := _vector_of_spark(value)) is not None:
            yield f"{prefix}{name}", vector
        elif listed_classes and any(name in keys for keys in _LISTED_CLASSES):
            continue
        elif (shares := shares_by_class(value)) is not None:
            yield from shares.items()
        elif isinstance(value, dict) and depth < _MAX_DEPTH:
            yield from _flat(value, f"{prefix}{name}.", depth + 1)
        else:
            yield f"{prefix}{name}", value


def _vector_of_spark(value: Any) -> Any:
    """Return what a dense or a sparse vector of Spark holds; None of anything else."""
    match value:
        case {"type": 1, "values": dense}:
            return dense
        case {"type": 0, "size": int(n), "indices": list(at), "values": list(numbers)}:
            known = dict(zip(map(str, at), numbers, strict=False))
            vector = [known.pop(str(index), 0.0) for index in range(min(n, _MAX_SPARSE))]
            return vector if n <= _MAX_SPARSE and not known and len(at) == len(numbers) else None
    return None


def shares_by_class(value: Any) -> dict[str, Any] | None:
    """Return ``[{"label": "cat", "prob": 0.9}, …]`` as column to value; None of anything else."""
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        return None
    keys = {tuple(sorted(item)) for item in value}
    names = keys.pop() if len(keys) == 1 else ()
    label, share = (next((n for n in names if n.lower() in k), "") for k in _CLASS_KEYS)
    shares = {f"p_{item[label]}": item[share] for item in value} if label and share else {}
    # (With more in each, or called a value, they may be of anything, unless they sum to 1.)
    numbers = [v for v in shares.values() if isinstance(v, (int, float))]
    is_pair = len(names) == 2 and share.lower() != "value"
    is_clear = is_pair or abs(sum(numbers) - 1) < 0.02
    return shares if shares and is_clear and len(shares) == len(value) else None


def _listed_classes(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``{"classes": ["cat", …], "scores": [0.9, …]}`` as column to value."""
    names, shares = (next((record[k] for k in keys if k in record), 0) for keys in _LISTED_CLASSES)
    if not isinstance(names, list) or not isinstance(shares, list) or len(names) != len(shares):
        return {}
    found = {f"p_{name}": share for name, share in zip(names, shares, strict=True)}
    return found if 1 < len(found) == len(names) else {}


def _matrix(cells: list[Any]) -> NDArray[Any] | None:
    """Return lists of numbers of one length as a matrix, else None."""
    first = cells[0]
    if not isinstance(first, list) or not first:
        return None
    plain = all(
        isinstance(cell, list)
        and len(cell) == len(first)
        and all(isinstance(item, (int, float)) for item in cell)
        for cell in cells
    )
    return np.array(cells) if plain else None


@contextmanager
def refusing_damage(file: str, what: str, *errors: type[Exception]) -> Iterator[None]:
    """Turn errors of a damaged file into InputError; ``what`` is the kind it should be."""
    try:
        yield
    except InputError:
        raise
    except errors as error:
        raise damaged(file, what, error) from error


def damaged(file: str, what: str, error: BaseException) -> InputError:
    """Return the error that a file is damaged; ``what`` is the kind it should be."""
    reason = short(error).rstrip(".") or type(error).__name__
    return InputError(f"'{file}' is damaged or no {what} ({reason}). Copy or save it again.")


def check_table(file: str, names: Sequence[Any], n_rows: int) -> None:
    """Refuse a table without rows, with too many columns, or with a repeated name."""
    if len(names) > _MAX_COLUMNS:
        raise InputError(
            f"'{file}' has {len(names):,} columns, more than the {_MAX_COLUMNS:,} that are read. "
            "Save features as one array of an .npz."
        )
    if twice := listed(map(repr, repeated(names)), 5):
        raise InputError(f"'{file}' has two columns named {twice}. Rename one.")
    if n_rows == 0:
        raise InputError(f"'{file}' has no rows. Save it again with data.")


def check_size(file: str, n_bytes: int) -> None:
    """Refuse a file that declares more bytes than are read."""
    if n_bytes > MAX_BYTES:
        raise InputError(
            f"'{file}' declares more than the {MAX_BYTES / 2**30:.3g} GiB that are read. Save "
            "fewer rows or columns, or float32."
        )


def kind_of_dtype(dtype: Any) -> Kind:
    """Return what a numpy or pandas dtype holds."""
    if isinstance(dtype, pd.CategoricalDtype):
        return kind_of_dtype(dtype.categories.dtype)
    return _KINDS.get(dtype.kind, "other")
