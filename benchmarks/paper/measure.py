"""One run: every method fitted, every number taken. All by public functions of lore_core."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import joblib  # type: ignore[import-untyped]
import numpy as np
import pandas as pd
from numpy.typing import NDArray

import lore_core as lore
from benchmarks.paper import published as pub
from lore_core.metrics.catalogue import MAX_GROUPWISE

#: The paper's bandwidths on t-SNE and on principal components, for LoRe and for the MLCE.
GAMMA = {"tsne": 0.2, "pca": 0.4}
MAPS = {"tsne": "t-SNE", "pca": "PCA"}
#: Confidence bins of a group with fewer rows are left out of the second maximum over groups.
ENOUGH_ROWS = 10
SUPPORTED = f"{MAX_GROUPWISE}, bins of {ENOUGH_ROWS}+ rows"
#: In place of a map: fitted for each group alone that has so many calibration rows.
BY_GROUP, ENOUGH_TO_FIT = "groups", 20
#: Bandwidths of every curve; also where "how often is LoRe lowest" is counted.
GAMMAS = lore.metrics.default_gammas(30)


@dataclass(frozen=True)
class Setting:
    """What one of the paper's experiments fixes."""

    n_bins: int
    pca_dimensions: int
    group_column: str | None = None
    tsne_dimensions: int = 2

    def map_name(self, name: str) -> str:
        """Name of a map with its dimensions, for captions."""
        size = self.tsne_dimensions if name == "tsne" else self.pca_dimensions
        return f"{MAPS[name]}, {size}-D"


@dataclass(frozen=True)
class RunResult:
    """Everything taken from one run.

    Attributes
    ----------
    name : str
        Name of the run.
    n_rows : tuple of int
        Calibration and evaluation rows.
    metrics : DataFrame
        One row a method, one column a metric.
    worst : DataFrame
        ``method, group, rows, bin_rows``: the group that sets the maximum, and how many of its
        rows lie in the confidence bin that does.
    curves : dict
        By map, by method: the bandwidth curve of the evaluation rows.
    maps : dict
        By map (the features themselves too): the curve without recalibration.
    """

    name: str
    n_rows: tuple[int, int]
    metrics: pd.DataFrame
    worst: pd.DataFrame
    curves: dict[str, dict[str, lore.BandwidthCurve]]
    maps: dict[str, lore.BandwidthCurve]


def value(table: pd.DataFrame, row: str, column: str) -> float:
    """One number of a table."""
    return float(table[column].to_numpy(np.float64)[table.index.get_loc(row)])


def methods(setting: Setting) -> list[tuple[lore.Recalibrator, str | None]]:
    """Return every method, labelled, with the map it is given."""
    bins = setting.n_bins
    found: list[tuple[lore.Recalibrator, str | None]] = [
        (method, None)
        for method in (
            lore.NoRecalibration(),
            lore.TemperatureScaling(),
            lore.HistogramBinning(bins),
            lore.IsotonicRegression(),
            lore.MMCEOptimization(),
        )
    ]
    if setting.group_column is not None:
        found += [
            (method, BY_GROUP)
            for method in (lore.TemperatureScaling(), lore.HistogramBinning(bins))
        ]
    for label, name in ((pub.LORE_TSNE, "tsne"), (pub.LORE_PCA, "pca")):
        method = lore.LoRe(GAMMA[name], bins)
        method.label = label
        found.append((method, name))
    return found


def smooth_methods(setting: Setting) -> list[tuple[lore.Recalibrator, str | None]]:
    """Return LoRe smooth on both maps, and what it is shown beside."""
    found = [item for item in methods(setting) if item[0].label in pub.BESIDE_SMOOTH]
    for label, name in ((pub.SMOOTH_TSNE, "tsne"), (pub.SMOOTH_PCA, "pca")):
        method = lore.recalibration.SmoothLoRe()
        method.label = label
        found.append((method, name))
    return found


def place(dataset: lore.Dataset, setting: Setting) -> dict[str, NDArray[np.float64]]:
    """Map calibration and evaluation features together, as the paper's γ asks for."""
    assert dataset.features is not None  # checked by the caller
    sizes = {"tsne": setting.tsne_dimensions, "pca": setting.pca_dimensions}
    return {name: lore.embed(dataset.features, name, d).coordinates for name, d in sizes.items()}


