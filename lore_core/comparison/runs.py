"""Recalibrators over many runs of one experiment, and ranked over many unlike datasets."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from os import PathLike
from typing import Any, TypeVar

import joblib  # type: ignore[import-untyped]
import numpy as np
import pandas as pd
from joblib.externals.loky.process_executor import ShutdownExecutorError  # type: ignore[import-untyped]

from lore_core.comparison.methods import Comparison, compare
from lore_core.comparison.runs_result import RunsComparison
from lore_core.data.binning import Binning
from lore_core.data.dataset import CALIBRATION, EVALUATION, Dataset
from lore_core.data.defaults import GAMMA, N_BINS
from lore_core.data.progress import Cancelled, Progress, tell
from lore_core.data.validation import InputError
from lore_core.embedding import MapName, make_map
from lore_core.metrics.catalogue import WORST_GROUP_GAP, WORST_GROUP_MCE, less_is_better
from lore_core.metrics.means import holm
from lore_core.reading import load_runs
from lore_core.recalibration import Recalibrator, standard_recalibrators

Extract = TypeVar("Extract")

_PCA_DIMENSIONS = 20
#: Runs for each worker between two progress reports.
_RUNS_A_WORKER = 2


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

    Parameters
    ----------
    runs : sequence of Dataset, or a directory
        Each with a split; for a directory see :func:`~lore_core.load_runs`.
    recalibrators : sequence of Recalibrator, optional
        Methods; copies are fitted. By default :func:`~lore_core.standard_recalibrators`, without
        the local ones where ``feature_map`` is None.
    feature_map : str or sequence of str, optional
        ``"pca"``, ``"tsne"``, ``"umap"`` or ``"identity"``, fitted to each run's calibration and
        evaluation features together; ``"pca-8"`` and ``"tsne-3"`` say how many dimensions (else 20,
        of t-SNE and UMAP 2). Of several, ``LoRe(feature_map="tsne")`` uses the one it names, LoRe
        smooth weighs all, and metrics use the first. None: global methods and metrics only.
    gamma, n_bins, binning
        Of the metrics, and of the default methods.
    group_column : str or sequence of str, optional
        Adds the maximum group-wise MCE over this column, or intersections of several.
    min_group_size : int
        Groups of fewer evaluation rows of a run are left out of it.
    n_jobs : int, optional
        Parallel runs. None: what the caller's ``joblib.parallel_config`` says, else one a
        processor. Processes, joblib's default, are about twice as fast as threads here.
    progress : callable, optional
        Called with the share done and the last run's name; it may raise to stop.

    Raises
    ------
    InputError
        If a run lacks calibration rows, features or the group column.
    MemoryError
        If a worker process was ended for want of memory.
    """
    rows, tables = _each_run(
        runs,
        recalibrators,
        feature_map,
        group_column,
        attrgetter("table"),
        n_jobs,
        progress,
        gamma=gamma,
        n_bins=n_bins,
        binning=binning,
        min_group_size=min_group_size,
    )
    labelled = [
        table.rename_axis("method").reset_index().assign(run=name)
        for name, table in zip(rows["run"], tables, strict=True)
    ]
    frame = pd.concat(labelled, ignore_index=True)
    return RunsComparison(frame[["run", *frame.columns.drop("run")]], rows)


