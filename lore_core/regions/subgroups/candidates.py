"""Sets of rows, in words or on a map, that look worse than the average, and their tests."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.units import chosen_units
from lore_core.data.weights import chosen_weights
from lore_core.kernel_sums import laplacian_means
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE, scaled_bandwidth
from lore_core.metrics.means import holm
from lore_core.regions.rows import nearest_rows
from lore_core.regions.selection import RegionReport, change_report, region_report
from lore_core.regions.subgroups.overall import WITHOUT_OTHERS, Against, Average, Excess, excess_of
from lore_core.regions.variables.attributes import Predicate
from lore_core.regions.variables.cutting import Attribute, part_starts, range_words

#: Rows of a subgroup, and its gap, at least; what is merely better than the average is none.
MIN_ROWS, _MIN_GAP = 20, 0.02
#: Columns whose pairs are looked at: the best by themselves.
_PAIRED = 12
#: Most slices of one column, or of one pair, that are kept.
_KEPT = 20
#: Sets of which so large a share is common are one subgroup.
SAME = 0.6
#: A set of which more than this share lies in another one is part of it.
PART_OF = 0.5
#: What holds more than this share of the rows is no subgroup.
_LARGEST = 0.75
#: Of more than twice as many rows, so many are searched, and all others are held out.
MOST_SEARCHED = 100_000
#: The least sum of variances of a set: with less, hardly any outcome is in doubt.
_LEAST_VARIANCE = 0.5
#: How much a set's excess counts, by what it takes to name it: one column, two, an outline.
WEIGHTS = {1: 1.0, 2: 0.5, 0: 0.4}
#: Excess at which the tree begins.
_LOWEST = 0.01
#: Neighbours a row is joined with.
_NEIGHBOURS = 10
#: Levels between the lowest and the highest excess at which the tree is cut.
_LEVELS = 12
#: A node that keeps this share of its parent's rows is the same subgroup.
_SAME_NODE = 0.8
#: So much of a list's rows lie in the one around it.
_INSIDE = 0.9
#: The longer list has so much of the shorter one's evidence,
_EVIDENCE = 0.9
#: and the rows it adds, within a standard error, so much of its guaranteed excess.
_AS_WRONG = 0.5


@dataclass(frozen=True)
class Condition:
    """A column holds one of some neighbouring parts, or one of the others."""

    column: int  #: Its place among the attributes
    #: Parts ``first`` to ``end − 1``; if ``first`` is above ``end`` both tails of a number: from
    #: ``first`` on, and up to ``end − 1``.
    first: int
    end: int

    def holds(self, attributes: Sequence[Attribute]) -> Mask:
        """Rows for which it is true, shape (n,)."""
        attribute, of = attributes[self.column], np.array([[self.first], [self.end]])
        return np.asarray(values_held(attribute, of)[attribute.codes, 0])

    def predicate(self, attributes: Sequence[Attribute]) -> Predicate:
        """Return it as data, for rows whose columns are cut in another way."""
        attribute, first, end = attributes[self.column], self.first, self.end
        name, value = attribute.name, attribute.values[first]
        if attribute.words:
            return Predicate(name, value, words=attribute.words, least=attribute.least)
        if end - first == 1 and attribute.only and math.isfinite(attribute.only[first]):
            number = attribute.only[first]
            return Predicate(name, value, number, math.nextafter(number, math.inf))
        if first > len(attribute.edges) or not attribute.edges:  # missing, or a name
            return Predicate(name, value)
        borders, edges = ("", *attribute.borders, ""), (-math.inf, *attribute.edges, math.inf)
        value = range_words(borders[first], borders[end])
        if first > end:
            value = f"outside {range_words(borders[end], borders[first])}"
        return Predicate(name, value, edges[first], edges[end])


Slice = tuple[Condition, ...]


def subgroup_id(conditions: Iterable[Predicate], rows: Iterable[int]) -> str:
    """Return the id of a slice, by its conditions in any order, or of a region, by its rows."""
    parts = sorted(
        repr((part.column, sorted(part.words), part.least, part.low, part.high))
        if part.words or part.low is not None
        else repr((part.column, part.value))
        for part in conditions
    )
    content = repr(parts or sorted(map(int, rows))).encode()
    return hashlib.blake2b(content, digest_size=4).hexdigest()


def conditions_of(attribute: Attribute, column: int) -> list[Condition]:
    """All values of a column; of a number all ranges but the whole, of words that they are held."""
    return [Condition(column, *pair) for pair in ranges_of(attribute).T.tolist()]


def ranges_of(attribute: Attribute) -> Ints:
    """Return first parts and ends of :func:`conditions_of` a column, shape (2, conditions)."""
    if attribute.words:
        return np.array([[1], [2]])
    parts = len(attribute.borders) + 1 if attribute.numeric else 0
    return _ranges(parts, len(attribute.values))


@lru_cache(maxsize=256)
def _ranges(parts: int, size: int) -> Ints:
    """Return the ranges of ``parts`` neighbours but the whole, and each of the other values."""
    ends = np.stack(np.triu_indices(parts + 1, 1))
    alone = np.arange(parts, size)
    found = np.concatenate([ends[:, ends[1] - ends[0] < parts], [alone, alone + 1]], axis=1)
    found.flags.writeable = False
    return found


def values_held(attribute: Attribute, ranges: Ints) -> Mask:
    """Return which values of a column are in ranges or tails (2, m), shape (values, m)."""
    (first, end), part = ranges, np.arange(len(attribute.values))[:, None]
    tails = (part < end) | ((part >= first) & (part <= len(attribute.borders)))
    return np.asarray(np.where(first < end, (part >= first) & (part < end), tails))


def slice_tables(
    attributes: Sequence[Attribute], columns: Sequence[int], average: Average
) -> tuple[list[Ints], Floats]:
    """Sum moments over slices of one column or two.

    Returns :func:`ranges_of` each column, of one number also as many parts at both ends together
    (:class:`Condition`), and sums of shape (ranges of the first, ranges of the second if there is
    one, n_strata, 5; 7 of weighted rows).
    """
    sizes = [len(attributes[k].values) for k in columns]
    code = average.stratum
    for k, size in zip(columns, sizes, strict=True):
        code = code * size + attributes[k].codes
    shape = (average.n_strata, *sizes)
    sums: Floats = np.stack(
        [
            np.bincount(code, weights=moment, minlength=int(np.prod(shape))).reshape(shape)
            for moment in average.moments.T
        ],
        axis=-1,
    )
    ranges = [ranges_of(attributes[k]) for k in columns]
    for axis, (k, of) in enumerate(zip(columns, ranges, strict=True), start=1):
        n_parts = len(attributes[k].borders) + 1
        lowest = np.arange(1, (n_parts + 1) // 2 if len(columns) == 1 else 1)
        first, end = ranges[axis - 1] = np.hstack([of, [n_parts - lowest, lowest]])
        upto = np.insert(np.cumsum(sums, axis=axis), 0, 0.0, axis=axis)
        sums = np.take(upto, end, axis=axis) - np.take(upto, first, axis=axis)
        if lowest.size:
            sums[:, first > end] += upto[:, [n_parts]]
    return ranges, np.moveaxis(sums, 0, -2)


def distinct_ranges(attribute: Attribute, ranges: Ints, order: Ints, most: int) -> Ints:
    """Return the first of some ranges (2, n) in an order, without those that are nearly the same.

    Two are, if they share more than :data:`SAME` of the rows in either. ``most``: ranges at most.
    """
    held = values_held(attribute, ranges).astype(np.float64)
    count = np.bincount(attribute.codes, minlength=len(held))
    size = count @ held
    chosen: list[int] = []
    while order.size and len(chosen) < most:
        k = int(order[0])
        chosen.append(k)
        common = (count * held[:, k]) @ held[:, order]
        either = size[order] + size[k] - common
        order = order[(common <= SAME * either) & (order != k)]
    return np.array(chosen, dtype=np.int64)


def is_wider_slice(wide: Mask, narrow: Mask, sign: int, average: Average) -> bool:
    """Whether to take list of words ``wide`` for ``narrow``, of about whose rows it has more.

    Masks of the rows of ``average``; ``sign``: which way these are off.
    """
    more, n_wide, n_narrow = wide & ~narrow, int(wide.sum()), int(narrow.sum())
    if n_wide <= n_narrow or (wide & narrow).sum() < _INSIDE * n_narrow:
        return False
    around, inside, added = (average.of_rows(rows) for rows in (wide, narrow, more))
    bound = float(inside.lower_bound)
    if float(around.lower_bound) * np.sqrt(n_wide) < _EVIDENCE * bound * np.sqrt(n_narrow):
        return False
    likely = sign * float(added.mean) + max(float(added.error), float(added.scatter))
    return likely >= _AS_WRONG * bound


@dataclass(frozen=True, eq=False)
class Rows:
    """What is known of rows; all arrays are of n rows."""

    confidence: Floats
    outcome: Floats
    attributes: Sequence[Attribute]  #: Columns whose values may name a subgroup
    coarse: Sequence[Attribute]  #: The same, numbers in fewer parts: for pairs and regions
    weights: Floats | None = None  #: What each row counts for; None: all alike
    units: Ints | None = None  #: Whose rows go together; None: each row its own

    def __len__(self) -> int:
        return len(self.confidence)

    def take(self, rows: Ints) -> Rows:
        """Return some of the rows."""
        return Rows(
            self.confidence[rows],
            self.outcome[rows],
            [item.rows(rows) for item in self.attributes],
            [item.rows(rows) for item in self.coarse],
            chosen_weights(self.weights, rows),
            chosen_units(self.units, rows),
        )

    def average(self, rows: Ints | slice, against: Against) -> Average:
        """Return what some rows are compared with."""
        counted = chosen_weights(self.weights, rows), chosen_units(self.units, rows)
        return Average.of(self.confidence[rows], self.outcome[rows], against, *counted)

    def mean(self, values: Floats, rows: Ints | Mask | slice = slice(None)) -> float:
        """Return the mean of values (n,) over some rows, by their weights."""
        weights = chosen_weights(self.weights, rows)
        return float(np.average(values[rows], weights=weights))


@dataclass(frozen=True, eq=False)
class Candidate:
    """A set that looks worse than the average on the searched half: a slice, or a region's rows."""

    interest: float
    excess: float  #: Mean, > 0: more overconfident than what it is compared with
    lower_bound: float  #: Of the size of the excess
    conditions: Slice  #: Empty for a region
    rows: Ints | None = None  #: Of a region, in the searched half
    text: str = ""  #: The column of texts whose words alone name it
    is_fine: bool = False  #: Whether it is one of the many ranges that are no run of coarse parts
    #: (n,); mask of all rows, searched or not, once it is chosen.
    inside: Mask = field(default_factory=lambda: np.empty(0, dtype=bool))

    @property
    def sign(self) -> int:
        """+1: more overconfident than what it is compared with; −1: more underconfident."""
        return int(np.sign(self.excess))

    @property
    def weight(self) -> float:
        """How much its excess counts: what takes fewer words is told first."""
        return WEIGHTS[len(self.conditions)]


