"""Comparison of recalibrators: fitted on calibration rows, measured on evaluation rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from lore_core.comparison.effects import most_probable_classes
from lore_core.comparison.summary import Summary, summarize
from lore_core.comparison.tables import long_table, note_on_nll
from lore_core.data.arrays import MapArray
from lore_core.data.dataset import Dataset
from lore_core.data.number_text import points_words, rows_words, share_words, with_points
from lore_core.data.probabilities import by_blocks
from lore_core.data.progress import Progress, tell
from lore_core.data.shown import Shown
from lore_core.data.validation import InputError, OnMaps, Points
from lore_core.embedding.result import chosen_map
from lore_core.kernel_sums.schedule import limited_threads, thread_count
from lore_core.metrics.catalogue import CATALOGUE, COMPARED, RANKED_BY
from lore_core.metrics.means import difference_range, joint_intervals
from lore_core.metrics.metric import Metric
from lore_core.metrics.proper_scores import BY_CLASS
from lore_core.recalibration import NoRecalibration, Recalibrator
from lore_core.shipping.predictor import Predictor

_Found = TypeVar("_Found")
#: Smaller differences of a row's score are rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """What each method did to the same evaluation rows."""

    table: pd.DataFrame  #: One row a method, one column a metric
    #: 95 % intervals of the table's metrics, see :class:`~lore_core.comparison.summary.Summary`.
    low: pd.DataFrame
    high: pd.DataFrame
    #: By method label: the fitted method, the recalibrated evaluation rows, their metrics.
    recalibrators: dict[str, Recalibrator]
    datasets: dict[str, Dataset]
    summaries: dict[str, Summary]
    #: By method label: its name in tables, with a remark where its fit did nothing.
    names: dict[str, str]
    #: What was computed of these, by its name.
    known: dict[str, pd.DataFrame] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        datasets: dict[str, Dataset],
        summaries: dict[str, Summary],
        names: dict[str, str] | None = None,
        recalibrators: dict[str, Recalibrator] | None = None,
    ) -> Comparison:
        """Put together what is known of the same rows under several methods, or models."""
        values = [item.values.to_dict() for item in summaries.values()]
        return cls(
            pd.DataFrame(values, list(summaries)),
            _bound(summaries, "low"),
            _bound(summaries, "high"),
            recalibrators or {},
            datasets,
            summaries,
            names or {name: name for name in datasets},
        )

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

    def difference(self, metric: Metric, to: str | None = None) -> pd.DataFrame:
        """Mean difference of every method to one of them, row by row.

        ``metric``: a mean of rows (``is_paired``); others have no valid interval. ``to``: a method;
        by default the first. Joint ``difference, low, high, p_value`` of each other method
        (:func:`~lore_core.metrics.joint_intervals`), the last three NaN of a single row.
        """
        against = next(iter(self.summaries)) if to is None else to
        key = f"{metric.name} to {against}"
        if key not in self.known:
            self.known[key] = self._difference(metric, against)
        return self.known[key].copy()

    def _difference(self, metric: Metric, against: str) -> pd.DataFrame:
        known = {label: item.row_values for label, item in self.summaries.items()}
        values = {label: of[metric.name] for label, of in known.items() if of is not None}
        if len(values) < len(known):
            raise RuntimeError(f"the rows of {metric.name} were left where they were measured")
        others = [label for label in values if label != against]
        apart = np.empty((len(others), len(values[against])))
        for row, label in zip(apart, others, strict=True):
            np.subtract(values[label], values[against], out=row)
            row[np.abs(row) < _ROUNDING] = 0.0
        columns = pd.DataFrame(apart.T, columns=others)
        if metric.name not in BY_CLASS:
            return joint_intervals(columns)
        of_class, first = BY_CLASS[metric.name], self.datasets[against]
        scores = by_blocks(of_class, first.probabilities)
        range_to = partial(
            difference_range, of_class, scores, weights=first.weights, units=first.units
        )
        with ThreadPoolExecutor(thread_count(None)) as threads:
            found = threads.map(range_to, (self.datasets[of].probabilities for of in others))
            return joint_intervals(columns, list(found))

    @property
    def estimates(self) -> pd.DataFrame:
        """The table with estimates of the true errors in place of those observed, where known."""
        return _bound(self.summaries, "estimate").reindex_like(self.table).fillna(self.table)

    def with_simulated(self, simulated: Mapping[str, pd.DataFrame]) -> Comparison:
        """Return the same with simulated intervals of calibration errors, by method."""
        summaries = {
            label: item.with_simulated(simulated[label]) for label, item in self.summaries.items()
        }
        return dataclasses.replace(
            self, summaries=summaries, low=_bound(summaries, "low"), high=_bound(summaries, "high")
        )

    def without_row_values(self) -> Comparison:
        """Return the same, in less memory: of differences those to the first and those known."""
        _ = self.differences, self.most_probable
        summaries = {label: item.without_row_values() for label, item in self.summaries.items()}
        return dataclasses.replace(self, summaries=summaries)

    @property
    def paired(self) -> list[Metric]:
        """Metrics of the table whose differences have intervals."""
        return [item for item in COMPARED if item.is_paired and item.name in self.table]

    @property
    def differences(self) -> dict[str, pd.DataFrame]:
        """Differences to the first method, by the name of each metric of :attr:`paired`."""
        for metric in self.paired:
            if metric.name in BY_CLASS:  # in threads by itself: both at once take much memory
                self.difference(metric)
        with ThreadPoolExecutor(thread_count(None)) as threads:
            found = list(threads.map(self.difference, self.paired))
        return {metric.name: item for metric, item in zip(self.paired, found, strict=True)}

    @property
    def most_probable(self) -> pd.DataFrame:
        """See :func:`~lore_core.comparison.effects.most_probable_classes`."""
        if "most probable" not in self.known:
            self.known["most probable"] = most_probable_classes(self.datasets)
        return self.known["most probable"]

    @property
    def note_on_nll(self) -> str:
        """See :func:`~lore_core.metrics.proper_scores.clip_note`."""
        return note_on_nll({name: item.unclipped_nll for name, item in self.summaries.items()})

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers, by method."""
        return {
            "names": self.names,
            "unclipped_nll": {name: item.unclipped_nll for name, item in self.summaries.items()},
            "most_probable": self.most_probable.to_dict(orient="index"),
            "methods": self.table.to_dict(orient="index"),
            "low": self.low.to_dict(orient="index"),
            "high": self.high.to_dict(orient="index"),
            "differences": {
                name: item.to_dict(orient="index") for name, item in self.differences.items()
            },
        }

    def frame(self, methods: list[str] | None = None) -> pd.DataFrame:
        """Everything in one long table, as it is saved; ``methods`` are in the order of the rows.

        ``method, metric, unit, value, low, high``, the ``difference`` to the first method (NaN
        without one) with ``difference_low, difference_high, p_value``, and the number of ``rows``.
        """
        columns = {
            "value": self.table,
            "difference": self.table - self.table.iloc[0],
            "low": self.low,
            "high": self.high,
        }
        for end in ("low", "high", "p_value"):
            apart = {metric: item[end] for metric, item in self.differences.items()}
            columns[f"difference_{end}"] = pd.DataFrame(apart)
        columns["p_value"] = columns.pop("difference_p_value")
        methods = list(self.table.index) if methods is None else methods
        table = long_table(columns, methods, list(self.table.columns))
        return table.assign(rows=next(iter(self.summaries.values())).n_rows)


