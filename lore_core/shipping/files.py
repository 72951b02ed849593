"""Files through a saved recalibrator: in chunks, many by several processes."""

import csv
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray

from lore_core.data.arrays import Floats, Ints
from lore_core.data.atomic_files import replaced_at_once
from lore_core.data.errors import listed
from lore_core.data.probabilities import spread_confidence
from lore_core.data.progress import Progress, tell
from lore_core.data.validation import InputError, check_finite, check_integer, repeated
from lore_core.reading.columns import refusing_damage
from lore_core.recalibration.base import Recalibrator
from lore_core.shipping.predictor import Predictor

_SUFFIXES = (".parquet", ".csv")
_SEPARATORS = (",", ";", "\t", "|")
_NUMBERS = (pa.types.is_integer, pa.types.is_decimal, pa.types.is_boolean, pa.types.is_floating)
_CONFIDENCE, _PREDICTION = "confidence", "prediction"
#: Key of a file's metadata that says what it was made of.
_MADE_OF = "lore_lens_recalibrated"
#: Names for P(second class) where that is the only column.
_ALONE = ("p", "prob", "proba", "probability")


@dataclass(frozen=True)
class _Columns:
    """Columns by role; ``probabilities``: one a class, that of ``second``, or none."""

    probabilities: tuple[str, ...]
    second: int | None
    features: tuple[str, ...]
    groups: tuple[str, ...]
    prediction: bool


