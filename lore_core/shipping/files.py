"""Files through a saved recalibrator, in chunks."""

import csv
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import partial
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
from lore_core.data.validation import InputError, check_finite, check_integer, check_rows, repeated
from lore_core.kernel_sums.schedule import limited_threads, thread_count
from lore_core.reading.columns import refusing_damage
from lore_core.recalibration.base import Recalibrator
from lore_core.shipping.predictor import Predictor

#: Parts of a chunk that are recalibrated at once; processors beyond these share kernel sums.
_MOST_THREADS = 4
_CONFIDENCE, _PREDICTION, _ABSTAIN = "confidence", "prediction", "abstain"
#: How a CSV is read, so that other columns are copied unchanged.
_AS_TEXT: Any = {"dtype": str, "na_filter": False, "index_col": False, "encoding": "utf-8-sig"}
#: Names for P(second class) where that is the only column.
_ALONE = ("p", "prob", "proba", "probability")


@dataclass(frozen=True)
class _Columns:
    """Columns by role; ``probabilities``: one a class, that of ``second``, or none."""

    probabilities: tuple[str, ...]
    second: int | None
    features: tuple[str, ...]
    prediction: bool


def recalibrate_file(
    model: Predictor | Recalibrator | str | Path,
    source: str | Path,
    target: str | Path,
    *,
    chunk_rows: int = 50_000,
    suffix: str = "",
    progress: Progress | None = None,
) -> int:
    """Recalibrate the probabilities in a file; memory does not grow with its length.

    ``model``: a saved recalibrator, or a fitted one. ``source``: ``.parquet`` or ``.csv`` with
    ``p_<class>`` (of two classes that of the second is enough, also as ``p``, ``prob``, ``proba``
    or ``probability``) or ``confidence`` and ``prediction``, and the features that the model
    needs. ``prediction`` is optional beside ``p_<class>``. ``target``: where to, of the same kind;
    an existing file is replaced at the end, or stays if anything fails. ``chunk_rows``: rows read
    at a time; two chunks are in memory. ``suffix``: added to the new columns ``p_<class>`` and
    ``confidence``; without one they replace the old. ``progress``: called with the share done and a
    short message; may raise to stop.

    Returns the rows written; order and all other columns are those of ``source``. The predicted
    class stays, even where another one becomes more probable; a column ``prediction`` is added
    where there is none, and ``abstain`` (true, false) where the model has a threshold. Raises
    InputError if a column is missing or a value is invalid, with its row, counted from 0.
    """
    chunk_rows = check_integer(chunk_rows, "chunk_rows")
    if isinstance(model, Recalibrator):
        model = Predictor(model)
    predictor = model if isinstance(model, Predictor) else Predictor.load(model)
    path, out = Path(source).expanduser(), Path(target).expanduser()
    if path.suffix.lower() != out.suffix.lower():
        raise InputError(
            f"'target' must be a {path.suffix or 'named'} file like the source; got '{out.name}'."
        )
    if path.exists() and out.exists() and path.samefile(out):
        raise InputError("'target' must be another file than the source.")
    (columns, separator), done = _opened(path), 0
    found = _find(predictor, columns, path.name)
    writer: Any = None
    work = partial(_recalibrated, predictor, found, suffix)
    with ExitStack() as stack:
        part = stack.enter_context(replaced_at_once(out))
        for tasks, share in _in_threads(work, _chunks(path, separator, chunk_rows)):
            made, start = [], done
            for task in tasks:
                try:
                    made.append(task.result())
                except InputError as error:
                    # (Rows count from the start of the file, not of the part of a chunk.)
                    parts = re.split(r"\brow (\d+)", str(error))
                    parts[1::2] = [f"row {int(number) + done}" for number in parts[1::2]]
                    raise InputError(f"'{path.name}': {''.join(parts)}") from error
                done += len(made[-1])
            chunk = pa.concat_tables(made)
            if separator:
                rows = chunk.to_pandas()
                rows.to_csv(part, sep=separator, index=False, mode="a", header=not start)
            else:
                if writer is None:
                    # (Of numbers that hardly repeat, dictionaries are most of the time of writing.)
                    few = [of.name for of in chunk.schema if not pa.types.is_floating(of.type)]
                    writer = pa.parquet.ParquetWriter(part, chunk.schema, use_dictionary=few)
                    stack.enter_context(writer)
                writer.write_table(chunk)
            tell(progress, share, f"{done:,} rows recalibrated")
        if not done:
            raise InputError(f"'{path.name}' has no rows.")
    return done


