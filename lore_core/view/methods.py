"""Metrics of a view, before and after recalibration."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lore_core.comparison.effects import group_report
from lore_core.comparison.methods import Comparison, compare
from lore_core.comparison.retraining import GainEstimate, estimate_gains
from lore_core.comparison.summary import Summary, summarize
from lore_core.comparison.tables import metric_table
from lore_core.comparison.two_models import ModelComparison, SameRows, compare_same_rows
from lore_core.data.abstention import AnswerThreshold
from lore_core.data.arrays import Floats, Mask
from lore_core.data.dataset import Dataset, Target
from lore_core.data.probabilities import PROBABILITY_FLOOR
from lore_core.data.progress import Progress, part_of, tell
from lore_core.data.units import mean_values, random_folds
from lore_core.data.validation import InputError
from lore_core.embedding import Embedding
from lore_core.embedding.embed import make_maps
from lore_core.inference.intervals import N_SIMULATED, affordable_intervals, calibration_intervals
from lore_core.inference.simulation import NullErrors
from lore_core.mergeable.cell_sums.summaries import metrics_of_sums
from lore_core.metrics.catalogue import MIN_GROUP_SIZE
from lore_core.metrics.local_error import LocalErrors
from lore_core.metrics.rewards import answer_threshold, risk_curve
from lore_core.recalibration import MatrixScaling, Recalibrator, offered_recalibrators
from lore_core.recalibration.dataset_rows import cross_fitted
from lore_core.recalibration.registry import named_recalibrator
from lore_core.regions.subgroups.find import Halves, halves_of
from lore_core.regions.subgroups.overall import overall_gap
from lore_core.regions.subgroups.verdict import Remaining
from lore_core.view.inference import chance_errors_of
from lore_core.view.view import SumsView, View, scored_by_unit

#: Methods drawn unasked.
_MOST_DRAWN = 6
#: Calibration rows that set the thresholds tried.
_MAX_REFERENCE = 1000
ABOUT_ABSTENTION = (
    "Guaranteed by evaluation rows, which fitted no recalibrator; not if they trained the model."
)


@dataclass(frozen=True)
class Grouping:
    """The groups that set the maximum group-wise MCE."""

    column: str  #: Group column
    min_group_size: int  #: Groups of fewer evaluation rows are left out


def group_columns(dataset: Dataset) -> list[str]:
    """Return the names of the group columns."""
    return [] if dataset.groups is None else [str(name) for name in dataset.groups.columns]


def group_names(dataset: Dataset, columns: Sequence[str]) -> NDArray[np.object_]:
    """Return the group of every row; for several columns their intersections, joined by ×."""
    frame = dataset.groups if dataset.groups is not None else pd.DataFrame()
    first, *others = (frame[column].astype(str) for column in columns)
    return np.asarray(reduce(lambda names, other: names + " × " + other, others, first), object)


def group_masks(dataset: Dataset, column: str) -> dict[str, Mask]:
    """Return the rows of each group of a column, by its name, the largest first."""
    names = group_names(dataset, [column])
    return {str(name): names == name for name in pd.Series(names).value_counts().index}


def grouping_of(
    dataset: Dataset, column: str | None = None, min_group_size: int | None = None
) -> Grouping | None:
    """Return the groups of the maximum group-wise MCE, by default the first column's, or None."""
    frame = dataset.evaluation.groups
    if frame is None:
        return None
    column = group_columns(dataset)[0] if column is None else column
    return Grouping(
        column, counted_group_size(group_names(dataset.evaluation, [column]), min_group_size)
    )


def counted_group_size(groups: NDArray[np.object_], min_group_size: int | None = None) -> int:
    """Return the size from which on a group counts, at most that of the largest of ``groups``."""
    largest = int(pd.Series(groups).value_counts().max())
    return min(min_group_size or MIN_GROUP_SIZE, largest)


def interval_options(
    view: View, n_draws: int | None = None, *, n_methods: int = 1, on: Embedding | None = None
) -> dict[str, Any]:
    """Return arguments for simulated intervals: with ``n_draws``, else what takes some seconds."""
    if n_draws is not None:
        return {"n_draws": max(n_draws, N_SIMULATED) if n_draws else 0}
    embedding = view.embedding if on is None and view.is_local else on
    dimensions = None if embedding is None else embedding.n_components
    return affordable_intervals(len(view.evaluation), dimensions, n_methods=n_methods)


