"""Which files belong together: calibration and test halves of one run, and images beside them."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lore_core.data.dataset import CALIBRATION, EVALUATION
from lore_core.data.validation import InputError
from lore_core.reading.formats import SUFFIXES, rank_of
from lore_core.reading.guess import SPLIT_WORDS
from lore_core.reading.raw_file import RawFile, check_parts, is_saved_dataset, raw_file
from lore_core.reading.saved_datasets import is_saved_dict, splits_of

_CALIBRATION = "calibration|calib|cal|validation|valid|val|dev"
_EVALUATION = "evaluation|eval|test|holdout"
_TOKEN = re.compile(
    rf"(?:^|(?<=[_\-. ]))(?:(?P<cal>{_CALIBRATION})|(?P<test>{_EVALUATION}))(?=$|[_\-. ])",
    re.IGNORECASE,
)
#: Both know their name and suffix.
_File = Path | RawFile


@dataclass(frozen=True)
class Half:
    """What a file name says: the run it belongs to and, perhaps, which half it is."""

    run: str
    split: str | None


def half_of(name: str, *, anywhere: bool = False) -> Half:
    """Read ``digits_cal`` as the calibration half of ``digits``; the last such word counts.

    Words: cal, calib, calibration, val, valid, validation, dev; test, eval, evaluation, holdout;
    at the end or at the beginning of the name, or ``anywhere`` in it.
    """
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
    return Half(run, CALIBRATION if last["cal"] else EVALUATION)


def sources_of(source: Any) -> list[RawFile]:
    """Return the files behind a path, an upload, a sequence of these, or a directory.

    Raises InputError if there is nothing to read, or a directory holds several runs.
    """
    if isinstance(source, (list, tuple)):
        if not source:
            raise InputError("there is no file to read: the list of sources is empty.")
        return [raw_file(item) for item in source]
    if isinstance(source, (str, os.PathLike)) and Path(source).expanduser().is_dir():
        folder = Path(source).expanduser()
        if is_saved_dict(folder):
            return splits_of(folder, SPLIT_WORDS)
        return [raw_file(folder)] if is_saved_dataset(folder) else in_directory(folder)
    return [raw_file(source)]


def in_directory(directory: Path) -> list[RawFile]:
    """Return the files of a directory that holds one pair or one file (and images, perhaps)."""
    files = _readable(directory)
    if not files:
        raise InputError(
            f"'{directory}' holds no readable file. These can be read: {', '.join(SUFFIXES)}."
        )
    check_parts(f"'{directory}'", [path.name for path in files])
    if len(files) == 1:
        return [raw_file(files[0])]
    pairs, rest = _paired(files)
    if len(pairs) == 1 and not any(half_of(path.name).split for path in rest) and len(rest) <= 1:
        return [raw_file(path) for path in (*next(iter(pairs.values())), *rest)]
    raise InputError(
        f"'{directory}' holds {len(files)} files, which are more than one pair. Name the files to "
        "read, or read every run with load_runs."
    )


def runs_in(source: Any) -> dict[str, tuple[RawFile, ...]]:
    """Return run name to its files: a calibration and a test file, or one file with a split.

    Of a directory every pair; where there is none, every file is a run. Files given one by one are
    all runs: pairs where two names belong together, else each alone. Raises InputError if there is
    no run, or a file lacks its other half.
    """
    if isinstance(source, (list, tuple)):
        files: list[_File] = [raw_file(item) for item in source]
        pairs, rest = _paired(files)
        _check_halves(pairs, rest, "the files given")
        alone = rest
        fallback = "run"
    else:
        path = Path(source).expanduser()
        if not path.is_dir():
            raise InputError(f"'{path}' is not a directory. Use load for a file.")
        files = [*_readable(path)]
        pairs, rest = _paired(files)
        _check_halves(pairs, rest, f"'{path}'")
        # Beside pairs a lone file may be anything; without any pair the files are what there is.
        alone = [] if pairs else rest
        fallback = path.name
        if not files:
            raise InputError(
                f"'{path}' holds no pair of files such as run1_cal.npz and run1_test.npz, and no "
                "other file of predictions."
            )
    chosen: dict[str, tuple[_File, ...]] = {}
    ordered = sorted(pairs.items(), key=lambda item: (item[0][0], rank_of(item[0][1])))
    for (run, _), pair in ordered:
        chosen.setdefault(run or fallback, pair)
    for file in sorted(alone, key=lambda item: (item.name, rank_of(item.suffix.lower()))):
        chosen.setdefault(Path(file.name).stem, (file,))
    if not chosen:
        raise InputError("there is no run to read: no file was given.")
    return {run: tuple(map(raw_file, found)) for run, found in sorted(chosen.items())}


def _check_halves(
    pairs: dict[tuple[str, str], tuple[_File, _File]], rest: Sequence[_File], where: str
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


def _readable(directory: Path) -> list[Path]:
    # Text files beside data are notes; hidden files are nobody's data.
    return sorted(
        path
        for path in directory.iterdir()
        if path.is_file()
        and path.suffix.lower() in SUFFIXES
        and path.suffix.lower() != ".txt"
        and not path.name.startswith(".")
    )


def _paired(
    files: Sequence[_File],
) -> tuple[dict[tuple[str, str], tuple[_File, _File]], list[_File]]:
    """Return (run, suffix) to pair, and the files that are in no pair."""
    halves: dict[tuple[str, str], dict[str, list[_File]]] = {}
    for path in files:
        half = half_of(path.name)
        if half.split is not None:
            key = (half.run, path.suffix.lower())
            halves.setdefault(key, {}).setdefault(half.split, []).append(path)
    pairs: dict[tuple[str, str], tuple[_File, _File]] = {}
    for key, found in halves.items():
        one, two = found.get(CALIBRATION, []), found.get(EVALUATION, [])
        if len(one) > 1 or len(two) > 1:
            twice = one if len(one) > 1 else two
            raise InputError(
                f"'{twice[0].name}' and '{twice[1].name}' are both the same half of one run. "
                "Name the files to read."
            )
        if one and two:
            pairs[key] = (one[0], two[0])
    used = {path for pair in pairs.values() for path in pair}
    return pairs, [path for path in files if path not in used]