def compare(
    calibration: Dataset,
    evaluation: Dataset,
    recalibrators: Sequence[Recalibrator] | None = None,
    *,
    calibration_embedding: OnMaps = None,
    evaluation_embedding: OnMaps = None,
    metric_embedding: Points | None = None,
    progress: Progress | None = None,
    map_array: MapArray | None = None,
    earlier: Comparison | None = None,
    show: Callable[[Comparison], object] | None = None,
    **measuring: Any,
) -> Comparison:
    """Fit every recalibrator on calibration rows and measure it on other rows, ``evaluation``.

    ``recalibrators``: methods, not yet fitted, to compare with the first; by default no
    recalibration. ``calibration_embedding, evaluation_embedding``: coordinates of both sets of
    rows, for local methods and metrics. Of several maps by name, ``LoRe(feature_map=...)`` uses the
    one it names, LoRe smooth weighs all, and metrics use the first. ``metric_embedding``:
    coordinates of the evaluation rows for the local metrics, if other than the methods'.
    ``progress``: called with the share done and the method at work. ``map_array``: called with each
    array of rows once they are measured; returns an equal one to keep in its place, say a file's.
    ``earlier``: of the same rows and embeddings: methods of equal settings are measured, not fitted
    again. ``show``: called, once a method but not the last is measured, with all that are, without
    rows. ``measuring``: ``gamma, n_bins, binning, groups, min_group_size, n_draws, local_intervals,
    random_state`` of :func:`~lore_core.comparison.summary.summarize`. Raises InputError if two
    methods share a label, or a local method is given no embedding.
    """
    methods = [NoRecalibration()] if recalibrators is None else list(recalibrators)
    labels = [method.label for method in methods]
    if len(set(labels)) != len(labels) or not labels:
        raise InputError(f"'recalibrators' must be methods with unlike labels; got {labels}.")
    measured_on = chosen_map(
        evaluation_embedding if metric_embedding is None else metric_embedding, None
    )

    known = {} if earlier is None else earlier.recalibrators

    def fitted(method: Recalibrator) -> tuple[Recalibrator, Dataset]:
        before = known.get(method.label)
        if earlier is not None and before is not None and repr(before) == repr(method):
            return before, earlier.datasets[method.label]
        on = (calibration_embedding, evaluation_embedding)
        fitted_on, new = on if method.needs_embedding else (None, None)
        return method, method.fit(calibration, fitted_on).recalibrate(evaluation, new)

    def fitted_and_measured(method: Recalibrator) -> tuple[Recalibrator, Dataset, Summary, str]:
        method, made = fitted(method)
        name = _with_remark(method, evaluation, made)
        # (Before the kernel sums, which take most memory.)
        if map_array is not None and made is not evaluation:
            moved = map_array(made.probabilities), map_array(made.confidence)
            made = evaluation.with_checked(*moved)
        summary = summarize(made, measured_on, details=False, **measuring)
        summary = summary if map_array is None else summary.map_arrays(map_array)
        return method, made, summary, name

    measured: dict[str, tuple[Recalibrator, Dataset, Summary, str]] = {}
    for method, found in _side_by_side(fitted_and_measured, methods, progress):
        measured[method.label] = found
        if show is not None and labels[0] in measured and len(measured) < len(labels):
            made = _put_together(labels, measured)
            alone = {
                label: dataclasses.replace(item, local=None, row_values=None)
                for label, item in made.summaries.items()
            }
            show(dataclasses.replace(made, recalibrators={}, datasets={}, summaries=alone))
    tell(progress, 1.0, "done")
    return _put_together(labels, measured)