def recalibrated(
    dataset: lore.Dataset,
    setting: Setting,
    maps: dict[str, NDArray[np.float64]],
    chosen: Callable[[Setting], list[tuple[lore.Recalibrator, str | None]]] = methods,
) -> dict[str, lore.Dataset]:
    """Fit every method on the calibration rows and return the evaluation rows it leaves."""
    calibration, evaluation = dataset.calibration, dataset.evaluation
    assert calibration is not None  # checked by the caller
    rows = dataset.in_split("calibration")
    after = {}
    for method, name in chosen(setting):
        if name == BY_GROUP:
            made = group_wise(method, str(setting.group_column), calibration, evaluation)
            after[f"{method.label}, group-wise"] = made
            continue
        fit, use = (None, None) if name is None else (maps[name][rows], maps[name][~rows])
        after[method.label] = method.fit(calibration, fit).recalibrate(evaluation, use)
    return after


def group_wise(
    method: lore.Recalibrator, column: str, calibration: lore.Dataset, evaluation: lore.Dataset
) -> lore.Dataset:
    """Fit a method for each group alone (Luo et al. 2022, section 5.2), for others on all rows."""
    assert calibration.groups is not None  # the column is one of them
    assert evaluation.groups is not None
    known, new = (of[column].astype(str) for of in (calibration.groups, evaluation.groups))
    after = method.clone().fit(calibration).recalibrate(evaluation).probabilities.copy()
    for group, n_rows in known.value_counts().items():
        own, here = (np.asarray(names == group) for names in (known, new))
        if n_rows >= ENOUGH_TO_FIT and here.any():
            fitted = method.clone().fit(calibration.rows(own))
            after[here] = fitted.recalibrate(evaluation.rows(here)).probabilities
    return evaluation.with_probabilities(after)


def metrics_of(
    after: dict[str, lore.Dataset],
    setting: Setting,
    places: dict[str, NDArray[np.float64]],
    groups: Any,
) -> pd.DataFrame:
    """Return one row a method: global metrics, MLCE and ALCE on both maps, worst group."""
    table = {}
    for label, dataset in after.items():
        row: dict[str, float] = {}
        for name, points in places.items():
            summary = lore.summarize(
                dataset, points, gamma=GAMMA[name], n_bins=setting.n_bins, groups=groups
            )
            values = {str(key): float(value) for key, value in summary.values.items()}
            assert summary.local is not None  # an embedding was given
            row |= {
                f"MLCE ({MAPS[name]})": values.pop("MLCE"),
                f"ALCE ({MAPS[name]})": values.pop("ALCE"),
                f"MLCE, n_eff ≥ 10 ({MAPS[name]})": summary.local.supported_maximum(),
            } | values
        if groups is not None:
            row[SUPPORTED] = max(
                (
                    float(abs(part.gap[part.count >= ENOUGH_ROWS]).max())
                    for part in group_tables(dataset, setting, groups).values()
                    if (part.count >= ENOUGH_ROWS).any()
                ),
                default=float("nan"),
            )
        table[label] = row
    return pd.DataFrame(table).T


def group_tables(
    dataset: lore.Dataset, setting: Setting, groups: Any
) -> dict[str, lore.metrics.ReliabilityTable]:
    """Confidence bins of every group, by name."""
    names = np.asarray(groups).astype(str)
    return {
        str(name): lore.reliability_table(
            dataset.confidence[names == name], dataset.outcome[names == name], n_bins=setting.n_bins
        )
        for name in np.unique(names)
    }


def worst_groups(after: dict[str, lore.Dataset], setting: Setting, groups: Any) -> pd.DataFrame:
    """Return which group sets the maximum of each method, and on how many rows it rests."""
    columns = ["method", "group", "rows", "bin_rows"]
    if groups is None:
        return pd.DataFrame(columns=columns)
    records = []
    for method, dataset in after.items():
        found = group_tables(dataset, setting, groups)
        group = max(found, key=lambda name: found[name].maximum_calibration_error)
        count = found[group].count
        records.append([method, group, int(count.sum()), int(count[found[group].worst_bin()])])
    return pd.DataFrame(records, columns=columns)


def curve_of(
    dataset: lore.Dataset, points: NDArray[np.float64], setting: Setting
) -> lore.BandwidthCurve:
    """Bandwidth curve of evaluation rows, over the grid all curves share."""
    return lore.bandwidth_curve(
        dataset.confidence, dataset.outcome, points, GAMMAS, n_bins=setting.n_bins
    )


