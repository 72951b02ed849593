"""Findings of a report: its numbers and sentences, without figures, files or page text."""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pandas as pd

from lore_core.comparison.conclusions import Conclusion, conclude_recalibration
from lore_core.comparison.effects import compare_groups, compare_rewards
from lore_core.comparison.methods import Comparison
from lore_core.comparison.retraining import GainEstimate
from lore_core.comparison.summary import Summary
from lore_core.comparison.two_models import ModelComparison
from lore_core.data.dataset import TOP_LABEL, Dataset
from lore_core.data.progress import Progress, part_of, tell
from lore_core.data.validation import InputError, check_integer
from lore_core.embedding import Embedding, embed
from lore_core.inference.intervals import N_SIMULATED
from lore_core.inference.simulation import NullBand, NullErrors
from lore_core.inference.whole_vector import class_table, describe_classes
from lore_core.kernel_sums.compute import HAS_NUMBA
from lore_core.kernel_sums.schedule import do_both
from lore_core.metrics.bandwidth import BandwidthCurve
from lore_core.metrics.local_error import VECTOR_COUNTS_ALIKE
from lore_core.metrics.rewards import RewardCurve, describe_rewards, unsure_threshold
from lore_core.recalibration import offered_recalibrators, standard_recalibrators
from lore_core.regions import SavedSubgroup, SubgroupSearch, Verdict, identified
from lore_core.view import View, inference, methods, where

#: Function that compares the methods of some labels, by groups if asked; reports progress.
Comparing = Callable[[list[str], methods.Grouping | None, Progress | None], Comparison]

#: Groups whose intervals are simulated; a column of more names is more like an identifier.
_MAX_GROUPS = 100
#: Of more rows whole vectors are not tested, and curves are of the methods drawn unasked.
_MANY_ROWS = 300_000


@dataclass(frozen=True)
class ReportSettings:
    """Everything that changes a report's numbers, besides the view."""

    #: Labels of the recalibrators, the reference first. None: the standard ones.
    methods: tuple[str, ...] | None = None
    group_column: str | None = None  #: Group column of the fairness section; None: the first
    #: Smaller groups do not set the maximum. None: 30, or the largest group where all are smaller.
    min_group_size: int | None = None
    #: Costs of the decisions section.
    unsure_cost: float = 1.0
    wrong_cost: float = 10.0
    #: Resamples a method, and simulations of chance; None: what takes some seconds, 0: none.
    n_draws: int | None = None

    def __post_init__(self) -> None:
        unsure_threshold(self.unsure_cost, self.wrong_cost)
        if self.n_draws is not None:
            check_integer(self.n_draws, "n_draws", minimum=0)


@dataclass(frozen=True)
class Source:
    """Where the data came from, for rerunning the report."""

    #: The DATA arguments of the command line; empty if unknown.
    files: tuple[str, ...] = ()
    #: How they were read: ``--column``, ``--calibration-share``, ``--seed``.
    options: tuple[str, ...] = field(default=())