def _put_together(
    labels: Sequence[str], measured: Mapping[str, tuple[Recalibrator, Dataset, Summary, str]]
) -> Comparison:
    known = [label for label in labels if label in measured]
    recalibrators, datasets, summaries, names = (
        dict(zip(known, column, strict=True))
        for column in zip(*(measured[label] for label in known), strict=True)
    )
    return Comparison.of(datasets, summaries, names, recalibrators)


def _side_by_side(
    work: Callable[[Recalibrator], _Found],
    methods: Sequence[Recalibrator],
    progress: Progress | None,
) -> Iterator[tuple[Recalibrator, _Found]]:
    """Do the work of all methods in threads: the first, then from the last on, the slowest."""
    threads, order = min(thread_count(None), len(methods)), [methods[0], *methods[:0:-1]]
    with ThreadPoolExecutor(threads) as pool, limited_threads(1) if threads > 1 else nullcontext():
        begun = {pool.submit(work, method): method for method in order}
        try:
            tell(progress, 0.0, methods[-1].label)
            for done, one in enumerate(as_completed(begun), start=1):
                yield begun[one], one.result()
                left = [method.label for found, method in begun.items() if not found.done()]
                tell(progress, done / len(methods), left[0] if left else "done")
        finally:  # a cancelled call does not wait for what has not begun
            pool.shutdown(wait=False, cancel_futures=True)


