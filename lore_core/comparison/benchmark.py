"""Ranks of recalibrators over many unlike datasets, and tests of which is behind another."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from lore_core.comparison.methods import Comparison
from lore_core.comparison.runs import prepare_runs
from lore_core.comparison.runs_result import RunsComparison
from lore_core.data.dataset import Dataset
from lore_core.data.progress import Progress
from lore_core.data.validation import InputError
from lore_core.inference.significance import holm
from lore_core.metrics.catalogue import WORST_GROUP_GAP, WORST_GROUP_MCE, less_is_better
from lore_core.recalibration import Recalibrator


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
        """Return Friedman's p-value that ranks differ; of two methods Wilcoxon's."""
        wide = self.values.values(metric).dropna()
        if len(wide) < 2 or wide.shape[1] < 2:
            return float("nan")
        if wide.shape[1] == 2:
            return _signed_rank(wide.iloc[:, 0] - wide.iloc[:, 1])
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
        table = pd.DataFrame(
            {
                "mean_rank": mean,
                "ratio": ratio,
                "best": wide.eq(lowest, axis=0).sum(),
                "near": self._near(metric),
                "p_value": pd.Series(holm(np.array(p_values)), index=others, dtype=float),
            }
        )
        return table.loc[mean.index].rename_axis("method")

    def _near(self, metric: str) -> pd.Series[float]:
        known = self.behind[self.behind["metric"] == metric]
        if known.empty:
            return pd.Series(np.nan, index=self.values.methods)
        near = (known["difference"] == 0) | (known["low"] <= 0)
        return near.groupby(known["method"]).sum().astype(float)

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
    prepared = prepare_runs(sets, recalibrators, feature_map, 20, None, **options)
    found = dataclasses.replace(prepared, unlike=True).each(_taken, n_jobs, progress)
    values, behind = (
        pd.concat(
            [pair[k].assign(run=name) for name, pair in zip(prepared.names, found, strict=True)]
        )
        for k in (0, 1)
    )
    return Benchmark(
        RunsComparison(values[["run", *values.columns.drop("run")]], prepared.rows), behind
    )


def _taken(result: Comparison) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the metrics, and the differences to the method that is lowest by each paired one."""
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
    """Wilcoxon's p-value; 1 where nothing differs."""
    if not difference.any():
        return 1.0
    return float(stats.wilcoxon(difference).pvalue)