@dataclass
class Findings:
    """Everything computed for a report, by part; ``missing`` says why a part is not there."""

    view: View  #: The rows and settings of the report
    settings: ReportSettings  #: Further settings
    comparing: Comparing | None = None  #: Fits and measures; None: comparison_of
    saved: Sequence[SavedSubgroup] = ()  #: Subgroups with the names and notes that users gave
    for_figures: bool = False  #: Whether only what figures show is computed
    models: ModelComparison | None = None  #: How another model differs, if one was given
    picture_map: Embedding | None = None  #: The 2-D map of the pictures, all rows
    summary: Summary = field(init=False)
    verdict: Verdict = field(init=False)  #: The headline and its evidence
    chance: NullErrors | None = None
    curve: BandwidthCurve | None = None
    band: NullBand | None = None
    remaining: str = ""  #: What a global method would leave, in a sentence
    search: SubgroupSearch = field(init=False)  #: Where the confidence is worse than on average
    #: Compositions of the regions among the subgroups, by their number from 0.
    compositions: dict[int, pd.DataFrame] = field(default_factory=dict)
    vector_sentence: str = ""  #: On the calibration of the whole vector
    classes: pd.DataFrame | None = None  #: Every class, the largest error first
    variables: pd.DataFrame = field(init=False)
    comparison: Comparison | None = None
    recalibration: Conclusion | None = None  #: What methods gain, in a sentence
    method_curves: dict[str, BandwidthCurve] = field(default_factory=dict)
    grouping: methods.Grouping | None = None
    group_table: pd.DataFrame | None = None
    group_reports: dict[str, pd.DataFrame] = field(default_factory=dict)
    rewards: dict[str, RewardCurve] = field(init=False)
    rewards_at_costs: dict[str, RewardCurve] = field(init=False)  #: At the costs of the report
    reward_sentence: str = ""
    gains: GainEstimate | None = None  #: What recalibration and retraining could gain
    retraining_sentence: str = ""  #: Recalibrate, or retrain?
    retraining: pd.DataFrame | None = None  #: What each gains
    #: Why a part is not there, by the part's name.
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def embedding(self) -> Embedding | None:
        """Map of the kernel, all rows."""
        return self.view.embedding if self.view.is_local else None

    @property
    def group_column(self) -> str | None:
        """Column of the groups, if any."""
        return None if self.grouping is None else self.grouping.column

    @property
    def min_group_size(self) -> int:
        """Smaller groups do not set the maximum."""
        return 1 if self.grouping is None else self.grouping.min_group_size


#: A part: its name in ``Findings.missing``, what progress shows meanwhile, its share of the
#: time, and what fills it in, or returns why these data do not allow it.
_Part = tuple[str, str, float, Callable[[Findings, Progress | None], str | None]]


def examine(
    view: View,
    settings: ReportSettings,
    progress: Progress | None = None,
    comparing: Comparing | None = None,
    saved: Sequence[SavedSubgroup] = (),
    *,
    for_figures: bool = False,
) -> Findings:
    """Compute every part of a report; ``missing`` says why a part is left out.

    ``comparing``: in place of :func:`~lore_core.view.methods.comparison_of`, to the same result.
    ``saved``: subgroups whose names and notes are taken. ``for_figures``: compute only what figures
    show, and of many rows what pages show unasked. Raises InputError if a setting names
    something the data do not have.
    """
    if HAS_NUMBA:  # sums by numpy differ in the last bit, and a report is made again to that
        importlib.import_module("lore_core.kernel_sums.compiled")
    columns = methods.group_columns(view.dataset)
    if settings.group_column is not None and settings.group_column not in columns:
        raise InputError(f"'group_column' must be one of {columns}; got {settings.group_column!r}.")
    grouping = methods.grouping_of(view.dataset, settings.group_column, settings.min_group_size)
    findings = Findings(view, settings, comparing, saved, for_figures, grouping=grouping)
    _ = view.target_rows  # raises for an unknown class
    if settings.methods == ():
        raise InputError("'methods' must name at least one recalibrator; got none.")
    if settings.methods:
        known = [method.label for method in offered_recalibrators()]
        for name in settings.methods:
            if name not in known:
                raise InputError(f"'methods' must be some of {known}; got {name!r}.")
    for parts, begin, end in ((_ABOUT_ROWS, 0.0, 0.7), (_ABOUT_METHODS, 0.7, 1.0)):
        own, (*others, longest) = part_of(progress, begin, end), parts
        if comparing is None and view.calibration is not None:
            other = partial(_compute, findings, others)
            do_both(other, partial(_compute, findings, [longest]), own)
        else:
            _compute(findings, parts, own)
    known = [name for name, *_ in (*_ABOUT_ROWS, *_ABOUT_METHODS) if name in findings.missing]
    findings.missing = {name: findings.missing[name] for name in known}
    return findings