def _with_remark(method: Recalibrator, before: Dataset, after: Dataset) -> str:
    remark = method.remark
    is_same = (
        np.allclose(getattr(before, of), getattr(after, of), rtol=0, atol=1e-12)
        for of in ("confidence", "probabilities")
    )
    if not isinstance(method, NoRecalibration) and all(is_same):
        remark = "changed nothing"
    return f"{method.label} ({remark})" if remark else method.label


def _bound(summaries: Mapping[str, Summary], side: str) -> pd.DataFrame:
    of_each = [item.intervals[side].to_dict() for item in summaries.values()]
    return pd.DataFrame(of_each, list(summaries))  # (much faster than of series)


#: What the two are compared by, where it is known.
MEASURED = ("NLL", "Brier", "ALCE")


@dataclass(frozen=True)
class ConfidenceDifference:
    """What leaving the rows out changed; means and shares go by the weights of rows."""

    n_rows: int  #: Rows both were applied to
    mean: float
    greatest: float
    above: dict[float, float]  #: Share of the rows that differ by more than 0.01 and 0.05
    table: pd.DataFrame  #: Metrics of the method itself (first line) and of what is shipped

    def sentence(self, rows: str = "evaluation") -> str:
        """Return all of it in words; ``rows`` says which they are."""
        on = rows_words(self.n_rows).replace(" ", f" {rows} ", 1)
        if self.greatest == 0:
            return f"Without single rows, the confidences of {on} are exactly the same."
        shares = ", ".join(
            f"{share_words(share) if share else 'none'} of them by more than {with_points(above)}"
            for above, share in self.above.items()
        )
        mean = points_words(self.mean, 1) if self.mean >= 0.0005 else "under 0.1"
        changes = []
        for name in map(str, self.table):
            metric, (before, after) = CATALOGUE[name], self.table[name]
            changes.append(f"{name} {metric.text(after)} instead of {metric.text_alone(before)}")
        return (
            f"Without single rows, the confidences of {on} differ by {mean} points on average and "
            f"{points_words(self.greatest, 1)} at most; {shares}. {', '.join(changes)}."
        )


def confidence_difference(
    exact: Recalibrator,
    shipped: Recalibrator,
    rows: Dataset,
    embedding: OnMaps = None,
    **local: Any,
) -> ConfidenceDifference:
    """Compare what is shipped with the method itself, both as a file applies them.

    ``exact, shipped``: fitted, with their feature maps. ``embedding``: coordinates of ``rows``, for
    the ALCE on the first map. ``local``: ``gamma, n_bins, binning`` of :func:`.summarize`.
    """
    before, after = (
        rows.with_probabilities(
            Predictor(method).predict(
                rows.probabilities, rows.features, predictions=rows.predictions
            )
        )
        for method in (exact, shipped)
    )
    off = np.abs(after.confidence - before.confidence)
    on = chosen_map(embedding, None)
    found = [summarize(changed, on, **local).values for changed in (before, after)]
    table = pd.DataFrame(found, index=["exact", "shipped"])
    return ConfidenceDifference(
        n_rows=len(off),
        mean=float(np.average(off, weights=rows.weights)),
        greatest=float(off.max()),
        above={
            limit: float(np.average(off > limit, weights=rows.weights)) for limit in (0.01, 0.05)
        },
        table=table[[name for name in MEASURED if name in table]],
    )