def interest(excess: Excess, bound: Floats, n_rows: int, weight: float) -> Floats:
    """How much sets are worth telling: guaranteed excess × √size × ``weight`` (:data:`WEIGHTS`)."""
    return np.asarray(weight * bound * np.sqrt(excess.n / n_rows))


def overlap(one: Mask, other: Mask) -> float:
    """Rows in both sets as a share of those in either."""
    return float((one & other).sum() / max(int((one | other).sum()), 1))


@dataclass(frozen=True, eq=False)
class SearchedHalf:
    """One half of the rows, searched; outcomes of the other half have no part in it."""

    rows: Rows  #: All rows
    searched: Ints  #: The half that is searched
    against: Against

    def of_rows(self, rows: Rows, against: Against) -> SearchedHalf:
        """Return the same half with other confidences and outcomes; neighbours stay the same."""
        made = SearchedHalf(rows, self.searched, against)
        vars(made)["_last_map"] = self._last_map
        return made

    @cached_property
    def half(self) -> Rows:
        """The searched rows."""
        return self.rows.take(self.searched)

    @cached_property
    def average(self) -> Average:
        """What they are compared with."""
        return self.half.average(slice(None), self.against)

    def candidates(self, points: Floats | None, gamma: float, most: int) -> list[Candidate]:
        """Return the most interesting sets, each subgroup once.

        ``points``: all rows on the map. ``gamma``: bandwidth of the field whose tree is cut.
        """
        regions, nearest = list[Candidate](), np.zeros(len(self.rows), dtype=np.int64)
        if points is not None:
            graph, nearest = self.neighbours(points)
            regions = list(self._regions(points[self.searched], graph, gamma))
        pool = sorted([*self._slices, *regions], key=lambda item: -item.interest)
        residual = self.half.confidence - self.half.outcome
        rows, near, own = self.rows, nearest, self.searched
        if len(rows) > 2 * MOST_SEARCHED:  # those searched tell which sets are alike
            rows, near, own = self.half, nearest[own], np.arange(len(own))
        chosen: list[Candidate] = []
        for item in map(self._merged, pool):
            new = replace(item, inside=_mask(item, rows, near, len(self.searched)))
            off = self.half.mean(residual, new.inside[own])
            if new.sign * off < _MIN_GAP or any(_is_no_news(new, one) for one in chosen):
                continue
            chosen.append(new)
            if len(chosen) == most:
                break
        if rows is not self.rows:
            whole = (_mask(item, self.rows, nearest, len(own)) for item in chosen)
            chosen = [replace(item, inside=of) for item, of in zip(chosen, whole, strict=True)]
        return chosen

    @cached_property
    def _last_map(self) -> list[tuple[Floats, Any, Ints]]:
        """Hold the points searched last and their neighbours, which are the same at every γ."""
        return []

    def neighbours(self, points: Floats) -> tuple[Any, Ints]:
        """Return which searched rows touch on a map (a graph), and the nearest one to each row."""
        for known, graph, nearest in self._last_map[-1:]:
            if np.array_equal(known, points):
                return graph, nearest
        searched = points[self.searched]
        n, k = len(searched), min(_NEIGHBOURS + 1, len(searched))
        touching = np.repeat(np.arange(n), k), nearest_rows(searched, searched, k)[1].ravel()
        graph = sparse.csr_array((np.ones(n * k, dtype=np.int8), touching), shape=(n, n))
        nearest = nearest_rows(searched, points, 1)[1][:, 0]
        nearest[self.searched] = np.arange(n)
        self._last_map[:] = [(points, graph, nearest)]
        return graph, nearest

    @cached_property
    def _word_slices(self) -> list[tuple[Candidate, Mask]]:
        """List lists of words, and the half's rows that hold each."""
        attributes, named = self.half.attributes, [item for item in self._slices if item.text]
        return [(item, item.conditions[0].holds(attributes)) for item in named]

    def _merged(self, item: Candidate) -> Candidate:
        """Return the longest list of words around one that is as wrong, or itself."""
        if not item.text:
            return item
        inside = item.conditions[0].holds(self.half.attributes)
        around = [
            (int(wide.sum()), other)
            for other, wide in self._word_slices
            if (other.text, other.sign) == (item.text, item.sign)
            and is_wider_slice(wide, inside, item.sign, self.average)
        ]
        return max(around, key=lambda pair: pair[0])[1] if around else item

    def _interest(self, excess: Excess, bound: Floats, n_columns: int) -> Floats:
        n = len(self.half)
        least = max(MIN_ROWS * n / len(self.rows), 5)
        fits = (excess.n >= least) & (excess.share <= _LARGEST)
        fits &= excess.variance >= _LEAST_VARIANCE
        return np.where(fits, interest(excess, bound, n, WEIGHTS[n_columns]), 0.0)

    @cached_property
    def _slices(self) -> list[Candidate]:
        """List sets that columns name: the same whatever the map and the bandwidth."""
        fine, coarse = self.half.attributes, self.half.coarse
        tables = [self._table(fine, (k,)) for k in range(len(fine))]
        alone = [self._best_alone(k, *table) for k, table in enumerate(tables)]
        best = np.array([max((item.interest for item in found), default=0.0) for found in alone])
        paired = np.sort(np.argsort(-best, kind="stable")[:_PAIRED]).tolist()
        starts = {k: part_starts(fine[k], coarse[k]) for k in paired}
        means = {k: self._table(coarse, (k,))[1].mean for k in paired}
        pairs = (self._best_pairs(two, starts, means) for two in combinations(paired, 2))
        return [item for found in (*alone, *pairs) for item in found]

    def _table(
        self, attributes: Sequence[Attribute], columns: tuple[int, ...]
    ) -> tuple[list[Ints], Excess]:
        ranges, sums = slice_tables(attributes, columns, self.average)
        is_alone = self.against in WITHOUT_OTHERS
        found = excess_of(sums, self.average.total, against_zero=is_alone)
        codes = np.zeros(len(self.half), dtype=np.int64)
        for column in columns:
            codes = codes * len(attributes[column].values) + attributes[column].codes
        return ranges, self.average.widened(found, codes)

    def _best_alone(self, column: int, of: list[Ints], excess: Excess) -> list[Candidate]:
        """Return the best ranges of a column."""
        attribute, (ranges,), mean = self.half.attributes[column], of, excess.mean
        starts = part_starts(attribute, self.half.coarse[column])
        fine = np.asarray(~np.isin(ranges, starts).all(axis=0))
        bound = np.where(fine, excess.lower_bound_of_many, excess.lower_bound)
        worth = self._interest(excess, bound, 1)
        best = np.argsort(-worth, kind="stable")[: np.count_nonzero(worth)]
        if attribute.numeric:
            best = distinct_ranges(attribute, ranges, best, _KEPT)
        text = attribute.name if attribute.words else ""
        found = []
        for k in best[:_KEPT].tolist():
            where = (Condition(column, *ranges[:, k].tolist()),)
            numbers = float(worth[k]), float(mean[k]), float(bound[k])
            found.append(Candidate(*numbers, where, text=text, is_fine=bool(fine[k])))
        return found

    def _best_pairs(
        self, columns: tuple[int, int], starts: dict[int, Ints], means: dict[int, Floats]
    ) -> list[Candidate]:
        """Return the best pairs of two columns' coarse ranges; ``means``: excess of each alone."""
        ranges, excess = self._table(self.half.coarse, columns)
        mean, bound = excess.mean, excess.lower_bound
        # Two columns are worth their words if guaranteed to be above the excess of either.
        alone = [means[k][:n] for k, n in zip(columns, mean.shape, strict=True)]
        sign = np.sign(mean)
        parts = np.maximum(sign * alone[0][:, None], sign * alone[1])
        worth = np.where(bound > parts, self._interest(excess, bound, 2), 0.0)
        best = np.argsort(-worth, axis=None, kind="stable")[: np.count_nonzero(worth)]
        found = []
        for k in best[:_KEPT].tolist():
            at = divmod(k, worth.shape[1])
            where = tuple(
                Condition(column, *starts[column][of[:, place]].tolist())
                for column, of, place in zip(columns, ranges, at, strict=True)
            )
            found.append(Candidate(float(worth[at]), float(mean[at]), float(bound[at]), where))
        return found

    def _regions(self, points: Floats, graph: Any, gamma: float) -> Iterator[Candidate]:
        bandwidth = scaled_bandwidth(gamma, points.shape[1])
        excess = self.average.moments[:, 1] / self.average.moments[:, 0]
        means = laplacian_means(points, None, excess, self.half.weights, bandwidth=bandwidth)
        field = np.where(means.effective_size >= MIN_EFFECTIVE_SIZE, means.mean, np.nan)
        least = max(round(MIN_ROWS * len(points) / len(self.rows)), 5)
        for rows in level_tree(field, graph, min_rows=least, lowest=_LOWEST):
            of_rows = self.average.of_rows(rows)
            worth = float(self._interest(of_rows, of_rows.lower_bound, 0))
            if worth > 0:
                yield Candidate(worth, float(of_rows.mean), float(of_rows.lower_bound), (), rows)