def _compute(findings: Findings, parts: Sequence[_Part], progress: Progress | None) -> None:
    total, done = sum(share for _, _, share, _ in parts), 0.0
    for name, text, share, work in parts:
        begin, done = done, done + share
        own = part_of(progress, begin / total, done / total, text)
        tell(own, 0.0, text)
        why_not = work(findings, own)
        if why_not is not None:
            findings.missing[name] = why_not


def _map(findings: Findings, progress: Progress | None) -> str | None:
    view, features = findings.view, findings.view.dataset.features
    if features is None or not view.is_local:
        return (
            "These data came without features (an array 'features', or columns f_*), so there is "
            "no map of where the confidence is wrong."
        )
    if view.embedding.n_components == 2:
        findings.picture_map = view.embedding
    elif min(features.shape) >= 2:
        findings.picture_map = embed(features, "pca", 2, random_state=0, progress=progress)
    else:
        return "One feature alone gives no map to draw; two are the least."
    return None


def _summary(findings: Findings, progress: Progress | None) -> None:
    draws = 0 if findings.for_figures else findings.settings.n_draws
    findings.summary = methods.summary_of(findings.view, n_draws=draws, progress=progress)


def _chance(findings: Findings, progress: Progress | None) -> str | None:
    if not findings.view.is_local:
        return None
    findings.chance = inference.chance_errors_of(
        findings.view, n_draws=findings.settings.n_draws, progress=progress
    )
    if findings.chance is None and findings.settings.n_draws != 0:
        return "Simulating a calibrated model takes too long on these rows."
    return None


def _curve(findings: Findings, progress: Progress | None) -> None:
    if findings.view.is_local:
        findings.curve = where.curve_of(findings.view)
        findings.band = inference.chance_band_of(
            findings.view, n_draws=findings.settings.n_draws, progress=progress
        )


def _subgroups(findings: Findings, progress: Progress | None) -> None:
    halves = where.view_halves(findings.view)
    search = where.subgroups_of(findings.view, halves=halves, progress=progress)
    findings.search = identified(search, findings.view.evaluation, findings.saved)
    if findings.for_figures:
        return
    overall = where.overall_of(findings.view)
    findings.verdict = where.verdict_of(findings.view, findings.search, overall=overall)
    if findings.verdict.level != "good":
        found = methods.remaining_of(findings.view, progress, halves=halves)
        findings.remaining = "" if found is None else found.sentence(overall)
    findings.compositions = where.compositions_of(findings.view, findings.search)
    if findings.search.subgroups:
        findings.gains = methods.gains_of(findings.view)


def _vector(findings: Findings, progress: Progress | None) -> None:
    view = findings.view
    if not (view.is_local and view.dataset.complete) or findings.settings.n_draws == 0:
        return
    if findings.for_figures:  # which none is of
        return
    if len(view.evaluation) > _MANY_ROWS:
        findings.vector_sentence = (
            "Not tested: it would be simulated for minutes on so many rows. The dashboard does so "
            "for the target “whole vector”."
        )
        return
    if view.dataset.weights is not None:
        findings.vector_sentence = VECTOR_COUNTS_ALIKE
        return
    errors = inference.vector_errors_of(view)
    chance = inference.vector_chance_of(view, errors, progress=progress)
    findings.classes = class_table(view.evaluation, errors, chance, **view.bins)
    findings.vector_sentence = f"{chance.sentence} {describe_classes(findings.classes)}".strip()


def _variables(findings: Findings, progress: Progress | None) -> None:  # noqa: ARG001 -- one step
    findings.variables = where.ranking_of(findings.view)