def _in_threads(
    work: Callable[[pa.Table], pa.Table], chunks: Iterator[tuple[pa.Table, float]]
) -> Iterator[tuple[list[Future[pa.Table]], float]]:
    """Yield what threads make of the parts of each chunk, while they begin the next; share read."""
    available, begun = thread_count(None), deque[tuple[list[Future[pa.Table]], float]]()
    threads = min(available, _MOST_THREADS)
    with limited_threads(available // threads), ThreadPoolExecutor(threads) as pool:
        try:
            for chunk, share in chunks:
                if size := -(-len(chunk) // threads):
                    parts = (chunk.slice(start, size) for start in range(0, len(chunk), size))
                    begun.append(([pool.submit(work, part) for part in parts], share))
                if len(begun) > 1:
                    yield begun.popleft()
            yield from begun
        finally:  # what has not begun is not waited for
            pool.shutdown(cancel_futures=True)


def _with_columns(table: pa.Table, new: Mapping[str, NDArray[Any]]) -> pa.Table:
    """Put columns of numbers, texts or marks into a table, replacing those of their names."""
    kinds = {"f": pa.float64(), "b": pa.bool_()}
    for name, values in new.items():
        column = pa.array(values, kinds.get(values.dtype.kind, pa.string()))
        index = table.schema.get_field_index(name)
        if index < 0:
            table = table.append_column(name, column)
        else:
            table = table.set_column(index, name, column)
    return table


def _find(predictor: Predictor, names: Sequence[str], file: str) -> _Columns:
    classes = [f"p_{name}" for name in predictor.class_names]
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
        raise _lacks(file, what, [name for name in classes if name not in names])
    wanted = predictor.feature_names if predictor.needs_features else ()
    features = tuple(name if name in names else f"f_{name}" for name in wanted)
    if missing := [name for name in features if name not in names]:
        what = f"the {len(features):,} features the recalibrator was fitted on"
        raise _lacks(file, what, [name.removeprefix("f_") for name in missing])
    return _Columns(probabilities, second, features, prediction)


def _lacks(file: str, what: str, missing: Sequence[str]) -> InputError:
    return InputError(f"'{file}' must have {what}; no {listed(map(repr, missing), 6)}.")


def _recalibrated(
    predictor: Predictor, columns: _Columns, suffix: str, chunk: pa.Table
) -> pa.Table:
    classes = np.array(predictor.class_names, dtype=object)
    predicted = _predicted(predictor, chunk) if columns.prediction else None
    given = np.column_stack([_numbers(chunk, of) for of in columns.probabilities or [_CONFIDENCE]])
    if not columns.probabilities:
        assert predicted is not None  # _find made sure of it
        given = spread_confidence(given[:, 0], predicted, len(classes))
    elif columns.second is not None:
        given = np.column_stack([1.0 - given, given] if columns.second else [given, 1.0 - given])
    features = None
    if columns.features:
        features = np.column_stack([_numbers(chunk, name) for name in columns.features])
    new = predictor.predict(given, features, predictions=predicted)
    if predicted is None:
        predicted = given.argmax(axis=1).astype(np.int64)
    made: dict[str, NDArray[Any]] = {}
    for k, name in enumerate(columns.probabilities):
        column = new[:, k if columns.second is None else columns.second]
        made[f"{name}{suffix}"] = np.ascontiguousarray(column)
    made[f"{_CONFIDENCE}{suffix}"] = confidence = new[np.arange(len(new)), predicted]
    if predictor.answer_threshold is not None:
        made[f"{_ABSTAIN}{suffix}"] = predictor.answer_threshold.abstains(confidence)
    if not columns.prediction:
        made[_PREDICTION] = classes[predicted]
    return _with_columns(chunk, made)


def _predicted(predictor: Predictor, chunk: pa.Table) -> Ints:
    place = {str(name): k for k, name in enumerate(predictor.class_names)}
    names = [str(value) for value in chunk.column(_PREDICTION).to_pylist()]
    codes = np.array([place.get(name, -1) for name in names], dtype=np.int64)
    rule = f"be one of the classes {listed(map(repr, place), 6)}"
    check_rows(codes < 0, _PREDICTION, rule, lambda row: repr(names[row]))
    return codes


def _chunks(path: Path, separator: str, size: int) -> Iterator[tuple[pa.Table, float]]:
    """Yield tables of ``size`` rows of a CSV or, without separator, Parquet file; share read."""
    with _refusing_damage(path), path.open("rb") as stream:
        if not separator:
            # No reading ahead: it would hold whole row groups.
            with pa.parquet.ParquetFile(stream, pre_buffer=False, buffer_size=2**20) as file:
                done = 0
                for batch in file.iter_batches(batch_size=size):
                    done += batch.num_rows
                    yield pa.Table.from_batches([batch]), done / file.metadata.num_rows
            return
        reader = pd.read_csv(stream, sep=separator, chunksize=size, **_AS_TEXT)
        n_bytes = max(path.stat().st_size, 1)
        for frame in reader:
            table = pa.Table.from_pandas(frame, preserve_index=False)
            # (Not pandas' metadata: some columns become numbers.)
            yield table.replace_schema_metadata(None), min(stream.tell() / n_bytes, 1.0)


def _refusing_damage(path: Path) -> AbstractContextManager[None]:
    errors = (pa.ArrowException, pd.errors.ParserError, OSError, ValueError)
    return refusing_damage(path.name, f"{path.suffix.lower()} file", *errors)


def _opened(path: Path) -> tuple[list[str], str]:
    """Return a file's columns and the separator of a CSV; InputError if it cannot be read."""
    if path.suffix.lower() not in (".parquet", ".csv"):
        raise InputError(f"'{path.name}' must be a .parquet or .csv file. Save it as one of those.")
    if not path.exists():
        raise InputError(f"'{path.name}' must be a file that exists; there is none.")
    separator = ""
    with _refusing_damage(path):
        if path.suffix.lower() == ".parquet":
            columns = pa.parquet.read_schema(path).names
        else:
            with path.open(encoding="utf-8-sig", newline="") as file:
                first = file.readline()
                separator = max(",;\t|", key=first.count)
                file.seek(0)
                columns = next(csv.reader(file, delimiter=separator), [])
    if not columns:
        raise InputError(f"'{path.name}' must begin with the names of its columns; it is empty.")
    for twice in repeated(columns):
        raise InputError(f"'{path.name}' has two columns named {twice!r}. Rename one.")
    return columns, separator


def _numbers(table: pa.Table, name: str) -> Floats:
    """Return a column of finite numbers; InputError naming the row in the chunk."""
    column = table.column(name).to_pandas()
    if not pd.api.types.is_numeric_dtype(column):
        texts = column.where(column.notna(), "").astype(str).str.strip()
        column = pd.to_numeric(texts, errors="coerce")
        bad = (column.isna() & (texts != "")).to_numpy()
        check_rows(bad, name, "hold numbers", lambda row: repr(texts[row]))
    found = np.asarray(column, dtype=np.float64)
    check_finite(found, name)
    return found
