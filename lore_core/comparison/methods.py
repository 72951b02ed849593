"""Recalibrators side by side: fitted on calibration rows, measured on evaluation rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from lore_core.comparison.most_probable import most_probable_classes
from lore_core.comparison.summary import Summary, summarize
from lore_core.comparison.tables import long_table
from lore_core.data.binning import Binning
from lore_core.data.dataset import Dataset
from lore_core.data.progress import Progress, tell
from lore_core.data.validation import InputError, OnMaps, Points
from lore_core.embedding.several import chosen_map
from lore_core.metrics.catalogue import COMPARED, RANKED_BY
from lore_core.metrics.measured import Measured
from lore_core.metrics.metric import Metric
from lore_core.recalibration import NoRecalibration, Recalibrator


@dataclass(frozen=True)
class Comparison:
    """What each method did to the same evaluation rows."""

    table: pd.DataFrame  #: One row a method, one column a metric
    #: 95 % intervals of the table's metrics, see :class:`~lore_core.comparison.summary.Summary`.
    low: pd.DataFrame | None
    high: pd.DataFrame | None
    #: Paired 95 % intervals of each method minus the first: of NLL and Brier score those of
    #: :meth:`score_differences`, else percentiles of resamples.
    difference_low: pd.DataFrame | None
    difference_high: pd.DataFrame | None
    #: By method label: the fitted method, the recalibrated evaluation rows, their metrics.
    recalibrators: dict[str, Recalibrator]
    datasets: dict[str, Dataset]
    summaries: dict[str, Summary]
    #: By method label: how tables name it, with a remark where its fit did nothing.
    names: dict[str, str]

    @property
    def ranked_by(self) -> Metric:
        """What methods are ranked by: the first proper score that is known of all, else the ECE."""
        return next(
            metric
            for metric in RANKED_BY
            if metric.name in self.table and bool(np.isfinite(self.table[metric.name]).all())
        )

    @property
    def ranking(self) -> list[str]:
        """Methods from best to worst by ``ranked_by``."""
        column = self.table[self.ranked_by.name].sort_values(kind="stable")
        return [str(name) for name in column.index]

    def score_differences(self, score: Metric, to: str) -> pd.DataFrame:
        """Mean difference of a proper score of every method to one of them, row by row.

        One row a method but ``to``: ``difference, low, high``. The paired Student-t intervals hold
        for all methods at once with 95 %: each is taken at 1 − 5 %/methods (Bonferroni).
        """
        return _score_differences(self.datasets, score, to)

    def most_probable(self) -> pd.DataFrame:
        """Hold the most probable class of each row against the predicted one.

        See :func:`~lore_core.comparison.most_probable.most_probable_classes`.
        """
        return most_probable_classes(self.datasets)

    def long(self, methods: list[str] | None = None) -> pd.DataFrame:
        """Everything in one long table, as it is saved; ``methods`` are in the order of the rows.

        One row a method and metric: ``method, metric, unit, value``, the ``difference`` to the
        first method, both with their intervals: ``low, high, difference_low, difference_high``, the
        ``p_value`` of the difference, and ``rows``, how many all of it rests on.
        """
        first = next(iter(self.summaries.values()))
        p_values = {
            label: item.draws.difference_p(first.draws)
            for label, item in self.summaries.items()
            if item is not first and item.draws is not None and first.draws is not None
        }
        table = long_table(
            {
                "value": self.table,
                "difference": self.table - self.table.iloc[0],
                "low": self.low,
                "high": self.high,
                "difference_low": self.difference_low,
                "difference_high": self.difference_high,
                "p_value": pd.DataFrame(p_values).T if p_values else None,
            },
            list(self.table.index) if methods is None else methods,
            list(self.table.columns),
        )
        return table.assign(rows=first.n_rows)


def compare(
    calibration: Dataset,
    evaluation: Dataset,
    recalibrators: Sequence[Recalibrator] | None = None,
    *,
    calibration_embedding: OnMaps = None,
    evaluation_embedding: OnMaps = None,
    metric_embedding: Points | None = None,
    gamma: float = 0.2,
    n_bins: int = 15,
    binning: Binning = "equal-width",
    groups: ArrayLike | None = None,
    min_group_size: int = 1,
    n_draws: int = 0,
    local_draws: bool = True,
    local_intervals: bool = True,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Comparison:
    """Fit every recalibrator on calibration rows and measure it on evaluation rows.

    Parameters
    ----------
    calibration, evaluation : Dataset
        Rows to fit on, and other rows to measure on.
    recalibrators : sequence of Recalibrator
        Methods, not yet fitted. The first is the one the others are held against; by default
        no recalibration.
    calibration_embedding, evaluation_embedding : Embedding, array-like or dict, optional
        Coordinates of both sets of rows, for local methods and metrics. With several maps by name,
        ``LoRe(feature_map=...)`` says which it uses, tuned LoRe chooses, and the first is the one
        measured on.
    metric_embedding : Embedding or array-like, optional
        Coordinates of the evaluation rows for the local metrics, where they should differ from
        those the methods used.
    gamma, n_bins, binning, groups, min_group_size, n_draws, local_draws, local_intervals
    random_state
        See :func:`~lore_core.comparison.summary.summarize`. Rows are binned anew by their new
        confidence.
    progress : callable, optional
        Called with the share done and the method at work.

    Raises
    ------
    InputError
        If two methods share a label, or a local method is given no embedding.
    """
    methods = [NoRecalibration()] if recalibrators is None else list(recalibrators)
    labels = [method.label for method in methods]
    if len(set(labels)) != len(labels) or not labels:
        raise InputError(f"'recalibrators' must be methods with unlike labels; got {labels}.")
    measured_on = chosen_map(
        evaluation_embedding if metric_embedding is None else metric_embedding, None
    )
    datasets: dict[str, Dataset] = {}
    names: dict[str, str] = {}
    summaries: dict[str, Summary] = {}
    for position, (label, method) in enumerate(zip(labels, methods, strict=True)):
        tell(progress, position / len(methods), label)
        local = method.needs_embedding
        method.fit(calibration, calibration_embedding if local else None)
        datasets[label] = method.recalibrate(evaluation, evaluation_embedding if local else None)
        names[label] = _with_remark(label, method, evaluation, datasets[label])
        summaries[label] = summarize(
            datasets[label],
            measured_on,
            gamma=gamma,
            n_bins=n_bins,
            binning=binning,
            groups=groups,
            min_group_size=min_group_size,
            n_draws=n_draws,
            local_draws=local_draws,
            local_intervals=local_intervals,
            random_state=random_state,
        )
    tell(progress, 1.0, "done")
    table = pd.DataFrame({label: item.values for label, item in summaries.items()}).T
    low = high = difference_low = difference_high = None
    if n_draws:
        draws = {label: item.draws for label, item in summaries.items() if item.draws is not None}
        first = draws[labels[0]]
        intervals = {
            label: item.intervals for label, item in summaries.items() if item.intervals is not None
        }
        paired = {label: item.difference(first) for label, item in draws.items()}
        low, high = (_bound(intervals, side) for side in ("low", "high"))
        difference_low, difference_high = (_bound(paired, side) for side in ("low", "high"))
        for metric in (item for item in COMPARED if item.proper and item.name in table):
            apart = _score_differences(datasets, metric, labels[0])
            difference_low.loc[apart.index, metric.name] = apart["low"]
            difference_high.loc[apart.index, metric.name] = apart["high"]
    return Comparison(
        table=table,
        low=low,
        high=high,
        difference_low=difference_low,
        difference_high=difference_high,
        recalibrators=dict(zip(labels, methods, strict=True)),
        datasets=datasets,
        summaries=summaries,
        names=names,
    )


def _with_remark(label: str, method: Recalibrator, before: Dataset, after: Dataset) -> str:
    remark = method.remark
    if not isinstance(method, NoRecalibration) and np.allclose(
        before.probabilities, after.probabilities, rtol=0, atol=1e-12
    ):
        remark = "changed nothing"
    return f"{label} ({remark})" if remark else label


def _score_differences(datasets: Mapping[str, Dataset], score: Metric, to: str) -> pd.DataFrame:
    rows = pd.DataFrame(
        {name: Measured(item).row_values()[score.name] for name, item in datasets.items()}
    )
    apart = rows.drop(columns=to).sub(rows[to], axis=0)
    n, m = apart.shape
    half = stats.t.ppf(1 - 0.025 / max(m, 1), n - 1) * apart.std(ddof=1) / np.sqrt(n)
    mean = apart.mean()
    return pd.DataFrame({"difference": mean, "low": mean - half, "high": mean + half})


def _bound(intervals: dict[str, pd.DataFrame], side: str) -> pd.DataFrame:
    return pd.DataFrame({label: item[side] for label, item in intervals.items()}).T