def summary_of(
    view: View,
    *,
    n_draws: int | None = None,
    errors: LocalErrors | None = None,
    progress: Progress | None = None,
) -> Summary:
    """Return every metric of the evaluation rows; ``n_draws``: 0 for no simulated intervals."""
    return summarize(
        view.evaluation,
        view.points_if_any,
        target=view.target,
        **view.local,
        local=errors,
        random_state=view.seed,
        progress=progress,
        **interval_options(view, n_draws),
    )


def metrics_of(
    view: View | SumsView, *, n_draws: int | None = None, progress: Progress | None = None
) -> tuple[pd.DataFrame, NullErrors | None]:
    """Return all metrics with intervals (of sums: bounds), and their null distribution if any."""
    if isinstance(view, SumsView):
        chance = chance_errors_of(view, n_draws=n_draws, progress=part_of(progress, 0.8, 0.9))
        measuring = part_of(progress, 0.9, 1.0)
        table = metrics_of_sums(view.sums, gamma=view.gamma, chance=chance, progress=measuring)
        return table, chance
    summary = summary_of(view, n_draws=n_draws, progress=progress)
    chance = None
    if view.is_local:
        chance = chance_errors_of(view, n_draws=n_draws, progress=progress)
    return metric_table(summary, chance), chance


def recalibrators_of(view: View) -> dict[str, Recalibrator]:
    """Return the unfitted recalibrators that these rows allow, by label."""
    offered = offered_recalibrators(**view.local)
    if view.dataset.weights is not None:
        offered = [item for item in offered if item.takes_weights]
    return {item.label: item for item in offered if view.is_local or item.is_global}


def comparison_of(
    view: View,
    methods: Sequence[Recalibrator],
    options: Mapping[str, Any],
    *,
    grouping: Grouping | None = None,
    measured_on: Embedding | None = None,
    **how: Any,
) -> Comparison:
    """Fit methods on calibration rows; measure them on evaluation rows, mapped like new rows.

    ``options``: of :func:`interval_options`. ``measured_on``: map of the local errors. ``how``:
    ``progress, map_array, earlier, show`` of :func:`~lore_core.comparison.methods.compare`.
    """
    frame = view.evaluation.groups
    calibration = require_calibration(view.dataset)
    return compare(
        calibration,
        view.evaluation,
        methods,
        calibration_embedding=_on_maps(view, view.known, calibration),
        evaluation_embedding=_on_maps(view, view.as_new, view.evaluation),
        metric_embedding=view.points(on=measured_on) if view.is_local else None,
        **view.local,
        groups=None if grouping is None or frame is None else frame[grouping.column],
        min_group_size=1 if grouping is None else grouping.min_group_size,
        random_state=view.seed,
        **options,
        **how,
    )


def models_of(
    view: View,
    pair: SameRows,
    *,
    errors: Callable[[View], LocalErrors] | None = None,
    progress: Progress | None = None,
) -> ModelComparison:
    """Compare two models, of which one is that of the view, on its map.

    ``errors``: returns the local errors of a view, in any thread.
    """
    views = model_views(view, pair)
    return compare_same_rows(
        pair,
        view.embedding.coordinates[pair.rows] if view.is_local else None,
        errors=errors and (lambda name: errors(views[name])),
        target=view.target,
        **view.local,
        random_state=view.seed,
        progress=progress,
    )


def model_views(view: View, pair: SameRows) -> dict[str, View]:
    """Return a view of each of two models, of the same rows on the same maps, by its name."""
    maps = {
        name: on if len(on) == len(pair.rows) else on.rows(pair.rows)
        for name, on in view.maps.items()
    }
    return {of.name: view.with_(dataset=of, maps=maps) for of in (pair.first, pair.second)}


def drawn_first(result: Comparison) -> list[str]:
    """Return the methods drawn unasked: the first, plain LoRe and the best others, six at most."""
    methods = list(result.datasets)
    ranked = [name for name in ("LoRe", *result.ranking) if name in methods[1:]]
    chosen = {methods[0], *list(dict.fromkeys(ranked))[: _MOST_DRAWN - 1]}
    return [name for name in methods if name in chosen]


