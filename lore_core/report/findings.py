"""Everything a report says, computed: no picture, no file, no word that depends on a page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lore_core.chance.budget import N_SIMULATED, affordable_intervals
from lore_core.chance.significance import MIN_EFFECTIVE_SIZE
from lore_core.chance.simulation import (
    NullBand,
    NullErrors,
    affordable_null_draws,
    null_band,
    null_errors,
)
from lore_core.comparison.groups import compare_groups, group_report
from lore_core.comparison.methods import Comparison, compare
from lore_core.comparison.summary import Summary, Verdict, summarize, verdict
from lore_core.data.dataset import TOP_LABEL, Dataset, Target
from lore_core.data.progress import Progress
from lore_core.data.validation import InputError
from lore_core.embedding import Embedding, embed
from lore_core.metrics.bandwidth import BandwidthCurve, bandwidth_curve
from lore_core.metrics.catalogue import MIN_GROUP_SIZE
from lore_core.metrics.rewards import RewardCurve, describe_rewards, reward_curve
from lore_core.recalibration import Recalibrator, offered_recalibrators, standard_recalibrators
from lore_core.regions.made_of import composition, describe_composition
from lore_core.regions.search import RegionSearch, find_regions
from lore_core.regions.selection import describe_excess
from lore_core.report.settings import ReportSettings
from lore_core.variables.gaps import rank_variables

__all__ = ["Findings", "examine"]

#: Groups whose intervals are resampled; a column of more names is more like an identifier.
_MOST_GROUPS = 100
_WANTED_DRAWS = 100


@dataclass
class Findings:
    """What was found, part by part; a part that could not be computed is None and says why.

    Attributes
    ----------
    dataset : Dataset
        All rows, with their split.
    settings : ReportSettings
        What was asked.
    embedding, drawn_on : Embedding or None
        The map the kernel works on and the 2-D map of the pictures, all rows.
    missing : dict of str to str
        Why a part is not there, by the part's name.
    """

    dataset: Dataset
    settings: ReportSettings
    embedding: Embedding | None
    drawn_on: Embedding | None = None
    summary: Summary | None = None
    verdict: Verdict | None = None
    chance: NullErrors | None = None
    curve: BandwidthCurve | None = None
    band: NullBand | None = None
    search: RegionSearch | None = None
    made_of: list[str] = field(default_factory=list)
    excess: list[str] = field(default_factory=list)
    compositions: list[pd.DataFrame] = field(default_factory=list)
    variables: pd.DataFrame | None = None
    comparison: Comparison | None = None
    method_curves: dict[str, BandwidthCurve] = field(default_factory=dict)
    group_column: str | None = None
    min_group_size: int = 1
    group_table: pd.DataFrame | None = None
    group_reports: dict[str, pd.DataFrame] = field(default_factory=dict)
    rewards: dict[str, RewardCurve] = field(default_factory=dict)
    own_rewards: dict[str, RewardCurve] = field(default_factory=dict)
    reward_sentence: str = ""
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def evaluation(self) -> Dataset:
        """Rows that are shown and measured."""
        return self.dataset.evaluation

    @property
    def aimed(self) -> Target:
        """Their confidence and outcome."""
        return self.evaluation.target(self.settings.target)

    @property
    def target_name(self) -> str:
        """The target as the command line names it."""
        if self.settings.target == TOP_LABEL:
            return TOP_LABEL
        return self.dataset.class_name(int(self.settings.target))

    @property
    def rows(self) -> str:
        """Which rows are shown, in words."""
        text = f"{len(self.evaluation):,} evaluation rows"
        return text if self.settings.target == TOP_LABEL else f"{text}, class {self.target_name}"

    def points(
        self, embedding: Embedding | None, split: str = "evaluation"
    ) -> NDArray[np.float64] | None:
        """Coordinates of the rows of one split; None without a map."""
        if embedding is None:
            return None
        return np.asarray(embedding.coordinates[self.dataset.in_split(split)])


#: The parts in the order they are computed, and about what share of the time each takes.
_PARTS: list[tuple[str, str, float, Callable[[Findings, Progress], None]]] = []


def _part(
    name: str, said: str, share: float
) -> Callable[[Callable[[Findings, Progress], None]], Callable[[Findings, Progress], None]]:
    def register(
        work: Callable[[Findings, Progress], None],
    ) -> Callable[[Findings, Progress], None]:
        _PARTS.append((name, said, share, work))
        return work

    return register


def examine(
    dataset: Dataset,
    embedding: Embedding | None,
    settings: ReportSettings,
    progress: Progress | None = None,
) -> Findings:
    """Compute every part of a report; a part these data do not allow is left out and said so.

    Parameters
    ----------
    dataset : Dataset
        All rows.
    embedding : Embedding or None
        All rows on the map the kernel works on.
    settings : ReportSettings
        What to compute.
    progress : callable, optional
        Called with the share done; may raise to cancel.

    Raises
    ------
    InputError
        If a setting names something the data do not have.
    """
    found = Findings(dataset, settings, embedding)
    _check(found)
    total, done = sum(share for _, _, share, _ in _PARTS), 0.0
    for name, said, share, work in _PARTS:
        begin, length = done / total, share / total

        def report(part: float, _: str = "", *, start: float = begin, span: float = length,
                   words: str = said) -> None:  # fmt: skip
            if progress is not None:
                progress(start + span * min(part, 1.0), words)

        report(0.0)
        try:
            work(found, report)
        except InputError as error:
            found.missing[name] = str(error)
        done += share
    return found


def _check(found: Findings) -> None:
    """Refuse settings that name what is not there."""
    dataset, settings = found.dataset, found.settings
    dataset.evaluation.target(settings.target)  # raises for an unknown class
    columns = [] if dataset.groups is None else [str(name) for name in dataset.groups.columns]
    if settings.group_column is not None and settings.group_column not in columns:
        raise InputError(f"'group_column' must be one of {columns}; got {settings.group_column!r}.")
    if settings.methods is not None:
        known = [method.label for method in offered_recalibrators()]
        for name in settings.methods:
            if name not in known:
                raise InputError(f"'methods' must be some of {known}; got {name!r}.")
        if not settings.methods:
            raise InputError("'methods' must name at least one recalibrator; got none.")
    if columns:
        found.group_column = settings.group_column or columns[0]
        frame = dataset.evaluation.groups
        assert frame is not None  # it has columns
        largest = int(frame[found.group_column].astype(str).value_counts().max())
        wanted = settings.min_group_size or MIN_GROUP_SIZE
        found.min_group_size = min(wanted, largest)


def _affordable(found: Findings, n_methods: int) -> dict[str, Any]:
    """How much to resample for each method; the global metrics alone where local ones are dear."""
    if found.settings.n_draws is not None:
        return {"n_draws": found.settings.n_draws}
    d = None if found.embedding is None else found.embedding.n_components
    return affordable_intervals(len(found.evaluation), d, n_methods=n_methods, wanted=_WANTED_DRAWS)


@_part("map", "drawing a map", 1.0)
def _map(found: Findings, progress: Progress) -> None:
    embedding, features = found.embedding, found.dataset.features
    if features is None or embedding is None:
        raise InputError(
            "These data came without features (an array 'features', or columns f_*), so it cannot "
            "be said where the confidence is wrong, only by how much on average."
        )
    if embedding.n_components == 2:
        found.drawn_on = embedding
    elif min(features.shape) >= 2:
        found.drawn_on = embed(features, "pca", 2, random_state=0, progress=progress)
    else:
        raise InputError("One feature alone gives no map to draw; two are the least.")


@_part("summary", "measuring", 3.0)
def _summary(found: Findings, progress: Progress) -> None:
    settings, points = found.settings, found.points(found.embedding)
    found.summary = summarize(
        found.evaluation,
        points,
        target=settings.target,
        gamma=settings.gamma,
        random_state=settings.random_state,
        progress=progress,
        **settings.bins,
        **_affordable(found, 1),
    )
    found.verdict = verdict(
        found.summary.reliability, found.summary.local, min_effective_size=MIN_EFFECTIVE_SIZE
    )


@_part("chance", "simulating what chance alone would show", 2.0)
def _chance(found: Findings, progress: Progress) -> None:
    points = found.points(found.embedding)
    if points is None:
        return
    draws = affordable_null_draws(len(points), points.shape[1], 1)
    if not draws or found.settings.n_draws == 0:
        raise InputError("Simulating what chance alone would show takes too long on these rows.")
    found.chance = null_errors(
        found.aimed.confidence, points, gamma=found.settings.gamma, n_draws=draws,
        min_effective_size=MIN_EFFECTIVE_SIZE, random_state=found.settings.random_state,
        progress=progress, **found.settings.bins,
    )  # fmt: skip


@_part("curve", "trying bandwidths", 2.0)
def _curve(found: Findings, progress: Progress) -> None:
    points = found.points(found.embedding)
    if points is None:
        return
    aimed, bins = found.aimed, found.settings.bins
    found.curve = bandwidth_curve(aimed.confidence, aimed.outcome, points, **bins)
    draws = affordable_null_draws(len(points), points.shape[1])
    if draws and found.settings.n_draws != 0:
        found.band = null_band(
            aimed.confidence, points, n_draws=draws, random_state=found.settings.random_state,
            min_effective_size=MIN_EFFECTIVE_SIZE, progress=progress, **bins,
        )  # fmt: skip


@_part("regions", "looking for regions", 2.0)
def _regions(found: Findings, progress: Progress) -> None:
    settings, points = found.settings, found.points(found.embedding)
    if points is None:
        raise InputError("Regions are looked for among the features; these data have none.")
    aimed, dataset = found.aimed, found.evaluation
    found.search = find_regions(
        aimed.confidence, aimed.outcome, points, gamma=settings.gamma, binning=settings.binning,
        q=settings.q, edge=settings.edge, random_state=settings.random_state, progress=progress,
    )  # fmt: skip
    assert dataset.predictions is not None  # set by Dataset
    names = np.array([str(name) for name in dataset.class_names or ()])[dataset.predictions]
    for number in range(len(found.search.regions)):
        inside = found.search.label == number
        made_of = composition(dataset, inside)
        found.compositions.append(made_of)
        found.made_of.append(describe_composition(made_of))
        found.excess.append(describe_excess(names, aimed.confidence, aimed.outcome, inside))


@_part("variables", "ranking columns", 1.0)
def _variables(found: Findings, progress: Progress) -> None:  # noqa: ARG001 -- one step
    found.variables = rank_variables(found.evaluation, target=found.settings.target)


@_part("recalibrators", "fitting the recalibrators", 12.0)
def _recalibrators(found: Findings, progress: Progress) -> None:
    settings, dataset = found.settings, found.dataset
    if dataset.calibration is None:
        raise InputError(
            "Recalibrators are fitted on calibration rows, and these data have none. Add a "
            "calibration file, or split the rows."
        )
    methods = _methods(found)
    points = found.points(found.embedding)
    found.comparison = compare(
        dataset.calibration,
        dataset.evaluation,
        methods,
        calibration_embedding=found.points(found.embedding, "calibration"),
        evaluation_embedding=points,
        gamma=settings.gamma,
        groups=_groups(found),
        min_group_size=found.min_group_size,
        random_state=settings.random_state,
        progress=lambda done, name: progress(done * 0.9, name),
        **settings.bins,
        **_affordable(found, len(methods)),
    )
    if points is not None:
        for label, item in found.comparison.datasets.items():
            found.method_curves[label] = bandwidth_curve(
                item.confidence, item.outcome, points, **settings.bins
            )


def _methods(found: Findings) -> list[Recalibrator]:
    """Those asked for, fresh; without features only global ones."""
    settings, local = found.settings, found.embedding is not None
    given = (settings.gamma, settings.n_bins, settings.binning)
    if settings.methods is None:
        return [item for item in standard_recalibrators(*given) if local or item.is_global]
    made = {item.label: item for item in offered_recalibrators(*given)}
    methods = [made[name] for name in settings.methods if local or made[name].is_global]
    if not methods:
        raise InputError("All recalibrators asked for need features, and these data have none.")
    return methods


def _groups(found: Findings) -> pd.Series[Any] | None:
    frame = found.evaluation.groups
    if frame is None or found.group_column is None:
        return None
    return frame[found.group_column].astype(str)


@_part("groups", "measuring groups", 3.0)
def _group_measures(found: Findings, progress: Progress) -> None:
    groups = _groups(found)
    if groups is None:
        raise InputError("These data name no groups, so it cannot be said for whom it is wrong.")
    settings = found.settings
    few = groups.nunique() <= _MOST_GROUPS
    draws = (_WANTED_DRAWS if settings.n_draws is None else settings.n_draws) if few else 0
    datasets = _datasets(found)
    options = {**settings.bins, "random_state": settings.random_state}
    simulated = N_SIMULATED if draws else 0
    for position, (label, item) in enumerate(datasets.items()):
        progress(position / len(datasets), label)
        found.group_reports[label] = group_report(
            item.confidence, item.outcome, groups, n_draws=simulated, **options
        )
    found.group_table = compare_groups(
        datasets, groups, min_group_size=found.min_group_size, n_draws=draws, **options
    )


def _datasets(found: Findings) -> dict[str, Dataset]:
    if found.comparison is not None:
        return found.comparison.datasets
    return {"No recalibration": found.evaluation}


@_part("decisions", "counting rewards", 1.0)
def _decisions(found: Findings, progress: Progress) -> None:
    settings, datasets = found.settings, _datasets(found)
    first = next(iter(datasets.values())).confidence
    for position, (label, item) in enumerate(datasets.items()):
        progress(position / len(datasets), label)
        found.rewards[label] = reward_curve(item.confidence, item.outcome, baseline=first)
        found.own_rewards[label] = reward_curve(
            item.confidence, item.outcome, [settings.wrong_cost / settings.unsure_cost],
            baseline=first,
        )  # fmt: skip
    found.reward_sentence = describe_rewards(
        found.own_rewards, unsure_cost=settings.unsure_cost, wrong_cost=settings.wrong_cost
    )