def recalibrate_file(
    model: Predictor | Recalibrator | str | Path,
    source: str | Path,
    target: str | Path,
    *,
    chunk_rows: int = 50_000,
    suffix: str = "",
    metadata: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> int:
    """Recalibrate the probabilities in a file; memory does not grow with its length.

    Parameters
    ----------
    model : Predictor, Recalibrator, str or Path
        A saved recalibrator, or a fitted one.
    source : str or Path
        ``.parquet`` or ``.csv`` with ``p_<class>`` (of two classes that of the second is enough,
        also as ``p``, ``prob``, ``proba`` or ``probability``) or ``confidence`` and ``prediction``,
        and the features and group columns that the model needs. ``prediction`` is optional beside
        ``p_<class>``.
    target : str or Path
        Where to, of the same kind; an existing file is replaced at the end, or stays if anything
        fails.
    chunk_rows : int
        Rows in memory at a time.
    suffix : str
        Added to the new columns ``p_<class>`` and ``confidence``; without one they replace the old.
    metadata : mapping of str to str, optional
        Metadata for a Parquet file.
    progress : callable, optional
        Called with the share done and a short message; may raise to stop.

    Returns
    -------
    int
        Rows written. Order and all other columns are those of ``source``.

    Raises
    ------
    InputError
        If a column is missing or a value is invalid, with its row, counted from 0.

    Notes
    -----
    The predicted class stays, even where another one becomes more probable. A column ``prediction``
    is added where there is none.
    """
    chunk_rows = check_integer(chunk_rows, "chunk_rows")
    predictor = _as_predictor(model)
    path, out = Path(source).expanduser(), Path(target).expanduser()
    if path.suffix.lower() != out.suffix.lower():
        raise InputError(
            f"'target' must be a {path.suffix or 'named'} file like the source; got '{out.name}'."
        )
    if path.exists() and out.exists() and path.samefile(out):
        raise InputError("'target' must be another file than the source.")
    table = open_table(path)
    columns = _find(predictor, table.columns, table.name)
    done = 0
    with ExitStack() as stack:
        part = stack.enter_context(replaced_at_once(out))
        write = stack.enter_context(table.writer(part, metadata or {}))
        for chunk, share in table.chunks(chunk_rows):
            if len(chunk) == 0:
                continue
            try:
                new = _recalibrated(predictor, columns, chunk, suffix)
            except InputError as error:
                raise InputError(f"'{table.name}': {_counted_on(str(error), done)}") from error
            write(with_columns(chunk, new))
            done += len(chunk)
            tell(progress, share, f"{done:,} rows recalibrated")
        if done == 0:
            raise InputError(f"'{table.name}' has column names but no rows.")
    return done


def _as_predictor(model: Predictor | Recalibrator | str | Path) -> Predictor:
    if isinstance(model, Predictor):
        return model
    return Predictor(model) if isinstance(model, Recalibrator) else Predictor.load(model)


def _find(predictor: Predictor, names: Sequence[str], file: str) -> _Columns:
    classes = [f"p_{name}" for name in predictor.class_names]
    missing = [name for name in classes if name not in names]
    there = [name for name in classes if name in names]
    prediction = _PREDICTION in names
    # Beside a prediction it may be the confidence of that.
    alone = [name for name in _ALONE if name in names]
    second: int | None = None
    if len(there) == len(classes):
        probabilities = tuple(classes)
    elif len(classes) == 2 and len(there) == 1:
        probabilities, second = (there[0],), classes.index(there[0])
    elif len(classes) == 2 and not there and not prediction and alone:
        probabilities, second = (alone[0],), 1
    elif not there and prediction and _CONFIDENCE in names:
        probabilities = ()
    else:
        what = "a column p_<class> for every class of the fit (or 'confidence' and 'prediction')"
        raise _lacks(file, what, missing)
    wanted = predictor.feature_names if predictor.needs_features else ()
    features = tuple(name if name in names else f"f_{name}" for name in wanted)
    missing = [name for name, found in zip(wanted, features, strict=True) if found not in names]
    if missing:
        what = f"the {len(features):,} features the recalibrator was fitted on"
        raise _lacks(file, what, missing)
    groups = predictor.group_columns if predictor.needs_groups else ()
    missing = [name for name in groups if name not in names]
    if missing:
        raise _lacks(file, "the group columns of the fit", missing)
    return _Columns(probabilities, second, features, groups, prediction)


def _lacks(file: str, what: str, missing: Sequence[str]) -> InputError:
    return InputError(f"'{file}' must have {what}; no {listed(map(repr, missing), 6)}.")


def _recalibrated(
    predictor: Predictor, columns: _Columns, chunk: pa.Table, suffix: str
) -> dict[str, NDArray[Any]]:
    classes = np.array(predictor.class_names, dtype=object)
    predicted = _predicted(predictor, chunk) if columns.prediction else None
    given = _probabilities(columns, chunk, predicted, len(classes))
    features = None
    if columns.features:
        features = np.column_stack([numbers(chunk, name) for name in columns.features])
    new = predictor.predict(
        given,
        features,
        {name: texts(chunk, name) for name in columns.groups} or None,
        predictions=predicted,
    )
    if predicted is None:
        predicted = given.argmax(axis=1).astype(np.int64)
    made: dict[str, NDArray[Any]] = {}
    for k, name in enumerate(columns.probabilities):
        column = new[:, k if columns.second is None else columns.second]
        made[f"{name}{suffix}"] = np.ascontiguousarray(column)
    made[f"{_CONFIDENCE}{suffix}"] = new[np.arange(len(new)), predicted]
    if not columns.prediction:
        made[_PREDICTION] = classes[predicted]
    return made


def _predicted(predictor: Predictor, chunk: pa.Table) -> Ints:
    place = {str(name): k for k, name in enumerate(predictor.class_names)}
    names = texts(chunk, _PREDICTION)
    try:
        return np.array([place[name] for name in names], dtype=np.int64)
    except KeyError:
        row = next(row for row, name in enumerate(names) if name not in place)
        raise InputError(
            f"'{_PREDICTION}' must be one of the classes {listed(map(repr, place), 6)}; got "
            f"{names[row]!r} at row {row}."
        ) from None


def _probabilities(
    columns: _Columns, chunk: pa.Table, predicted: Ints | None, n_classes: int
) -> Floats:
    if columns.second is not None:
        one = numbers(chunk, columns.probabilities[0])
        return np.column_stack([1.0 - one, one] if columns.second else [one, 1.0 - one])
    if columns.probabilities:
        return np.column_stack([numbers(chunk, name) for name in columns.probabilities])
    assert predicted is not None  # _find made sure of it
    confidence = numbers(chunk, _CONFIDENCE)
    return spread_confidence(confidence, predicted, n_classes)


def _counted_on(message: str, start: int) -> str:
    """Count rows in a message from the start of the file, not of the chunk."""
    return re.sub(r"\brow (\d+)", lambda found: f"row {int(found[1]) + start}", message)


@dataclass(frozen=True)
class RecalibratedFiles:
    """What was written."""

    n_rows: int  #: In files written now
    n_written: int
    n_kept: int  #: Files that an earlier run had written


def recalibrate_files(
    model: str | Path,
    sources: Sequence[Path],
    directory: str | Path,
    *,
    n_workers: int = 1,
    chunk_rows: int = 50_000,
    suffix: str = "",
    progress: Progress | None = None,
) -> RecalibratedFiles:
    """Recalibrate Parquet files, no two of one name, into files of the same names in a directory.

    A file made of the same source, model and ``suffix`` is kept, another replaced. ``chunk_rows``:
    rows in memory for each of ``n_workers`` processes. Raises InputError, naming the file; files
    that were finished stay.
    """
    import joblib  # type: ignore[import-untyped]

    place = Path(directory).expanduser()
    for twice in repeated(path.name for path in sources):
        raise InputError(
            f"two of the files are called '{twice}', and cannot both be written to "
            f"'{directory}'. Name those of one directory at a time."
        )
    try:
        place.mkdir(parents=True, exist_ok=True)
        content = Path(model).expanduser().read_bytes()
    except OSError as error:
        raise InputError(f"'{error.filename}' cannot be used: {error.strerror}.") from error
    of_model = hashlib.sha256(content + suffix.encode()).hexdigest()
    made_of = {path: f"{of_model} {_stamp(path)}" for path in sources}
    left = [path for path in sources if _made_of(place / path.name) != made_of[path]]
    n_kept, rows = len(sources) - len(left), 0
    with joblib.Parallel(n_jobs=n_workers, return_as="generator_unordered") as pool:
        jobs = (
            joblib.delayed(recalibrate_file)(
                model,
                path,
                place / path.name,
                chunk_rows=chunk_rows,
                suffix=suffix,
                metadata={_MADE_OF: made_of[path]},
            )
            for path in left
        )
        for step, count in enumerate(pool(jobs), start=n_kept + 1):
            rows += count
            tell(progress, step / len(sources), f"{step:,} of {len(sources):,} files written")
    return RecalibratedFiles(rows, len(left), n_kept)


def _stamp(path: Path) -> str:
    try:
        about = path.stat()
    except OSError as error:
        raise InputError(f"'{path.name}' must be a file that exists; there is none.") from error
    return f"{about.st_size} {about.st_mtime_ns}"


def _made_of(path: Path) -> str | None:
    try:
        about = pa.parquet.read_schema(path).metadata or {}
    except (OSError, pa.ArrowException):
        return None
    text = about.get(_MADE_OF.encode())
    return None if text is None else str(text, "ascii", "replace")


@dataclass(frozen=True)
class TableFile:
    """A file of rows, read from its beginning to its end."""

    path: Path
    columns: list[str]
    separator: str | None = None  #: Of CSV, all of it read as text; None: Parquet

    @property
    def name(self) -> str:
        """The file's name, for errors."""
        return self.path.name

    def chunks(self, size: int) -> Iterator[tuple[pa.Table, float]]:
        """Yield tables of ``size`` rows, and the share of the file that is read."""
        with _refusing_damage(self.path):
            yield from self._parquet(size) if self.separator is None else self._csv(size)

    def _parquet(self, size: int) -> Iterator[tuple[pa.Table, float]]:
        done = 0
        # No reading ahead: it would hold whole row groups.
        with pa.parquet.ParquetFile(self.path, pre_buffer=False, buffer_size=2**20) as file:
            for table in _of_size(file.iter_batches(batch_size=size), size):
                done += table.num_rows
                yield table, done / file.metadata.num_rows

    def _csv(self, size: int) -> Iterator[tuple[pa.Table, float]]:
        n_bytes = max(self.path.stat().st_size, 1)
        with self.path.open("rb") as file:
            # All as text, so that other columns are copied unchanged.
            reader = pd.read_csv(
                file,
                sep=self.separator,
                dtype=str,
                na_filter=False,
                index_col=False,
                chunksize=size,
                encoding="utf-8-sig",
            )
            for frame in reader:
                table = pa.Table.from_pandas(frame, preserve_index=False)
                # (Not pandas' metadata: some columns become numbers.)
                yield table.replace_schema_metadata(None), min(file.tell() / n_bytes, 1.0)

    @contextmanager
    def writer(
        self, target: Path, metadata: Mapping[str, str]
    ) -> Iterator[Callable[[pa.Table], None]]:
        """Open a file of the same kind for writing in chunks; ``metadata`` is for Parquet."""
        with ExitStack() as stack:
            out: Any = None

            def write(table: pa.Table) -> None:
                nonlocal out
                is_first = out is None
                if self.separator is not None:
                    out = out or stack.enter_context(target.open("w", encoding="utf-8", newline=""))
                    table.to_pandas().to_csv(out, sep=self.separator, index=False, header=is_first)
                    return
                if is_first:
                    about: dict[Any, Any] = {**(table.schema.metadata or {}), **metadata}
                    schema = table.schema.with_metadata(about)
                    out = stack.enter_context(pa.parquet.ParquetWriter(target, schema))
                out.write_table(table.replace_schema_metadata(out.schema.metadata))

            yield write


def _refusing_damage(path: Path) -> AbstractContextManager[None]:
    errors = (pa.ArrowException, pd.errors.ParserError, OSError, ValueError)
    return refusing_damage(path.name, f"{path.suffix.lower()} file", *errors)


def open_table(path: Path) -> TableFile:
    """Open a .parquet or .csv file; InputError if unreadable or with repeated names."""
    if path.suffix.lower() not in _SUFFIXES:
        raise InputError(
            f"'{path.name}' must be a .parquet or .csv file to be read in chunks; got "
            f"'{path.suffix}'. Save it as one of those."
        )
    if not path.exists():
        raise InputError(f"'{path.name}' must be a file that exists; there is none.")
    with _refusing_damage(path):
        if path.suffix.lower() == ".parquet":
            table = TableFile(path, pa.parquet.read_schema(path).names)
        else:
            table = _open_csv(path)
    for twice in repeated(table.columns):
        raise InputError(f"'{path.name}' has two columns named {twice!r}. Rename one.")
    return table


def _open_csv(path: Path) -> TableFile:
    with path.open(encoding="utf-8-sig", newline="") as file:
        first = file.readline()
        separator = max(_SEPARATORS, key=first.count)
        file.seek(0)
        columns = next(csv.reader(file, delimiter=separator), [])
    if not columns:
        raise InputError(f"'{path.name}' must begin with the names of its columns; it is empty.")
    return TableFile(path, columns, separator)


def numbers(table: pa.Table, name: str) -> Floats:
    """Return a column of finite numbers; InputError naming the row in the chunk."""
    column = table.column(name)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if any(is_number(column.type) for is_number in _NUMBERS):
        found = np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)
    else:
        values = enumerate(column.to_pylist())
        found = np.array([_number(value, name, row) for row, value in values])
    check_finite(found, name)
    return found


def _number(value: object, name: str, row: int) -> float:
    try:
        return float(str(value)) if value is not None and str(value).strip() else np.nan
    except ValueError as error:
        raise InputError(
            f"column '{name}' must hold numbers; got {value!r} at row {row}."
        ) from error


def texts(table: pa.Table, name: str) -> NDArray[np.object_]:
    """Return a column as text."""
    return np.array([str(value) for value in table.column(name).to_pylist()], dtype=object)


def with_columns(table: pa.Table, new: Mapping[str, NDArray[Any]]) -> pa.Table:
    """Put columns of numbers or texts into a table, replacing those of their names."""
    for name, values in new.items():
        column = pa.array(values, pa.float64() if values.dtype.kind == "f" else pa.string())
        index = table.schema.get_field_index(name)
        if index < 0:
            table = table.append_column(name, column)
        else:
            table = table.set_column(index, name, column)
    return table


def _of_size(batches: Iterator[Any], size: int) -> Iterator[Any]:
    """Join the small batches of small row groups."""
    held: list[Any] = []
    for batch in batches:
        held.append(batch)
        if sum(item.num_rows for item in held) >= size:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)