def intervals_of(
    view: View,
    confidences: Mapping[str, Floats],
    *,
    measured_on: Embedding | None = None,
    progress: Progress | None = None,
) -> dict[str, pd.DataFrame] | None:
    """Simulate intervals of calibration errors; None if that takes more than some seconds."""
    options = interval_options(view, n_methods=len(confidences), on=measured_on)
    if not options["n_draws"]:
        return None
    points = view.points(on=measured_on) if view.is_local and options["local_intervals"] else None
    found, outcome = {}, view.evaluation.outcome
    for position, (label, confidence) in enumerate(confidences.items()):
        tell(progress, position / len(confidences), label)
        found[label] = calibration_intervals(
            confidence,
            outcome,
            points,
            **view.local,
            n_draws=options["n_draws"],
            weights=view.evaluation.weights,
            units=view.evaluation.units,
            random_state=view.seed,
        )
    return found


def require_calibration(dataset: Dataset) -> Dataset:
    """Return the calibration rows; InputError if there are none."""
    if dataset.calibration is None:
        raise InputError(
            f"'{dataset.name}' must have calibration rows to fit on; it has none. Add a "
            "calibration file, or split the rows."
        )
    return dataset.calibration


def gains_of(view: View) -> GainEstimate | None:
    """Estimate on calibration rows what could be gained; None without, or with weights or units."""
    if view.calibration is None or not view.dataset.is_simple_sample:
        return None
    return estimate_gains(
        view.calibration, view.evaluation, target=view.target, random_state=view.seed
    )


#: Global methods to try, the simplest first; limits of their calibration rows and classes.
_GLOBAL_METHODS = ("temperature", "beta", "matrix")
_MAX_ROWS, _FOLDS, _MAX_MATRIX_CLASSES = 20_000, 5, 30


def remaining_of(
    view: View,
    progress: Progress | None = None,
    *,
    earlier: Remaining | None = None,
    halves: Halves | None = None,
) -> Remaining | None:
    """Search for subgroups that the best global method leaves; None without calibration rows.

    The method is chosen by cross-validated log loss on at most 20,000 calibration rows and fitted
    on all of these. Temperature scaling is kept unless another is better by one standard error.
    ``earlier``: found at another bandwidth, with other bins or maps; its method is used.
    ``halves``: of the rows before, whose columns are taken.
    """
    if view.calibration is None or len(view.calibration) < 2 * _FOLDS:
        return None
    tell(progress, 0.0, "fitting a global method")
    method = _best_global(view.calibration, view) if earlier is None else earlier.method
    after = method.recalibrate(view.evaluation)
    halves = halves_of(after, target=view.target, random_state=view.seed, like=halves)
    return Remaining(
        method=method,
        overall=overall_gap(
            **scored_by_unit(after.target(view.target)), **view.bins, random_state=view.seed
        ),
        search=halves.search(
            view.points_if_any, gamma=view.gamma, progress=part_of(progress, 0.5, 1.0)
        ),
    )


def _best_global(calibration: Dataset, view: View) -> Recalibrator:
    """Return the global method of the lowest cross-validated log loss, fitted."""
    if len(calibration) > _MAX_ROWS:
        chosen = np.random.default_rng(view.seed).permutation(len(calibration))[:_MAX_ROWS]
        calibration = calibration.rows(np.sort(chosen))
    methods = [named_recalibrator(name) for name in _GLOBAL_METHODS]
    if not calibration.complete or calibration.n_classes > _MAX_MATRIX_CLASSES:
        methods = [item for item in methods if not isinstance(item, MatrixScaling)]
    fold = random_folds(calibration.units, len(calibration), _FOLDS, view.seed)
    rows = [cross_fitted(method, calibration, fold).target(view.target) for method in methods]
    observed = np.array([np.where(x.outcome > 0, x.confidence, 1 - x.confidence) for x in rows])
    losses = -np.log(np.maximum(observed, PROBABILITY_FLOOR))
    excess = losses - losses[0]
    mean = np.average(excess, axis=1, weights=calibration.weights)
    if (units := calibration.units) is not None:
        excess = np.stack([mean_values(of, calibration.weights, units) for of in excess])
    error = excess.std(axis=1) / np.sqrt(excess.shape[1])
    return methods[int(np.argmin(np.where(mean + error < 0, mean, 0.0)))].fit(calibration)