def _mask(item: Candidate, rows: Rows, nearest: Ints, n_searched: int) -> Mask:
    """Return which rows a set holds; ``nearest``: number of the searched row next to each."""
    if item.rows is None:
        holds = [part.holds(rows.attributes) for part in item.conditions]
        return np.asarray(np.logical_and.reduce(holds))
    own = np.zeros(n_searched, dtype=bool)
    own[item.rows] = True
    return np.asarray(own[nearest])


def _is_no_news(new: Candidate, known: Candidate) -> bool:
    """Whether a set was chosen before, or is a part, in more words, that is not surely worse."""
    if overlap(new.inside, known.inside) > SAME:
        return True
    part = (new.inside & known.inside).sum() > PART_OF * new.inside.sum()
    more_words = new.weight <= known.weight and new.sign == known.sign
    return bool(part) and more_words and new.lower_bound <= abs(known.excess)


def level_tree(value: Floats, graph: Any, *, min_rows: int, lowest: float) -> list[Ints]:
    """Cut a field on a graph at rising levels, both signs, into nested connected sets of rows.

    ``value`` (n,): excess at each row; NaN: not known. ``graph`` (n, n): which rows touch.
    """
    nodes: list[Ints] = []
    for sign in (1, -1):
        height = np.where(np.isfinite(value), sign * value, -np.inf)
        ranked = np.sort(height[height > lowest])[::-1]
        if len(ranked) < min_rows:
            continue
        # No higher than where the smallest allowed part could still be whole.
        top = ranked[min_rows - 1]
        levels = np.geomspace(lowest, top, _LEVELS) if top > lowest else np.array([lowest])
        size_around = np.full(len(value), np.inf)
        for level in levels:
            rows = np.flatnonzero(height >= level)
            if len(rows) < min_rows:
                break
            _, part = sparse.csgraph.connected_components(graph[rows][:, rows], directed=False)
            for number in np.flatnonzero(np.bincount(part) >= min_rows):
                members = rows[part == number]
                if len(members) < _SAME_NODE * size_around[members[0]]:
                    nodes.append(members)
                    size_around[members] = len(members)
    return nodes


