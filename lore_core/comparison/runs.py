"""Recalibrators over many runs of one experiment."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from os import PathLike
from typing import Any

import joblib  # type: ignore[import-untyped]
import numpy as np
import pandas as pd
from joblib.externals.loky.process_executor import ShutdownExecutorError  # type: ignore[import-untyped]

from lore_core.comparison.methods import compare
from lore_core.comparison.runs_result import RunsComparison
from lore_core.data.binning import Binning
from lore_core.data.dataset import CALIBRATION, EVALUATION, Dataset
from lore_core.data.defaults import GAMMA, N_BINS
from lore_core.data.progress import Cancelled, Progress, tell
from lore_core.data.validation import InputError
from lore_core.embedding import MapName, make_map
from lore_core.reading import load_runs
from lore_core.recalibration import Recalibrator, standard_recalibrators

_PCA_DIMENSIONS = 20
#: Runs for each worker between two progress reports.
_RUNS_A_WORKER = 2
#: By method, what `unclipped_nll` found.
Clips = dict[str, tuple[int, float]]


def compare_runs(
    runs: Sequence[Dataset] | str | PathLike[str],
    recalibrators: Sequence[Recalibrator] | None = None,
    *,
    feature_map: str | Sequence[str] | None = "pca",
    gamma: float = GAMMA,
    n_bins: int = N_BINS,
    binning: Binning = "equal-width",
    group_column: str | Sequence[str] | None = None,
    min_group_size: int = 1,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> RunsComparison:
    """Fit every recalibrator on each run's calibration rows and measure it on its evaluation rows.

    ``runs``: each with a split; for a directory see :func:`~lore_core.load_runs`.
    ``recalibrators``: copies are fitted; by default :func:`~lore_core.standard_recalibrators`,
    without the local ones where ``feature_map`` is None. ``feature_map``: "pca", "tsne", "umap" or
    "identity", fitted to each run's calibration and evaluation features together; "pca-8" and
    "tsne-3" say how many dimensions (else 20, of t-SNE and UMAP 2). Of several,
    ``LoRe(feature_map="tsne")`` uses the one it names, LoRe smooth weighs all, and metrics use the
    first. None: global methods and metrics only. ``gamma, n_bins, binning``: of the metrics, and of
    the default methods. ``group_column``: adds the maximum group-wise MCE over this column, or
    intersections of several, groups of fewer than ``min_group_size`` evaluation rows of a run left
    out of it. ``n_jobs``: parallel runs; None: what the caller's ``joblib.parallel_config`` says,
    else one a processor. ``progress``: called with the share done and the last run's name.

    Raises InputError if a run lacks calibration rows, features or the group column, MemoryError if
    a worker process was ended for want of memory.
    """
    datasets = load_runs(runs) if isinstance(runs, (str, PathLike)) else list(runs)
    if not datasets:
        raise InputError("'runs' must hold at least one run; got none.")
    names = [feature_map] if isinstance(feature_map, str) else list(feature_map or [])
    maps = {name: MapName.parse(name, "feature_map") for name in names}
    for name, parsed in maps.items():
        if parsed.method == "pca" and parsed.n_components is None:
            maps[name] = MapName("pca", _PCA_DIMENSIONS)
    if recalibrators is None:
        usual = standard_recalibrators(gamma, n_bins, binning)
        recalibrators = [method for method in usual if maps or method.is_global]
    by = [group_column] if isinstance(group_column, str) else list(group_column or [])
    for dataset in datasets:
        _check_run(dataset, bool(maps), by)
    names = [dataset.name for dataset in datasets]
    if len(set(names)) < len(datasets):
        names = [f"{name} ({k})" for k, name in enumerate(names, start=1)]
    rows = {
        "run": names,
        "calibration_rows": [int(item.in_split(CALIBRATION).sum()) for item in datasets],
        "evaluation_rows": [len(item.evaluation) for item in datasets],
    }
    how = {"gamma": gamma, "n_bins": n_bins, "binning": binning, "min_group_size": min_group_size}
    one = partial(_one_run, list(recalibrators), maps, by, how)
    tables, clips = zip(*_in_parallel(one, datasets, n_jobs, progress), strict=True)
    frame = pd.concat(tables, keys=names, names=["run"]).reset_index("run")
    unclipped = {}
    for name in clips[0]:
        n_clipped, nll = zip(*(found[name] for found in clips), strict=True)
        unclipped[name] = sum(n_clipped), float(np.mean(nll))
    return RunsComparison(frame.reset_index(drop=True), pd.DataFrame(rows), unclipped)


def _in_parallel(
    one: Callable[[Dataset], tuple[pd.DataFrame, Clips]],
    datasets: Sequence[Dataset],
    n_jobs: int | None,
    progress: Progress | None,
) -> list[tuple[pd.DataFrame, Clips]]:
    # One worker a processor unless the caller or a parallel_config says otherwise.
    if n_jobs is None and joblib.parallel.get_active_backend()[1] in (None, 1):
        n_jobs = -1
    found: list[tuple[pd.DataFrame, Clips]] = []
    with joblib.Parallel(n_jobs=n_jobs) as pool:
        step = max(1, _RUNS_A_WORKER * joblib.effective_n_jobs(pool.n_jobs))
        for start in range(0, len(datasets), step):
            part = datasets[start : start + step]
            # Images and metadata are not needed by metrics, so not sent to other processes.
            sent = [dataclasses.replace(item, images=None, metadata=None) for item in part]
            try:
                found += pool(map(joblib.delayed(one), sent))
            except ShutdownExecutorError as error:
                # The interpreter is closing and has taken the workers along.
                raise Cancelled from error
            except BrokenProcessPool as error:
                raise MemoryError(
                    "a worker process was ended from outside, most likely for want of memory"
                ) from error
            done, n = len(found), len(datasets)
            tell(progress, done / n, f"run {done} of {n}: {part[-1].name}")
    return found


def _one_run(
    methods: Sequence[Recalibrator],
    maps: Mapping[str, MapName],
    by: list[str],
    options: Mapping[str, Any],
    dataset: Dataset,
) -> tuple[pd.DataFrame, Clips]:
    """Return the metrics of each method on one run, and what :func:`unclipped_nll` found."""
    calibration, evaluation = dataset.calibration, dataset.evaluation
    assert calibration is not None  # checked before
    known, new = map(dataset.in_split, (CALIBRATION, EVALUATION))
    made = {name: make_map(dataset, wanted) for name, wanted in maps.items()}
    first = next(iter(made.values()), None)
    groups = evaluation.groups
    result = compare(
        calibration,
        evaluation,
        [method.clone() for method in methods],
        calibration_embedding={name: item.rows(known) for name, item in made.items()} or None,
        # As the fitted methods place rows like them wherever they are shipped.
        evaluation_embedding={n: item.as_new(new, among=known) for n, item in made.items()} or None,
        metric_embedding=None if first is None else first.coordinates[new],
        groups=groups[by] if by and groups is not None else None,
        **options,
    )
    clips = {name: item.unclipped_nll for name, item in result.summaries.items()}
    return result.table.rename_axis("method").reset_index(), clips


def _check_run(dataset: Dataset, needs_features: bool, by: list[str]) -> None:
    if dataset.calibration is None:
        raise InputError(f"run '{dataset.name}' has no calibration rows to fit recalibrators on.")
    if needs_features and dataset.features is None:
        raise InputError(
            f"run '{dataset.name}' has no features to map; compare the global methods with "
            "feature_map=None."
        )
    known = [] if dataset.groups is None else [str(name) for name in dataset.groups.columns]
    for name in by:
        if name not in known:
            raise InputError(
                f"'group_column' must be one of {known} in run '{dataset.name}'; got {name!r}."
            )