def _on_maps(
    view: View, rows_of: Callable[[Embedding], Embedding], rows: Dataset
) -> dict[str, Embedding] | None:
    """Return ``rows``, which ``rows_of`` picks, on the view's maps and LoRe smooth's components."""
    maps = {name: rows_of(embedding) for name, embedding in view.maps.items()}
    known = require_calibration(view.dataset).features
    if maps and known is not None and rows.features is not None:
        (made,) = make_maps(known, "pca-20").values()
        if made.name.title not in maps:
            maps[made.name.title] = replace(made, coordinates=made.transform(rows.features))
    return maps or None


def group_reports_of(
    view: View,
    rows: Mapping[str, Dataset | Target],
    groups: Any,
    *,
    n_draws: int = N_SIMULATED,
    progress: Progress | None = None,
) -> dict[str, pd.DataFrame]:
    """Return a table of the groups' metrics for every method, of its ``rows``."""
    options: dict[str, Any] = {**view.bins, "n_draws": n_draws, "random_state": view.seed}
    made = {}
    for position, (method, scores) in enumerate(rows.items()):
        tell(progress, position / len(rows), method)
        made[method] = group_report(**scored_by_unit(scores), groups=groups, **options)
    return made


@dataclass(frozen=True)
class Abstention:
    """Error rates among rows answered, and thresholds that guarantee a largest one."""

    curves: dict[str, pd.DataFrame]  #: Of the first method, and of the other that answers most
    #: By method, those first that answer most; then by group, of the method ranked first
    thresholds: dict[str, AnswerThreshold]

    @property
    def sentence(self) -> str:
        """The threshold of the method that answers most, or why there is none."""
        name, best = next(iter(self.thresholds.items()))
        return best.sentence if best.confidence is None else f"With “{name}” {best.sentence}"

    def table(self) -> dict[str, list[str]]:
        """Return the thresholds as columns of text, none of them empty."""
        rows = [{"method, group": name, **of.cells()} for name, of in self.thresholds.items()]
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        return {name: texts for name, texts in columns.items() if any(texts)}


def abstention_of(
    view: View,
    result: Comparison,
    risk: float,
    *,
    rows: Mask | slice = slice(None),
    groups: Mapping[str, Mask] | None = None,
    n_tried: int = 1,
) -> Abstention:
    """Find from which confidence on a share ``risk`` of wrong answers is guaranteed.

    ``rows`` (n,): evaluation rows that count. ``groups``: rows by name, for each of which the
    method ranked first has a threshold, too. All hold at once for every method and group;
    ``n_tried``: subgroups tested before some were listed.
    """
    known = require_calibration(view.dataset)
    some = np.random.default_rng(view.seed).permutation(len(known))[:_MAX_REFERENCE]
    reference = known.rows(some)
    on = _on_maps(view, lambda embedding: view.known(embedding).rows(some), reference)
    references = {
        name: method.recalibrate(reference, on if method.needs_embedding else None)
        for name, method in result.recalibrators.items()
    }
    groups = groups or {}
    n_methods, n_groups = len(references), max(len(groups), n_tried)
    n_joint = max(n_methods * n_groups, n_methods + len(groups))

    def curve_of(name: str, chosen: Mask | slice) -> pd.DataFrame:
        made = scored_by_unit(result.datasets[name], chosen)
        return risk_curve(**made, reference=references[name].confidence)

    curves = {name: curve_of(name, rows) for name in references}
    found = {name: answer_threshold(of, risk, n_joint=n_joint) for name, of in curves.items()}
    ordered = dict(sorted(found.items(), key=lambda item: -item[1].n_answered))
    two = [*dict.fromkeys((next(iter(curves)), *ordered))][:2]
    drawn = {name: curves[name] for name in two}
    for group, chosen in groups.items():
        curve = curve_of(result.ranking[0], chosen)
        ordered[f"{result.ranking[0]}, {group}"] = answer_threshold(curve, risk, n_joint=n_joint)
    return Abstention(drawn, ordered)