def measure_run(
    dataset: lore.Dataset,
    setting: Setting,
    maps: dict[str, NDArray[np.float64]] | None = None,
    after: dict[str, lore.Dataset] | None = None,
) -> RunResult:
    """Take everything from one run.

    Parameters
    ----------
    dataset : Dataset
        A run with calibration and evaluation rows.
    setting : Setting
        The paper's settings for it.
    maps, after : dict, optional
        What :func:`place` and :func:`recalibrated` return, where the caller needs them too.
    """
    maps = place(dataset, setting) if maps is None else maps
    after = recalibrated(dataset, setting, maps) if after is None else after
    rows = dataset.in_split("evaluation")
    places = {name: points[rows] for name, points in maps.items()}
    evaluation = dataset.evaluation
    groups = None
    if setting.group_column is not None:
        assert evaluation.groups is not None  # checked by the caller
        groups = evaluation.groups[setting.group_column]
    assert dataset.features is not None  # there are maps
    features = lore.embed(dataset.features, "identity")
    by_map = {setting.map_name(name): points for name, points in places.items()}
    by_map[f"features, {features.n_components}-D"] = features.coordinates[rows]
    return RunResult(
        name=dataset.name,
        n_rows=(int((~rows).sum()), int(rows.sum())),
        metrics=metrics_of(after, setting, places, groups),
        worst=worst_groups(after, setting, groups),
        curves={
            name: {label: curve_of(item, points, setting) for label, item in after.items()}
            for name, points in places.items()
        },
        maps={name: curve_of(evaluation, points, setting) for name, points in by_map.items()},
    )


def measure_smooth(dataset: lore.Dataset, setting: Setting) -> RunResult:
    """Take the metrics of LoRe smooth, and of what it is shown beside, from one run."""
    maps = place(dataset, setting)
    after = recalibrated(dataset, setting, maps, smooth_methods)
    rows, of_rows = dataset.in_split("evaluation"), dataset.evaluation.groups
    assert of_rows is not None  # runs have groups
    groups = of_rows[setting.group_column]
    places = {name: points[rows] for name, points in maps.items()}
    sizes, worst = (int((~rows).sum()), int(rows.sum())), worst_groups(after, setting, groups)
    found = metrics_of(after, setting, places, groups)
    return RunResult(dataset.name, sizes, found, worst, curves={}, maps={})


def measure_runs(
    runs: Sequence[lore.Dataset],
    setting: Setting,
    say: Callable[[str], None],
    n_jobs: int = 2,
    measure: Callable[[lore.Dataset, Setting], RunResult] = measure_run,
) -> list[RunResult]:
    """Take everything from every run, a process each at a time."""
    # t-SNE takes two threads a process; two processes of it on two cores wait for each other.
    before = os.environ.get("OMP_THREAD_LIMIT")
    os.environ["OMP_THREAD_LIMIT"] = "1"
    try:
        return _all_runs(runs, setting, say, n_jobs, measure)
    finally:
        if before is None:
            del os.environ["OMP_THREAD_LIMIT"]
        else:
            os.environ["OMP_THREAD_LIMIT"] = before


def _all_runs(
    runs: Sequence[lore.Dataset],
    setting: Setting,
    say: Callable[[str], None],
    n_jobs: int,
    measure: Callable[[lore.Dataset, Setting], RunResult],
) -> list[RunResult]:
    results = []
    pool = joblib.Parallel(n_jobs=n_jobs, return_as="generator")
    for result in pool(joblib.delayed(measure)(run, setting) for run in runs):
        results.append(result)
        if len(results) % 5 == 0 or len(results) == len(runs):
            say(f"run {len(results)} of {len(runs)}: {result.name}")
    return results


def runs_table(results: Sequence[RunResult]) -> pd.DataFrame:
    """Stack the metrics of all runs: ``run, method``, then the metrics."""
    frames = [
        result.metrics.rename_axis("method").reset_index().assign(run=result.name)
        for result in results
    ]
    frame = pd.concat(frames, ignore_index=True)
    return frame[["run", *frame.columns.drop("run")]]


def within_methods(frame: pd.DataFrame, of: str) -> pd.Series:
    """Pearson correlation with ``of`` inside each method, averaged over the methods.

    Between methods everything moves together; inside one method only the runs differ.
    """
    found = []
    for _, part in frame.groupby("method", sort=False):
        numbers = part.drop(columns=["run", "method"])
        varies = numbers.columns[numbers.nunique() > 1]
        if of in varies:
            found.append(numbers[varies].corr()[of])
    return pd.DataFrame(found).mean()