@dataclass(frozen=True)
class Held(RegionReport):
    """What rows say whose outcomes had no part in finding a subgroup."""

    excess: float  #: Gap beyond what the subgroup is compared with
    #: Gap beyond that of rows of the same confidence, 95 %: what no global recalibration mends.
    beyond: float
    beyond_low: float
    beyond_high: float
    p_value: float  #: One-sided, of so large an excess by chance
    p_adjusted: float  #: The same for all candidates tried on either half (Holm)


@dataclass(frozen=True, eq=False, kw_only=True)
class Tried(Candidate):
    """A candidate, its held-out rows, and what they say of it."""

    held_out: Ints
    held: Held

    def confirmed(self, alpha: float) -> bool:
        """Whether it is significant and itself wrong, not just off the average."""
        wrong = self.held.gap_low > 0 if self.sign > 0 else self.held.gap_high < 0
        return self.held.p_adjusted <= alpha and wrong and abs(self.held.gap) >= _MIN_GAP


def try_on(
    held_out: Ints, candidates: Sequence[Candidate], rows: Rows, against: Against, n_turns: int
) -> list[Tried]:
    """Try candidates on held-out rows; p-values are adjusted for all ``n_turns`` such lists."""
    c, a = rows.confidence[held_out], rows.outcome[held_out]
    counted: dict[str, Any] = {
        "weights": chosen_weights(rows.weights, held_out),
        "units": chosen_units(rows.units, held_out),
    }
    average = rows.average(held_out, against)
    is_change = against == "other model"
    same = average if is_change else rows.average(held_out, "same confidence")
    report = change_report if is_change else region_report
    masks = [item.inside[held_out] for item in candidates]
    tests = [average.of_rows(mask) for mask in masks]
    p = [float(t.p_value(k.sign)) for t, k in zip(tests, candidates, strict=True)]
    adjusted = np.minimum(holm(np.array(p)) * n_turns, 1.0).tolist()
    tried = []
    for k, (mask, test) in enumerate(zip(masks, tests, strict=True)):
        if not mask.any():
            continue
        beyond = same.of_rows(mask)
        value, width = float(beyond.mean), float(beyond.half_width)
        held = Held(
            **vars(report(c, a, mask, **counted)),
            excess=float(test.mean),
            beyond=value,
            beyond_low=value - width,
            beyond_high=value + width,
            p_value=p[k],
            p_adjusted=adjusted[k],
        )
        tried.append(Tried(**vars(candidates[k]), held_out=held_out[mask], held=held))
    return tried