def _each_run(
    runs: Sequence[Dataset] | str | PathLike[str],
    recalibrators: Sequence[Recalibrator] | None,
    feature_map: str | Sequence[str] | None,
    group_column: str | Sequence[str] | None,
    extract: Callable[[Comparison], Extract],
    n_jobs: int | None,
    progress: Progress | None,
    *,
    unlike: bool = False,
    **options: Any,
) -> tuple[pd.DataFrame, list[Extract]]:
    """Compare on every run; return ``run, calibration_rows, evaluation_rows``, and all extracts.

    ``extract``: takes of a comparison what is sent between processes. ``unlike``: datasets differ:
    PCA then has no more dimensions than features, and groups are those of the first column, or the
    predicted classes. ``options``: of :func:`~lore_core.comparison.methods.compare`.
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
        usual = standard_recalibrators(options["gamma"], options["n_bins"], options["binning"])
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
    one = partial(_one_run, extract, list(recalibrators), maps, by, unlike, options)
    return pd.DataFrame(rows), _in_parallel(one, datasets, n_jobs, progress)


def _in_parallel(
    one: Callable[[Dataset], Extract],
    datasets: Sequence[Dataset],
    n_jobs: int | None,
    progress: Progress | None,
) -> list[Extract]:
    # One worker a processor unless the caller or a parallel_config says otherwise.
    if n_jobs is None and joblib.parallel.get_active_backend()[1] in (None, 1):
        n_jobs = -1
    found: list[Extract] = []
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
    extract: Callable[[Comparison], Extract],
    methods: Sequence[Recalibrator],
    maps: Mapping[str, MapName],
    by: list[str],
    unlike: bool,
    options: Mapping[str, Any],
    dataset: Dataset,
) -> Extract:
    """Compare on one run; arguments as of :func:`_each_run`."""
    calibration, evaluation = dataset.calibration, dataset.evaluation
    assert calibration is not None  # checked before
    known, new = map(dataset.in_split, (CALIBRATION, EVALUATION))
    made = {}
    for name, wanted in maps.items():
        d = wanted.n_components
        if unlike and wanted.method == "pca" and d is not None and dataset.features is not None:
            d = min(d, *dataset.features.shape)
        made[name] = make_map(dataset, MapName(wanted.method, d))
    first = next(iter(made.values()), None)
    groups = evaluation.groups
    if unlike and (groups is None or groups.columns.empty):
        names = [evaluation.class_name(int(k)) for k in evaluation.predictions]
        groups = pd.DataFrame({"predicted": names})
    chosen = by or (list(groups.columns[:1]) if unlike and groups is not None else [])
    result = compare(
        calibration,
        evaluation,
        [method.clone() for method in methods],
        calibration_embedding={name: item.rows(known) for name, item in made.items()} or None,
        # As the fitted methods place rows like them wherever they are shipped.
        evaluation_embedding={n: item.as_new(new, among=known) for n, item in made.items()} or None,
        metric_embedding=None if first is None else first.coordinates[new],
        groups=groups[chosen] if chosen and groups is not None else None,
        **options,
    )
    return extract(result)


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


@dataclass(frozen=True)
class Benchmark:
    """What each method did to the evaluation rows of each dataset.

    Values are compared within datasets, as ranks and ratios to the lowest: means over unlike
    datasets are decided by large errors. Tests are pairwise, not Nemenyi's of mean ranks, which
    depends on the other methods (Demšar, JMLR 7, 2006; Benavoli, Corani, Mangili, JMLR 17, 2016).
    """

    values: RunsComparison  #: The datasets as runs
    #: ``run, method, metric`` of paired rows, and ``difference, low, high`` to the lowest method
    #: there: joint 95 % intervals of a dataset, NaN for that method itself.
    behind: pd.DataFrame

    @property
    def metrics(self) -> list[str]:
        """Names of error metrics that are known of every method on some dataset."""
        lower = filter(less_is_better, self.values.metrics)
        return [name for name in lower if not self.ranks(name).empty]

    def ranks(self, metric: str) -> pd.DataFrame:
        """Return ranks from 1, the lowest: one row a dataset, one column a method."""
        return self.values.values(metric).dropna().rank(axis=1)

    def any_difference(self, metric: str) -> float:
        """Return the p-value of equal ranks by Friedman's test, of two methods by Wilcoxon's."""
        wide = self.values.values(metric).dropna()
        if len(wide) < 2 or wide.shape[1] < 2:
            return float("nan")
        if wide.shape[1] == 2:
            return _signed_rank(wide.iloc[:, 0] - wide.iloc[:, 1])
        from scipy import stats

        return float(stats.friedmanchisquare(*(wide[name] for name in wide)).pvalue)

    def ranking(self, metric: str) -> pd.DataFrame:
        """Rank the methods by one metric over all datasets, from best to worst.

        One row a method: ``mean_rank``; ``ratio``, the geometric mean of its value over the lowest
        (NaN where a lowest is 0 or below); ``best``, on how many datasets it is lowest; ``near``,
        on how many it is or its interval to the lowest holds 0 (NaN without paired rows);
        ``p_value``, adjusted by Holm (NaN for the lowest mean rank).
        """
        ranks = self.ranks(metric)
        if ranks.empty:
            raise InputError(
                f"'metric' must be known of every method on a dataset; {metric!r} is not."
            )
        wide = self.values.values(metric).loc[ranks.index]
        lowest = wide.min(axis=1)
        mean = ranks.mean().sort_values(kind="stable")
        first, others = mean.index[0], mean.index[1:]
        positive = bool((lowest > 0).all())
        ratio = np.exp(np.log(wide.div(lowest, axis=0)).mean()) if positive else np.nan
        p_values = [_signed_rank(wide[name] - wide[first]) for name in others]
        behind = self.behind[self.behind["metric"] == metric]
        near = (behind["difference"] == 0) | (behind["low"] <= 0)
        table = pd.DataFrame(
            {
                "mean_rank": mean,
                "ratio": ratio,
                "best": wide.eq(lowest, axis=0).sum(),
                "near": near.groupby(behind["method"]).sum().astype(float),
                "p_value": pd.Series(holm(np.array(p_values)), index=others, dtype=float),
            }
        )
        return table.loc[mean.index].rename_axis("method")

    def to_dict(self) -> dict[str, Any]:
        """Return rankings and tests, by metric."""
        return {
            "sets": self.values.n_runs,
            "ranking": {name: self.ranking(name).to_dict(orient="index") for name in self.metrics},
            "any_difference": {name: self.any_difference(name) for name in self.metrics},
        }

    def frame(self) -> pd.DataFrame:
        """Long table: ``set, method, metric, value, rank, behind, behind_low, behind_high``."""
        values = self.values.runs.melt(["run", "method"], var_name="metric", value_name="value")
        lower = values["metric"].map(less_is_better)
        ranks = values[lower].groupby(["run", "metric"])["value"].rank()
        apart = self.behind.rename(
            columns={"difference": "behind", "low": "behind_low", "high": "behind_high"}
        )
        table = values.assign(rank=ranks).merge(apart, how="left", on=["run", "method", "metric"])
        return table.rename(columns={"run": "set"})


def benchmark(
    sets: Sequence[Dataset] | str | PathLike[str],
    recalibrators: Sequence[Recalibrator],
    *,
    feature_map: str | Sequence[str] | None = "pca",
    n_jobs: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Benchmark:
    """Fit every recalibrator on each dataset's calibration rows and measure it on the others.

    ``sets``: with a split, or a directory. The rest:
    :func:`~lore_core.comparison.runs.compare_runs`, but PCA has at most a dataset's number of
    features, and groups are the first column's or the predicted classes.
    """
    rows, found = _each_run(
        sets, recalibrators, feature_map, None, _extract, n_jobs, progress, unlike=True, **options
    )
    values, behind = (
        pd.concat([pair[k].assign(run=name) for name, pair in zip(rows["run"], found, strict=True)])
        for k in (0, 1)
    )
    return Benchmark(RunsComparison(values[["run", *values.columns.drop("run")]], rows), behind)


def _extract(result: Comparison) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return each method's metrics, and by paired ones its difference to the lowest method."""
    apart = []
    for metric in result.paired:
        if not less_is_better(metric.name):
            continue
        best = str(result.table[metric.name].idxmin())
        found = result.difference(metric, best)[["difference", "low", "high"]]
        found.loc[best] = [0.0, np.nan, np.nan]
        apart.append(found.rename_axis("method").reset_index().assign(metric=metric.name))
    # Of groups the worst cell of ten rows or more: lone rows decide the others.
    table = result.table.drop(columns=[WORST_GROUP_GAP.name, WORST_GROUP_MCE.name], errors="ignore")
    return table.rename_axis("method").reset_index(), pd.concat(apart)


def _signed_rank(difference: pd.Series[float]) -> float:
    """Return Wilcoxon's p-value; 1 where nothing differs."""
    if not difference.any():
        return 1.0
    from scipy import stats

    return float(stats.wilcoxon(difference).pvalue)
