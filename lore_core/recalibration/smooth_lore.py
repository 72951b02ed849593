"""LoRe smooth: matrix scaling or boosting, then local corrections of its confidences, averaged."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import numpy as np

from lore_core.data.arrays import Floats, Ints
from lore_core.data.binning import ConfidenceBins, check_n_bins
from lore_core.data.probabilities import logit
from lore_core.data.progress import Progress, part_of
from lore_core.data.rows import Rows
from lore_core.data.rules import EDGES, STRENGTH, Number, Sizes, Values, refuse
from lore_core.data.validation import (
    InputError,
    OnMaps,
    check_each,
    check_flag,
    check_integer,
    check_positive,
)
from lore_core.data.weights import as_weights, chosen_weights, weighed
from lore_core.embedding.result import maps_by_name
from lore_core.kernel_sums import laplacian_means
from lore_core.kernel_sums.compute import INEXACT_MASS, compute_sums
from lore_core.kernel_sums.prepare import as_problem
from lore_core.kernel_sums.schedule import Workers
from lore_core.metrics.local_error import scaled_bandwidth
from lore_core.recalibration import cells, smooth_tuning as tuning
from lore_core.recalibration.affine_softmax import kept_on_top
from lore_core.recalibration.base import Recalibrator
from lore_core.recalibration.cells import Counts, Outcomes, RowWeights
from lore_core.recalibration.dataset_rows import coordinates_of
from lore_core.recalibration.temperature_scaling import OtherClasses

if TYPE_CHECKING:
    from lore_core.data.dataset import Dataset

#: Candidates of less weight than this share of the largest are left out of the average.
_SMALLEST_WEIGHT = 1e-3
#: Of more calibration rows kernel sums that gain nothing are left out: each takes its time at
#: every row. Beyond 3-D, where every pair is looked at, so many calibration rows count at most.
_MANY_ROWS, _MOST_BEYOND_3D = 10_000, 30_000
#: Rows that are corrected at once: kernel sums of more would be most of the memory.
_MOST_ROWS = 2**18
#: Rows that are averaged at once, so that steps stay in the processor's cache.
_BLOCK = 2**14
#: Steps of stacking: one for so many rows, and at least so many.
_ROWS_A_STEP, _LEAST_STEPS = 50, 20
#: Share of the NLL that levels may cost.
_PRICE = 0.03
#: Of the prior on log T of the other classes' shares: standard deviation 0.2.
_SHARES_PRECISION = 25.0


class KeptMap(TypedDict):
    """A map that candidates use."""

    name: str | None  #: None: the first of those given
    points: Annotated[Floats, Values(("n", "d")), "places of {who} on the map"]


class Partition(TypedDict):
    """Whose outcomes count for a row."""

    #: None: rows of its predicted class
    edges: Annotated[Floats | None, EDGES, "edges of confidence bins{cuts}"]
    #: Or classes
    bin_index: Annotated[Ints, Values(("n",), 0, whole=True), "confidence bins of {who}"]


class Member(TypedDict):
    """A candidate of some weight."""

    map: Annotated[int, Number(0, whole=True)]  #: its place in ``maps``
    partition: Annotated[int, Number(0, whole=True)]  #: its place in ``partitions``
    #: Its place among the bases; None: the accuracy of neighbours
    base: Annotated[int | None, Number(0, whole=True)]
    gamma: Annotated[float, Number(0.0, above=True, infinite=True)]
    strength: Annotated[float, STRENGTH]
    weight: Annotated[float, Number(0.0, 1.0, above=True)]  #: share of the average


class State(TypedDict):
    """What LoRe smooth fits: global methods, the calibration rows, and what is averaged."""

    count: Counts
    row_weights: RowWeights
    first: Recalibrator  #: fitted
    more: list[Recalibrator]  #: fitted on what the first makes of the rows
    outcome: Outcomes
    leftover: Annotated[  #: Of each of m bases
        Floats,
        Values(("n", "m"), -1.0, 1.0),
        "outcomes of {who}, less what a global method says of them",
    ]
    spread: Annotated[  #: Of each base; means of cells are rounded
        Floats,
        Values(("n", "m"), 0.0, 0.25 + 1e-9),
        "confidence · (1 − confidence) of {who} by global methods",
    ]
    maps: list[KeptMap]
    partitions: list[Partition]
    members: list[Member]
    line: tuple[float, float]  #: slope and intercept
    level_edges: Annotated[
        Floats | None,
        Values(("l+1",), 0.0, 1.0, rising=True),
        "edges of the levels that confidences are pooled to{cuts}",
    ]
    level_confidence: Annotated[Floats, Values(("l",), 0.0, 1.0), "what each level says"]
    other_classes: Annotated[dict[str, float], OtherClasses]
    keep_class: bool  #: whether no class may overtake the predicted one


@dataclass(eq=False, repr=False)
class SmoothLoRe(Recalibrator):
    """A global method, and what it leaves over nearby: local corrections in log-odds, averaged.

    All is chosen on calibration rows.

    ``gammas``: bandwidths, by default 0.0125 to 12.8 in octaves. ``n_bins``: numbers of equal-mass
    confidence bins tried. ``max_rows``: calibration rows, chosen at random, that weights are chosen
    on at most. ``levels``: pool the corrected confidences to as few levels as cost at most 3 % of
    the NLL of "the prediction is right": lower maxima over bins and subgroups, a somewhat higher
    NLL. ``keep_class``: let no class become more probable than the predicted one.

    Fitted: ``members_``, the candidates of some ``weight`` in the average, with their settings;
    ``first_``, the matrix scaling, or the boosting where its trees gain; ``line_``, slope and
    intercept of the line through the average.

    Steps and formulas: docs/method.md ("LoRe smooth"). A row of weight 2 is not two rows: of two
    equal rows each would correct the other. Penalties and pseudo-rows are of rows of weight 1 on
    average.
    """

    label = "LoRe smooth"
    color = 13
    numbers_in_words = "settings and weights of what is averaged"
    needs_embedding = True
    needs_features = True  # where the calibration rows have them
    takes_weights = True
    state_type = State

    _: KW_ONLY
    gammas: Sequence[float] | None = None
    n_bins: Sequence[int] = (1, 5)
    max_rows: int = 10_000
    levels: bool = False
    keep_class: bool = False

    def _check_params(self) -> None:
        if self.gammas is not None:
            check_each(self.gammas, "gammas", check_positive)
        check_each(self.n_bins, "n_bins", check_n_bins)
        check_integer(self.max_rows, "max_rows", minimum=2)
        check_flag(self.levels, "levels")
        check_flag(self.keep_class, "keep_class")

    def _fit_on(self, calibration: Dataset, embedding: OnMaps, progress: Progress | None) -> State:
        gammas = np.asarray(tuning.GAMMAS if self.gammas is None else self.gammas, np.float64)
        maps = {
            name: coordinates_of(calibration, item, None, type(self).label)
            for name, item in (maps_by_name(embedding) or {None: None}).items()
        }
        if len(calibration) < 2:
            raise InputError(f"{type(self).label} must have two calibration rows or more; got one.")
        first, more, changed, starts = tuning.fitted_bases(calibration, part_of(progress, 0.0, 0.5))
        ways = tuning.ways_to_part(changed, self.n_bins)
        chosen = np.arange(len(calibration))
        if len(chosen) > self.max_rows:
            chosen = np.sort(np.random.default_rng(0).choice(chosen, self.max_rows, replace=False))
        tried = changed.rows(chosen)
        candidates, confidence, log_likelihood = tuning.leave_one_out_smooth(
            [points[chosen] for points in maps.values()],
            tried,
            starts[chosen],
            ways,
            gammas,
            part_of(progress, 0.5, 1.0),
        )
        steps = max(_LEAST_STEPS, len(chosen) // _ROWS_A_STEP)
        of_rows = as_weights(tried.weights)
        weights = tuning.stacked_weights(log_likelihood, steps, of_rows)
        weights[weights < _SMALLEST_WEIGHT * weights.max()] = 0.0
        if len(calibration) > _MANY_ROWS:
            far = [points.shape[1] > 3 for points in maps.values()]
            sums = [(far[c.map], c.map, -c.partition, c.gamma) for c in candidates]
            weights = tuning.fewest_sums(sums, weights, confidence, tried.outcome, of_rows)
        weights /= weights.sum()
        left_out = weights @ confidence
        line = tuning.global_line(left_out, tried.outcome, of_rows)
        level_edges, level_confidence = None, np.empty(0)
        if self.levels:
            levels, level_confidence = tuning.fewest_levels(tuning.on_line(left_out, *line), _PRICE)
            level_edges = levels.edges
        members: list[Any] = [
            {**vars(item), "weight": float(weight)}
            for item, weight in zip(candidates, weights, strict=True)
            if weight > 0
        ]
        return {
            "count": None,
            "row_weights": as_weights(calibration.weights),
            "first": first,
            "more": more,
            "outcome": changed.outcome,
            "leftover": changed.outcome[:, None] - starts,
            "spread": starts * (1.0 - starts),
            # Copies, as the calibration rows may be recalibrated too, when they change bins.
            "maps": [{"name": name, "points": points.copy()} for name, points in maps.items()],
            "partitions": [
                {
                    "edges": None if way is None else way.edges,
                    "bin_index": tuning.part_of(way, changed.confidence, changed.predictions),
                }
                for way in ways
            ],
            "members": members,
            "line": line,
            "level_edges": level_edges,
            "level_confidence": level_confidence,
            "other_classes": dataclasses.asdict(OtherClasses.fit(changed, _SHARES_PRECISION)),
            "keep_class": bool(self.keep_class),
        }

    @staticmethod
    def used_maps(state: State) -> list[str | None]:
        """Return the names of the maps."""
        return [used["name"] for used in state["maps"]]

    @staticmethod
    def apply(state: State, rows: Rows) -> Rows:
        """Average the candidates at each row, and put the average on the line and its level."""
        if len(rows) > _MOST_ROWS:
            vectors = np.empty_like(rows.probabilities)
            for start in range(0, len(rows), _MOST_ROWS):
                some = slice(start, start + _MOST_ROWS)
                vectors[some] = SmoothLoRe.apply(state, rows.take(some)).probabilities
            return dataclasses.replace(rows, probabilities=vectors)
        changed = state["first"].applied_to(rows)
        others = (item.applied_to(changed).confidence for item in state["more"])
        starts = tuning.confidence_within(np.column_stack([changed.confidence, *others]))
        outcome, counts = state["outcome"], state["row_weights"]
        odds, averaged = logit(starts).T.copy(), np.zeros(len(rows))
        # Members of one map and partition share a pass of kernel sums.
        for (on, way), together in groupby(state["members"], itemgetter("map", "partition")):
            chosen, on_map, parted = list(together), state["maps"][on], state["partitions"][way]
            edges = parted["edges"]
            bins = None if edges is None else ConfidenceBins(edges, "equal-mass")
            part = tuning.part_of(bins, changed.confidence, rows.predicted)
            known_part = parted["bin_index"]
            n, d = on_map["points"].shape
            known: Ints | slice = slice(None)
            if d > 3 and n > _MOST_BEYOND_3D:
                known = np.random.default_rng(0).choice(n, _MOST_BEYOND_3D, replace=False)
            accuracy = tuning.accuracy_of_parts(part, known_part, outcome, starts[:, 0], counts)
            # Only what these members read is summed: of few bandwidths the first two columns.
            used = sorted({member["base"] or 0 for member in chosen})
            of_bases, own = [state[of][:, used] for of in ("leftover", "spread")], odds[used]
            values = weighed(np.column_stack([np.ones(n), outcome, *of_bases]), counts)[known]
            points, sources = rows.place(on_map["name"], d), on_map["points"][known]
            groups: Any = {"target_groups": part, "source_groups": known_part[known]}
            widths = scaled_bandwidth(np.array([member["gamma"] for member in chosen]), d)
            problem = as_problem(points, sources, values, "values", bandwidth=widths, **groups)
            of_width: dict[float, list[Member]] = defaultdict(list)
            for h, member in zip(problem.bandwidths.tolist(), chosen, strict=True):
                of_width[h].append(member)
            first = {h: 2 * all(m["base"] is not None for m in of) for h, of in of_width.items()}
            for h, sums in compute_sums(problem, first, Workers(None, None), 1.0):
                np.multiply(sums, problem.divisor[first[h] :, None], out=sums)
                mean = accuracy
                if not first[h]:
                    with np.errstate(divide="ignore", invalid="ignore"):
                        mean = sums[1] / sums[0]
                    if len(far := np.flatnonzero(sums[0] < INEXACT_MASS)):
                        how = {**groups, "target_groups": part[far], "bandwidth": h}
                        known_values = sources, outcome[known], chosen_weights(counts, known)
                        mean[far] = laplacian_means(points[far], *known_values, **how).mean
                for start in range(0, len(rows), _BLOCK):
                    some = slice(start, start + _BLOCK)
                    here = sums[:, some], mean[some], own[:, some], accuracy[some]
                    for member in of_width[h]:
                        base = None if member["base"] is None else used.index(member["base"])
                        found = tuning.corrected_confidence(base, member["strength"], *here)
                        averaged[some] += member["weight"] * found
        new = tuning.on_line(averaged, *state["line"])
        if state["level_edges"] is not None:
            levels = ConfidenceBins(state["level_edges"], "equal-mass")
            new = state["level_confidence"][levels.assign(new)]
        made = OtherClasses(**state["other_classes"]).complete(changed, new)
        if not state["keep_class"]:
            return made
        return rows.with_probabilities(kept_on_top(made.probabilities, rows.predicted))

    @staticmethod
    def check_state(state: State, name: str, sizes: Sizes) -> None:
        """Refuse other rows than were fitted on, and members that refer to missing parts."""
        cells.check_rows(state, name, sizes["calibration_rows"])
        bases = (state["first"], *state["more"])
        for base in bases:
            if base.needs_embedding:
                raise refuse(f"{name}: first", "methods without a map", type(base).__name__)
        for part in state["partitions"]:
            bins = sizes["K"]
            if part["edges"] is not None:
                cells.check_edges(part["edges"], name)
                bins = len(part["edges"]) - 1
            if part["bin_index"].max(initial=0) >= bins:
                raise refuse(f"{name}: bin_index", f"{bins} parts", part["bin_index"].max())
        members: Any = state["members"]
        known = {
            "map": len(state["maps"]),
            "partition": len(state["partitions"]),
            "base": len(bases),
        }
        for which, n in known.items():
            largest = max((item[which] or 0 for item in members), default=-1)
            if largest >= n:
                raise refuse(f"{name}: {which}", f"one of {n} places", largest)
        if state["leftover"].shape[1] != len(bases):
            raise refuse(f"{name}: leftover", f"{len(bases)} columns", state["leftover"].shape)
        total = sum(member["weight"] for member in members)
        if total > 1 + 1e-9:
            raise refuse(f"{name}: weight", "shares of 1", f"{total:g} in all")

    @staticmethod
    def in_cells(state: State, size: int) -> tuple[State, Ints | None]:
        """Return means over cells of rows that are near on all maps and share all partitions."""
        if state["count"] is not None:
            return state, None
        # One cut for everything: of two, the difference of two cells could be a row.
        index = np.column_stack([part["bin_index"] for part in state["partitions"]])
        apart = np.unique(index, axis=0, return_inverse=True)[1].ravel()
        cell = cells.cells_of(np.hstack([item["points"] for item in state["maps"]]), apart, size)
        edges = state["level_edges"]
        made: Any = {
            **state,
            **cells.in_cells(state, cell, ("outcome", "leftover", "spread")),
            "maps": [
                {**item, "points": cells.means_of(item["points"], cell)} for item in state["maps"]
            ],
            "partitions": [
                {
                    "edges": None if part["edges"] is None else cells.rounded(part["edges"]),
                    "bin_index": cells.means_of(part["bin_index"], cell).astype(np.int64),
                }
                for part in state["partitions"]
            ],
            "level_edges": None if edges is None else cells.rounded(edges),
            "level_confidence": cells.rounded(state["level_confidence"]),
        }
        return made, cell


@dataclass(eq=False, repr=False)
class LevelLoRe(SmoothLoRe):
    """LoRe smooth with its confidences pooled to levels: ``SmoothLoRe(levels=True)``, by a name."""

    label = "LoRe levels"
    color = 14

    levels: bool = True
