"""Many Parquet files through a saved recalibrator, by several processes, and on after a stop."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import joblib  # type: ignore[import-untyped]
import pyarrow as pa
import pyarrow.parquet

from lore_core.data.progress import Progress, tell
from lore_core.data.validation import InputError
from lore_core.shipping.files import recalibrate_file

#: Under which name a file says what it was made of.
_MADE_OF = "lore_lens_recalibrated"


@dataclass(frozen=True)
class RecalibratedFiles:
    """What was written."""

    n_rows: int  #: In files written now
    n_written: int
    n_kept: int  #: Files that a former run had written


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
    """Recalibrate every file into one of the same name in a directory.

    Parameters
    ----------
    model : str or Path
        A saved recalibrator.
    sources : sequence of Path
        Parquet files, no two of one name.
    directory : str or Path
        Where to; made if need be. A file that is there and was made of the same source, by the same
        model and with the same ``suffix``, is not made again; another is replaced.
    n_workers : int
        Processes at work, each with ``chunk_rows`` rows in memory.
    chunk_rows, suffix
        See :func:`~lore_core.shipping.files.recalibrate_file`.
    progress : callable, optional
        Called with the share done and a short message; may raise to stop.

    Raises
    ------
    InputError
        If a file cannot be read or written, or a value breaks a rule; the message names the file.
        What other files became is kept, each as a whole or not at all.
    """
    place = Path(directory).expanduser()
    twice = [name for name, n in Counter(path.name for path in sources).items() if n > 1]
    if twice:
        raise InputError(
            f"two of the files are called '{twice[0]}', and cannot both be written to "
            f"'{directory}'. Name those of one directory at a time."
        )
    try:
        place.mkdir(parents=True, exist_ok=True)
        content = Path(model).expanduser().read_bytes()
    except OSError as error:
        raise InputError(f"'{error.filename}' cannot be used: {error.strerror}.") from error
    of_model = hashlib.sha256(content + suffix.encode()).hexdigest()
    made_of = {path: f"{of_model} {_stamp(path)}" for path in sources}
    left = [path for path in sources if _said_by(place / path.name) != made_of[path]]
    n_kept, rows = len(sources) - len(left), 0
    with joblib.Parallel(n_jobs=n_workers, return_as="generator_unordered") as pool:
        jobs = (
            joblib.delayed(recalibrate_file)(
                model,
                path,
                place / path.name,
                chunk_rows=chunk_rows,
                suffix=suffix,
                said={_MADE_OF: made_of[path]},
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


def _said_by(path: Path) -> str | None:
    """Return what a written file says it was made of; None where it says nothing."""
    try:
        about = pa.parquet.read_schema(path).metadata or {}
    except (OSError, pa.ArrowException):
        return None
    said = about.get(_MADE_OF.encode())
    return None if said is None else str(said, "ascii", "replace")
