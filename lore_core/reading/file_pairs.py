"""Which files belong together: calibration and test halves of a run, and images beside them."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lore_core.data.dataset import CALIBRATION, EVALUATION
from lore_core.data.errors import InputError, as_path
from lore_core.reading.arrow_tables import is_saved_dict, splits_of
from lore_core.reading.formats import SUFFIXES, rank_of
from lore_core.reading.raw_file import RawFile, check_parts, is_saved_dataset, raw_file
from lore_core.reading.roles import SPLIT_WORDS

_HALVES = [word for word, split in SPLIT_WORDS.items() if split in (CALIBRATION, EVALUATION)]
_TOKEN = re.compile(
    rf"(?:^|(?<=[_\-. ]))({'|'.join(map(re.escape, _HALVES))})(?=$|[_\-. ])", re.IGNORECASE
)
#: Run and suffix to its two halves, and the files without a partner.
_Pairs = tuple[dict[tuple[str, str], tuple[RawFile, RawFile]], list[RawFile]]


@dataclass(frozen=True)
class Half:
    """The run a file name belongs to and, perhaps, which half it is."""

    run: str
    split: str | None


def half_of(name: str, *, anywhere: bool = False) -> Half:
    """Parse ``digits_cal`` as a half of ``digits``: last split word, at an end or ``anywhere``."""
    stem = Path(name).stem
    fits = [
        match
        for match in _TOKEN.finditer(stem)
        if anywhere or match.end() == len(stem) or match.start() == 0
    ]
    if not fits:
        return Half(stem, None)
    last = fits[-1]
    run = (stem[: last.start()] + stem[last.end() :]).strip("_-. ")
    return Half(run, SPLIT_WORDS[last[1].lower()])


def sources_of(source: Any) -> list[RawFile]:
    """Return the files behind a path, an upload, a sequence of these, or a directory."""
    if isinstance(source, (list, tuple)):
        if not source:
            raise InputError("there is no file to read: the list of sources is empty.")
        return [raw_file(item) for item in source]
    if isinstance(source, (str, os.PathLike)) and (folder := as_path(source)).is_dir():
        if is_saved_dict(folder):
            return splits_of(folder)
        return [raw_file(folder)] if is_saved_dataset(folder) else in_directory(folder)
    return [raw_file(source)]


def in_directory(directory: Path) -> list[RawFile]:
    """Return the files of a directory that holds one pair or one file (and images, perhaps)."""
    files = _readable(directory)
    if not files:
        raise InputError(
            f"'{directory}' holds no readable file. These can be read: {', '.join(SUFFIXES)}."
        )
    check_parts(f"'{directory}'", [file.name for file in files])
    if len(files) == 1:
        return files
    pairs, rest = _paired(files)
    if len(pairs) == 1 and len(rest) <= 1 and not any(half_of(file.name).split for file in rest):
        return [*next(iter(pairs.values())), *rest]
    raise InputError(
        f"'{directory}' holds {len(files)} files, which are more than one pair. Name the files to "
        "read, or read every run with load_runs."
    )


def runs_in(source: Any) -> dict[str, tuple[RawFile, ...]]:
    """Return run name to its files: a calibration and a test file, or one file with a split.

    Of a directory every pair, or without pairs every file; of files given one by one all.
    """
    are_given = isinstance(source, (list, tuple))
    if are_given:
        files, where, unnamed = [raw_file(item) for item in source], "the files given", "run"
    else:
        path = as_path(source)
        if not path.is_dir():
            raise InputError(f"'{path}' is not a directory. Use load for a file.")
        files, where, unnamed = _readable(path), f"'{path}'", path.name
    pairs, rest = _paired(files)
    _check_halves(pairs, rest, where)
    if not files:
        raise InputError(
            "there is no run to read: no file was given."
            if are_given
            else f"{where} holds no pair of files such as run1_cal.npz and run1_test.npz, and no "
            "other file of predictions."
        )
    chosen: dict[str, tuple[RawFile, ...]] = {}
    for (run, _), pair in sorted(pairs.items(), key=lambda item: (item[0][0], rank_of(item[0][1]))):
        chosen.setdefault(run or unnamed, pair)
    # Beside pairs of a directory a lone file may be anything.
    alone = rest if are_given or not pairs else []
    for file in sorted(alone, key=lambda file: (file.name, rank_of(file.suffix))):
        chosen.setdefault(file.stem, (file,))
    return dict(sorted(chosen.items()))


def _check_halves(
    pairs: dict[tuple[str, str], tuple[RawFile, RawFile]], rest: Sequence[RawFile], where: str
) -> None:
    names = {run for run, _ in pairs}
    for file in rest:
        half = half_of(file.name)
        if half.split is not None and half.run not in names:
            other = "test" if half.split == CALIBRATION else "calibration"
            raise InputError(
                f"'{file.name}' has no {other} file beside it in {where}. Add it, or remove this "
                "file."
            )


def _readable(directory: Path) -> list[RawFile]:
    # Text files beside data are notes; hidden files are no data.
    suffixes = set(SUFFIXES) - {".txt"}
    return [
        raw_file(path)
        for path in sorted(directory.iterdir())
        if path.is_file() and path.suffix.lower() in suffixes and not path.name.startswith(".")
    ]


def _paired(files: Sequence[RawFile]) -> _Pairs:
    halves: dict[tuple[str, str, str], RawFile] = {}
    for file in files:
        half = half_of(file.name)
        if half.split is None:
            continue
        other = halves.setdefault((half.run, file.suffix, half.split), file)
        if other is not file:
            raise InputError(
                f"'{other.name}' and '{file.name}' are both the same half of one run. Name the "
                "files to read."
            )
    pairs = {
        (run, suffix): (file, halves[run, suffix, EVALUATION])
        for (run, suffix, split), file in halves.items()
        if split == CALIBRATION and (run, suffix, EVALUATION) in halves
    }
    used = {file for pair in pairs.values() for file in pair}
    return pairs, [file for file in files if file not in used]