def _recalibrators(findings: Findings, progress: Progress | None) -> str | None:
    if findings.view.calibration is None:
        return (
            "Recalibrators are fitted on calibration rows, and these data have none. Add a "
            "calibration file, or split the rows."
        )
    view, draws = findings.view, findings.settings.n_draws
    offered = methods.recalibrators_of(view)  # (without features only global ones)
    wanted = findings.settings.methods
    if wanted is None:
        wanted = tuple(method.label for method in standard_recalibrators())
    chosen = [offered[name] for name in wanted if name in offered]
    if not chosen:
        return "All recalibrators asked for need features, and these data have none."
    if findings.comparing is not None:
        names = [method.label for method in chosen]
        findings.comparison = findings.comparing(names, findings.grouping, progress)
    else:
        # Global metrics alone where local ones would take too long.
        options = methods.interval_options(view, draws, n_methods=len(chosen))
        findings.comparison = methods.comparison_of(
            view, chosen, options, grouping=findings.grouping, progress=progress
        )
    return None


def _method_curves(findings: Findings, progress: Progress | None) -> None:
    view, result, known = findings.view, findings.comparison, findings.curve
    if result is None or not view.is_local:
        return
    few = findings.for_figures or len(view.evaluation) > _MANY_ROWS
    shown = methods.drawn_first(result) if few else list(result.datasets)
    for label in shown:
        tell(progress, len(findings.method_curves) / len(shown), label)
        c = result.datasets[label].confidence
        same = view.target == TOP_LABEL and np.array_equal(c, view.target_rows.confidence)
        made = known if known and same else where.curve_of(view, confidence=c)
        findings.method_curves[label] = made


def _group_measures(findings: Findings, progress: Progress | None) -> str | None:
    frame = findings.view.evaluation.groups
    if frame is None or findings.grouping is None:
        return "These data name no groups."
    groups = frame[findings.grouping.column].astype(str)
    simulated = findings.settings.n_draws != 0 and groups.nunique() <= _MAX_GROUPS
    datasets, n_draws = _datasets(findings), N_SIMULATED if simulated else 0
    findings.group_reports = methods.group_reports_of(
        findings.view, datasets, groups, n_draws=n_draws, progress=progress
    )
    findings.group_table = compare_groups(
        datasets, groups, **findings.view.bins, min_group_size=findings.grouping.min_group_size
    )
    return None


def _datasets(findings: Findings) -> dict[str, Dataset]:
    if findings.comparison is not None:
        return findings.comparison.datasets
    return {"No recalibration": findings.view.evaluation}


def _decisions(findings: Findings, progress: Progress | None) -> None:  # noqa: ARG001 -- one step
    settings, datasets, result = findings.settings, _datasets(findings), findings.comparison
    ratio = settings.wrong_cost / settings.unsure_cost
    findings.rewards = compare_rewards(datasets)
    if findings.for_figures:
        return
    findings.rewards_at_costs = compare_rewards(datasets, [ratio])
    findings.reward_sentence = describe_rewards(
        findings.rewards_at_costs, unsure_cost=settings.unsure_cost, wrong_cost=settings.wrong_cost
    )
    view = findings.view
    if result is not None:
        _ = result.differences, result.most_probable  # for tables and the page
        search = findings.search if view.target == TOP_LABEL else None
        findings.recalibration = conclude_recalibration(result, search)
    if view.calibration is not None or not view.dataset.is_simple_sample:
        known = findings.gains if view.target == TOP_LABEL else None
        findings.retraining_sentence, findings.retraining = where.retraining_of(view, known)


#: Parts that use those before them. The last, the longest, is done while the others are.
_ABOUT_ROWS: tuple[_Part, ...] = (
    ("map", "drawing a map", 1.0, _map),
    ("summary", "measuring", 3.0, _summary),
    ("chance", "simulating a calibrated model", 2.0, _chance),
    ("curve", "trying bandwidths", 2.0, _curve),
    ("subgroups", "searching subgroups", 2.0, _subgroups),
    ("vector", "testing every class", 2.0, _vector),
    ("variables", "ranking columns", 1.0, _variables),
    ("recalibrators", "fitting the recalibrators", 8.0, _recalibrators),
)
_ABOUT_METHODS: tuple[_Part, ...] = (
    ("groups", "measuring groups", 3.0, _group_measures),
    ("decisions", "counting rewards", 2.0, _decisions),
    ("curves", "trying bandwidths", 4.0, _method_curves),
)
