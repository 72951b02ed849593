"""LoRe that chooses its own settings on the calibration rows, and averages the plausible ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self, TypedDict

import numpy as np

from lore_core.data.arrays import Floats, Ints
from lore_core.data.binning import Binning, ConfidenceBins, accuracy_by_bin, confidence_bins
from lore_core.data.probabilities import PROBABILITY_FLOOR
from lore_core.data.rows import Rows
from lore_core.data.validation import OnMaps
from lore_core.embedding.several import maps_by_name
from lore_core.kernel_sums import laplacian_means
from lore_core.metrics.local_error import scaled_bandwidth
from lore_core.recalibration.averaging import (
    confidence_levels,
    global_line,
    on_line,
    stacked_weights,
)
from lore_core.recalibration.base import Recalibrator
from lore_core.recalibration.cells import cells_of, each_row, means_of, rounded, sizes_of
from lore_core.recalibration.dataset_rows import coordinates_of
from lore_core.recalibration.local_correction import corrected, lowest_confidence
from lore_core.recalibration.other_classes import OtherClasses
from lore_core.recalibration.tuning import Trial, leave_one_out

if TYPE_CHECKING:
    import pandas as pd

    from lore_core.data.dataset import Dataset
    from lore_core.data.progress import Progress

#: Candidates of less weight than this are left out of the average.
_SMALLEST_WEIGHT = 1e-3


class KeptMap(TypedDict):
    """A map that candidates of some weight use."""

    name: str | None  #: None: the first of those given
    points: Floats  #: (n, d) coordinates of the calibration rows


class Partition(TypedDict):
    """Confidence bins that candidates of some weight use."""

    edges: Floats  #: (n_bins + 1,) from 0 to 1
    bin_index: Ints  #: (n,) bins of the calibration rows


class Member(TypedDict):
    """A candidate of some weight."""

    map: int  #: its place in ``maps``
    partition: int  #: its place in ``partitions``
    base: int  #: its place in ``bases``
    gamma: float
    prior_strength: float
    weight: float  #: share of the average


class State(TypedDict):
    """What LoRe tuned fits: the calibration rows, and what was made of all candidates."""

    binning: Binning  #: how confidence bins were chosen
    count: Ints | None  #: (n,) rows of each cell, all below their means; None: rows
    outcome: Floats  #: (n,) 1 where the prediction was right, else 0
    maps: list[KeptMap]
    partitions: list[Partition]
    bases: list[Recalibrator | None]  #: fitted
    leftover: Floats  #: (n, n_bases) the outcomes, less each base's confidences
    members: list[Member]  #: none where nothing could be compared
    line: tuple[float, float] | None  #: slope and intercept
    level_edges: Floats | None  #: (n_levels + 1,) which confidences share a level
    level_confidence: Floats  #: (n_levels,) what each level says
    other_classes: dict[str, float]  #: temperature and offset of OtherClasses
    candidates: dict[str, Any]  #: columns of the table of all of them, best first


class TunedLoRe(Recalibrator):
    """LoRe with map, γ, bins, base and pseudo-rows weighed by leave-one-out likelihood.

    Fitting looks at calibration rows only and leaves nothing to set. With a single calibration row
    there is nothing to choose by, and every confidence stays.

    Parameters
    ----------
    gammas, n_bins, bases, prior_strengths, binning, max_rows
        What to choose from: see :func:`~lore_core.recalibration.tuning.leave_one_out`.
    average : bool
        Average the plausible candidates; False takes the best one.
    line : bool
        Correct the average as a whole by a logistic curve.
    levels : bool
        Pool the corrected confidences to levels that are backed by many calibration rows.

    Attributes
    ----------
    candidates_ : DataFrame
        All candidates with their leave-one-out NLL (of the whole vector, as LoRe with that base
        gives it) and ``weight`` in the average, best first.
    line_ : tuple of float or None
        Slope and intercept; None without the line.
    levels_ : ConfidenceBins or None
        Which averaged confidences share a level; None without levels.
    level_confidence_ : ndarray of shape (n_levels,)
        What each level says.
    other_classes_ : OtherClasses
        How the rest is shared among the classes that were not predicted.

    Notes
    -----
    Everything after the candidates is fitted to leave-one-out confidences q_i, so no row vouches
    for itself.

    *Average.* On some hundred rows the likelihoods of many settings differ by less than chance,
    and taking the best of them is taking the luckiest. Candidates are averaged,
    q = Σ_m w_m q_m, with weights between pseudo-BMA+ and stacking: see
    :func:`~lore_core.recalibration.averaging.stacked_weights`.

    *Line.* q' = 1/(1 + exp(−(α logit q + β))), with a prior around α = 1, β = 0: see
    :func:`~lore_core.recalibration.averaging.global_line`.

    *Levels.* An average of local estimates says something slightly different to every row, and some
    of it to a handful of rows only; that can neither be checked nor be relied on, and it is what
    the maxima over bins, places and groups pick out. So confidences are pooled to about 0.8·∛n
    levels, each told the mean of its calibration rows: see
    :func:`~lore_core.recalibration.averaging.confidence_levels`. ∛n is the rate at which a step
    function's resolution and its noise balance. This is the binning half of Kumar et al.'s
    scaling-binning calibrator. It costs a little likelihood (``levels=False`` shows how much).

    *Other classes.* The likelihood of a vector is that of the predicted class's confidence times
    that of the other classes' shares of the rest; the two are fitted apart: see
    :class:`~lore_core.recalibration.other_classes.OtherClasses`.

    References
    ----------
    Yao, Vehtari, Simpson, Gelman, "Using stacking to average Bayesian predictive distributions",
    Bayesian Analysis 13, 2018. Kumar, Liang, Ma, "Verified uncertainty calibration", NeurIPS 2019.
    """

    label = "LoRe tuned"
    numbers_in_words = "settings and weights of what is averaged"
    needs_embedding = True
    line_: tuple[float, float] | None
    level_confidence_: Floats

    def __init__(
        self,
        *,
        gammas: Sequence[float] | None = None,
        n_bins: Sequence[int] = (1, 5, 15),
        bases: Sequence[Recalibrator | None] | None = None,
        prior_strengths: Sequence[float] = (0.0, 1.0, 5.0, 20.0, 80.0),
        binning: Binning = "equal-width",
        max_rows: int = 10_000,
        average: bool = True,
        line: bool = True,
        levels: bool = True,
    ) -> None:
        self.gammas = gammas
        self.n_bins = n_bins
        self.bases = bases
        self.prior_strengths = prior_strengths
        self.binning = binning
        self.max_rows = max_rows
        self.average = average
        self.line = line
        self.levels = levels

    @classmethod
    def standard(cls, gamma: float, n_bins: int, binning: Binning) -> Self:
        """Return the method with bins chosen like this; it chooses γ and their number."""
        return cls(binning=binning)

    @property
    def candidates_(self) -> pd.DataFrame:
        """All candidates with their leave-one-out NLL and weight, best first."""
        import pandas as pd

        return pd.DataFrame(self.state()["candidates"])

    @property
    def levels_(self) -> ConfidenceBins | None:
        """Which averaged confidences share a level; None without levels."""
        return _levels(self.state()["level_edges"])

    @property
    def other_classes_(self) -> OtherClasses:
        """How the rest is shared among the classes that were not predicted."""
        return OtherClasses(**self.state()["other_classes"])

    def _fit(self, calibration: Dataset, embedding: OnMaps, progress: Progress | None) -> State:
        if len(calibration) < 2:
            return self._unchanging(calibration, embedding)
        maps = {
            name: coordinates_of(calibration, item, None, type(self).label)
            for name, item in maps_by_name(embedding).items()
        }
        trial = leave_one_out(
            calibration,
            maps,
            gammas=self.gammas,
            n_bins=self.n_bins,
            bases=self.bases,
            prior_strengths=self.prior_strengths,
            binning=self.binning,
            max_rows=self.max_rows,
            progress=progress,
        )
        weights = _weights(trial) if self.average else trial.all_on_the_best
        left_out = np.clip(weights @ trial.confidence, 0.0, 1.0)
        line = global_line(left_out, trial.outcome) if self.line else None
        level_edges, level_confidence = None, np.empty(0)
        if self.levels:
            levels, level_confidence = confidence_levels(_straight(left_out, line))
            level_edges = levels.edges
        members, names, sizes, chosen = _members(trial, weights)
        partitions = [confidence_bins(calibration.confidence, n, self.binning) for n in sizes]
        bases = [None if base is None else base.clone().fit(calibration) for base in chosen]
        outcome = calibration.outcome
        return {
            "binning": self.binning,
            "count": None,
            "outcome": outcome,
            "maps": [{"name": name, "points": maps[name]} for name in names],
            "partitions": [
                {"edges": bins.edges, "bin_index": bins.assign(calibration.confidence)}
                for bins in partitions
            ],
            "bases": bases,
            "leftover": np.column_stack(
                [
                    outcome if base is None else outcome - base.recalibrate(calibration).confidence
                    for base in bases
                ]
            ),
            "members": members,
            "line": line,
            "level_edges": level_edges,
            "level_confidence": level_confidence,
            "other_classes": dataclasses.asdict(OtherClasses.fit(calibration)),
            "candidates": trial.table(weight=weights),
        }

    def _unchanging(self, calibration: Dataset, embedding: OnMaps) -> State:
        """Return the state that leaves every confidence: one row cannot be left out."""
        points = coordinates_of(calibration, embedding, None, type(self).label)
        return {
            "binning": self.binning,
            "count": None,
            "outcome": calibration.outcome,
            "maps": [{"name": None, "points": points}],
            "partitions": [],
            "bases": [],
            "leftover": np.empty((len(calibration), 0)),
            "members": [],
            "line": None,
            "level_edges": None,
            "level_confidence": np.empty(0),
            "other_classes": dataclasses.asdict(OtherClasses()),
            "candidates": {},
        }

    @staticmethod
    def used_maps(state: State) -> list[str | None]:
        """Return the names of the maps that candidates of some weight use."""
        return [kept["name"] for kept in state["maps"]]

    @staticmethod
    def apply(state: State, rows: Rows) -> Rows:
        """Average what the candidates say of each row, and put it on the line and its level."""
        places = [rows.place(kept["name"], kept["points"].shape[1]) for kept in state["maps"]]
        confidence = rows.confidence
        if not state["members"]:
            return rows.with_confidence(confidence)
        lowest = lowest_confidence(rows.n_classes, True)
        starts = [
            None if base is None else base.applied_to(rows).confidence for base in state["bases"]
        ]
        averaged = np.zeros(len(rows))
        count = state["count"]
        outcome, leftover = (each_row(state[name], count) for name in ("outcome", "leftover"))
        for (map_, partition), chosen in _by_partition(state["members"]).items():
            bins = ConfidenceBins(state["partitions"][partition]["edges"], state["binning"])
            source_index = each_row(state["partitions"][partition]["bin_index"], count)
            index = bins.assign(confidence)
            grid = np.unique([member["gamma"] for member in chosen])
            means = laplacian_means(
                places[map_],
                each_row(state["maps"][map_]["points"], count),
                leftover,
                bandwidth=scaled_bandwidth(grid, places[map_].shape[1]),
                target_groups=index,
                source_groups=source_index,
                effective_size=False,
            )
            accuracy = accuracy_by_bin(source_index, outcome, bins.n_bins)[index]
            accuracy = np.where(np.isnan(accuracy), confidence, accuracy)
            for member in chosen:
                base = member["base"]
                g = int(np.searchsorted(grid, member["gamma"]))
                new = corrected(
                    means.mean[g, :, base],
                    means.mass[g],
                    member["prior_strength"],
                    confidence=confidence,
                    accuracy=accuracy,
                    start=starts[base],
                )
                averaged += member["weight"] * np.clip(new, lowest, 1.0)
        new = _straight(np.clip(averaged, 0.0, 1.0), state["line"])
        levels = _levels(state["level_edges"])
        if levels is not None:
            new = state["level_confidence"][levels.assign(new)]
        return OtherClasses(**state["other_classes"]).complete(rows, new)

    @staticmethod
    def in_cells(state: State, size: int) -> tuple[State, Ints | None]:
        """Return means over cells of rows near on all maps, and in one bin however it is cut."""
        if state["count"] is not None or not state["members"]:
            return state, None
        # One cut for everything: of two, the difference of two cells could be a row.
        index = np.column_stack([part["bin_index"] for part in state["partitions"]])
        apart = np.unique(index, axis=0, return_inverse=True)[1].ravel()
        cell = cells_of(np.hstack([kept["points"] for kept in state["maps"]]), apart, size)
        equal = state["binning"] == "equal-width"
        edges = state["level_edges"]
        return {
            **state,
            "count": sizes_of(cell),
            "outcome": means_of(state["outcome"], cell),
            "leftover": means_of(state["leftover"], cell),
            "maps": [{**kept, "points": means_of(kept["points"], cell)} for kept in state["maps"]],
            "partitions": [
                {
                    "edges": part["edges"] if equal else rounded(part["edges"]),
                    "bin_index": means_of(part["bin_index"], cell).astype(np.int64),
                }
                for part in state["partitions"]
            ],
            "level_edges": None if edges is None else rounded(edges),
            "level_confidence": rounded(state["level_confidence"]),
        }, cell

    @staticmethod
    def parts(state: State) -> list[Recalibrator]:
        """Return the bases."""
        return [base for base in state["bases"] if base is not None]


def _weights(trial: Trial) -> Floats:
    """Weights of the candidates in the average, shape (n_candidates,); small ones are 0."""
    # Of the predicted class only: the others are fitted apart.
    likelihood = np.where(trial.outcome == 1, trial.confidence, 1.0 - trial.confidence)
    weights = stacked_weights(np.log(np.maximum(likelihood, PROBABILITY_FLOOR)))
    weights[weights < _SMALLEST_WEIGHT * weights.max()] = 0.0
    return np.asarray(weights / weights.sum())


def _members(
    trial: Trial, weights: Floats
) -> tuple[list[Member], list[str | None], list[int], list[Recalibrator | None]]:
    """Return the candidates of some weight, and the maps, numbers of bins and bases they use."""
    names: dict[str | None, int] = {}
    sizes: dict[int, int] = {}
    bases: dict[int, tuple[int, Recalibrator | None]] = {}
    members: list[Member] = []
    for candidate, weight in zip(trial.candidates, weights, strict=True):
        if weight == 0:
            continue
        base, _ = bases.setdefault(id(candidate.base), (len(bases), candidate.base))
        members.append(
            {
                "map": names.setdefault(candidate.feature_map, len(names)),
                "partition": sizes.setdefault(candidate.n_bins, len(sizes)),
                "base": base,
                "gamma": candidate.gamma,
                "prior_strength": candidate.prior_strength,
                "weight": float(weight),
            }
        )
    return members, list(names), list(sizes), [base for _, base in bases.values()]


def _by_partition(members: Sequence[Member]) -> dict[tuple[int, int], list[Member]]:
    """Members that share a map and confidence bins, and so one pass of kernel sums."""
    parts: dict[tuple[int, int], list[Member]] = {}
    for member in members:
        parts.setdefault((member["map"], member["partition"]), []).append(member)
    return parts


def _straight(confidence: Floats, line: Sequence[float] | None) -> Floats:
    return confidence if line is None else on_line(confidence, *line)


def _levels(edges: Floats | None) -> ConfidenceBins | None:
    return None if edges is None else ConfidenceBins(edges, "equal-mass")
