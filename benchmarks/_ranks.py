"""Rank every recalibrator over the datasets of a directory, within each of them.

``python -m benchmarks._ranks DIR [-o values.csv]``. DIR holds pairs ``<set>_cal.*`` and
``<set>_test.*``, such as ``_small_models.py`` writes. Each method is fitted on the calibration rows
of each and measured on its test rows, on principal components.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from lore_core import Comparison, Dataset, Recalibrator, compare, embed, load_runs
from lore_core.comparison import RunsComparison
from lore_core.data.dataset import CALIBRATION, EVALUATION
from lore_core.metrics.catalogue import WORST_GROUP_GAP, WORST_GROUP_MCE, less_is_better
from lore_core.metrics.means import holm
from lore_core.recalibration import offered_recalibrators

_DIMENSIONS = 20
_SCORES = ("NLL", "Brier")


@dataclass(frozen=True)
class Ranks:
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
            raise ValueError(f"{metric!r} must be known of every method on a dataset")
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


def ranks(sets: Sequence[Dataset], methods: Sequence[Recalibrator]) -> Ranks:
    """Fit every method on each dataset's calibration rows and measure it on the others.

    Groups are those of the first column, or the predicted classes.
    """
    values, behind = [], []
    for dataset in sets:
        found = _compared(dataset, methods)
        behind += [table.assign(run=dataset.name) for table in _behind(found)]
        # Of groups the worst cell of ten rows or more: lone rows decide the others.
        table = found.table.drop(
            columns=[WORST_GROUP_GAP.name, WORST_GROUP_MCE.name], errors="ignore"
        )
        values.append(table.rename_axis("method").reset_index().assign(run=dataset.name))
    frame = pd.concat(values, ignore_index=True)
    return Ranks(RunsComparison(frame), pd.concat(behind, ignore_index=True))


def _compared(dataset: Dataset, methods: Sequence[Recalibrator]) -> Comparison:
    calibration, evaluation = dataset.calibration, dataset.evaluation
    if calibration is None or dataset.features is None:
        raise ValueError(f"{dataset.name} must have calibration rows and features")
    known, new = map(dataset.in_split, (CALIBRATION, EVALUATION))
    made = embed(dataset.features, "pca", min(_DIMENSIONS, *dataset.features.shape))
    groups = evaluation.groups
    names = [evaluation.class_name(int(k)) for k in evaluation.predictions]
    return compare(
        calibration,
        evaluation,
        [method.clone() for method in methods],
        calibration_embedding=made.rows(known),
        evaluation_embedding=made.as_new(new, among=known),
        metric_embedding=made.coordinates[new],
        groups=names if groups is None else groups.iloc[:, 0],
    )


def _behind(result: Comparison) -> Iterator[pd.DataFrame]:
    """Yield each paired metric's differences to the method that is lowest."""
    for metric in result.paired:
        if less_is_better(metric.name):
            best = str(result.table[metric.name].idxmin())
            found = result.difference(metric, best)[["difference", "low", "high"]]
            found.loc[best] = [0.0, np.nan, np.nan]
            yield found.rename_axis("method").reset_index().assign(metric=metric.name)


def _signed_rank(difference: pd.Series) -> float:
    """Return Wilcoxon's p-value; 1 where nothing differs."""
    return float(stats.wilcoxon(difference).pvalue) if difference.any() else 1.0


def main() -> None:
    """Print mean ranks by every metric, and tests for proper scores."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("-o", "--out", type=Path, help="every value, rank and difference as CSV")
    given = parser.parse_args()
    found = ranks(load_runs(given.directory), offered_recalibrators())
    if given.out is not None:
        found.frame().to_csv(given.out, index=False)
    mean = {name: found.ranking(name)["mean_rank"] for name in found.metrics}
    print(pd.DataFrame(mean).sort_values(_SCORES[0]).round(1).to_string())
    for name in _SCORES:
        print(f"\n{name}: Friedman's p = {found.any_difference(name):.2g}")
        print(found.ranking(name).round(3).to_string())


if __name__ == "__main__":
    main()
