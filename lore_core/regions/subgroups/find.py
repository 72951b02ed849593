"""Search for subgroups worse than average: found on one half of the rows, tried on the other."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
import pandas as pd

from lore_core.data import validation
from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.dataset import TOP_LABEL, Dataset, Target
from lore_core.data.defaults import GAMMA
from lore_core.data.number_text import share_words
from lore_core.data.progress import Progress, tell
from lore_core.data.units import row_units
from lore_core.data.weights import as_weights
from lore_core.regions.enrichment import region_label
from lore_core.regions.subgroups.candidates import (
    MIN_ROWS,
    MOST_SEARCHED,
    PART_OF,
    SAME,
    Held,
    Rows,
    SearchedHalf,
    Tried,
    interest,
    is_wider_slice,
    overlap,
    subgroup_id,
    try_on,
)
from lore_core.regions.subgroups.overall import OVERALL_ALPHA, Against, Average, mean_gap_p
from lore_core.regions.variables.attributes import (
    PREDICTED,
    Predicate,
    telling_attributes,
    word_attributes,
)

#: Candidates of each half that are tried on the other one.
MOST_TRIED = 12
#: Numbers are cut into so many parts for pairs of columns, and so many times as many at most, of
#: :data:`MIN_ROWS` rows or more, by themselves; a slice is a range of them.
_PARTS, _MOST_TIMES = 6, 8
#: Share of ``alpha`` for subgroups that words of texts name.
_BY_WORDS = 0.25
#: Subgroups that share more rows than this are listed once.
_SHARED = 0.3
#: Without the rows of subgroups listed before it a subgroup must keep this much of its gap.
_OWN = 0.5

_WORSE_THAN: dict[Against, str] = {
    "zero": "wrong",
    "average": "worse than the average",
    "same confidence": "worse than rows of the same confidence",
    "other model": "changed",
}
_DESCRIBED = ("subgroup", "id", "name", "kind", "where", "leans", "rows")
_MEANS = ("confidence", "accuracy", "gap")


@dataclass(frozen=True, eq=False)
class Subgroup:
    """Rows that can be named, whose confidence is further off than the average."""

    rows: Ints = field(repr=False)  #: Row numbers, of both halves
    sign: int  #: +1: overconfident, −1: underconfident
    #: What columns hold of its rows, and of theirs alone; empty for a region of the map.
    conditions: tuple[Predicate, ...]
    #: Means over all its rows, half of which had a part in finding it.
    confidence: float
    accuracy: float
    held: Held  #: The evidence: what its rows say that had no part in finding it
    #: Row numbers of those of its rows that had no part in finding it.
    held_out: Ints = field(repr=False)
    #: Of a region, what most of its rows hold: :func:`~lore_core.regions.enrichment.region_label`.
    label: tuple[Predicate, ...] = ()
    centre: tuple[float, ...] = ()  #: Of a region without a label, on the map
    within: int | None = None  #: Number of the subgroup it is a worse part of
    name: str = ""  #: Given by the user
    note: str = ""
    known_id: str = ""  #: Of a region that was found before, with other rows at its edge

    @cached_property
    def id(self) -> str:
        """Eight hexadecimal digits of the definition: the same on every page and in files."""
        return self.known_id or subgroup_id(self.conditions, self.rows)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def gap(self) -> float:
        """Mean confidence − accuracy of all its rows."""
        return self.confidence - self.accuracy

    @property
    def is_region(self) -> bool:
        """Whether it is an outline on the map and not a slice in words."""
        return not self.conditions


@dataclass(frozen=True, eq=False)
class SubgroupSearch:
    """All subgroups of one set of rows."""

    subgroups: list[Subgroup]  #: Confirmed on held-out rows, the most interesting first
    tried: int  #: Candidates that were tried on held-out rows
    against: Against  #: What the subgroups are worse than
    n_rows: int  #: Rows searched
    #: Means over all of them.
    confidence: float
    accuracy: float
    #: Chance that any subgroup is listed if no subgroup is worse than what it is compared with.
    alpha: float
    by_words: bool = False  #: Whether there were words of texts that could name a subgroup
    is_possible: bool = True  #: Whether there was a column or a map on which to search

    @property
    def strictest(self) -> float:
        """Error rate left to the subgroups that are hardest to confirm: those that words name."""
        return self.alpha * (_BY_WORDS if self.by_words else 1.0)

    @property
    def gap(self) -> float:
        """Average gap of all rows."""
        return self.confidence - self.accuracy

    @property
    def sentence(self) -> str:
        """What was tried, against what, and with which chance of a false subgroup."""
        worse = _WORSE_THAN[self.against]
        if self.tried == 0:
            return "No subgroup looks wrong enough to be tested, or there are too few rows."
        if not self.subgroups:
            return f"No subgroup is significantly {worse} ({self.tried} tested on held-out rows)."
        are = "is" if len(self.subgroups) == 1 else "are"
        return (
            f"{len(self.subgroups)} of {self.tried} subgroups tested {are} significantly "
            f"{worse} on held-out rows. If none were, at most {share_words(self.alpha)} of such "
            "searches would list one."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the subgroups, and what was tried to find them."""
        return {
            "against": self.against,
            "tried": self.tried,
            "alpha": self.alpha,
            "subgroups": self.frame().to_dict(orient="records"),
        }

    def mask(self, number: int) -> Mask:
        """Rows of one subgroup, by its number from 0, shape (n_rows,)."""
        mask = np.zeros(self.n_rows, dtype=bool)
        mask[self.subgroups[number].rows] = True
        return mask

    def inside(self) -> Mask:
        """Rows in any significant subgroup, shape (n_rows,)."""
        masks = [self.mask(number) for number in range(len(self.subgroups))]
        return np.asarray(np.any([np.zeros(self.n_rows, dtype=bool), *masks], axis=0))

    def frame(self) -> pd.DataFrame:
        """Return the subgroups as a DataFrame, one row each."""
        return pd.DataFrame(
            [
                {
                    "subgroup": number,
                    "id": item.id,
                    "name": item.name,
                    "kind": "region" if item.is_region else "slice",
                    "where": " and ".join(map(str, item.conditions)),
                    "leans": "overconfident" if item.sign > 0 else "underconfident",
                    "rows": item.n_rows,
                    **{name: getattr(item, name) for name in _MEANS},
                    **{f"held_out_{name}": value for name, value in vars(item.held).items()},
                    "within": item.within,
                }
                for number, item in enumerate(self.subgroups, start=1)
            ],
            columns=[*_DESCRIBED, *_MEANS, *(f"held_out_{x.name}" for x in fields(Held)), "within"],
        )


def find_subgroups(
    dataset: Dataset,
    embedding: Any = None,
    *,
    target: str | int = TOP_LABEL,
    gamma: float = GAMMA,
    against: Against | Literal["auto"] = "auto",
    alpha: float = 0.04,
    random_state: int = 0,
    progress: Progress | None = None,
) -> SubgroupSearch:
    """Find where the confidence is worse than on average, in words and on the map.

    ``dataset``: columns that number the rows, are constant or tell the truth are left out.
    ``embedding`` (n, d): positions of the rows on a map; without it only columns are searched.
    ``target``: see :meth:`~lore_core.data.dataset.Dataset.target`. ``gamma``: bandwidth of the
    field whose tree of regions is searched. ``against``: what a subgroup must be worse than: no gap
    ("zero"), the mean gap of all rows ("average") or of rows of the "same confidence"; "auto":
    "average" where that is itself significant (as in the verdict), else "zero". ``alpha``: chance,
    in (0, 1), that any subgroup is listed where none is worse; a quarter of it for subgroups that
    words of texts name. ``random_state``: seed of the halves.

    What is found on one half of the rows is tested on the other (docs/method.md, "Subgroups and the
    verdict"). It is listed by its interest on all rows: the order does not depend on the halves.
    """
    halves = halves_of(dataset, target=target, against=against, random_state=random_state)
    return halves.search(embedding, gamma=gamma, alpha=alpha, progress=progress)


@dataclass(frozen=True, eq=False)
class Halves:
    """Rows halved to be searched: what depends on no map and no bandwidth is found once."""

    rows: Rows
    against: Against
    turns: list[tuple[SearchedHalf, Ints]]  #: What is searched, and the rows held out

    def of_model(self, other: Target, *, change: bool = False) -> Self:
        """Return the same halves of what another model says of the rows, with the same columns.

        ``change``: its confidences and outcomes less those of these, searched for any change.
        """
        rows, c, a = self.rows, other.confidence, other.outcome
        against: Against = "other model"
        if change:
            c, a = c - rows.confidence, a - rows.outcome
        else:
            against = _usual(c, a, rows.weights, rows.units)
        new = replace(rows, confidence=c, outcome=a)
        turns = [(half.of_rows(new, against), rest) for half, rest in self.turns]
        return replace(self, rows=new, against=against, turns=turns)

    def search(
        self,
        embedding: Any = None,
        *,
        gamma: float = GAMMA,
        alpha: float = 0.04,
        also: Callable[[Tried], bool] = lambda _: True,
        progress: Progress | None = None,
    ) -> SubgroupSearch:
        """Find subgroups; see :func:`find_subgroups`. ``also``: what else must hold of each."""
        points = None if embedding is None else validation.as_coordinates(embedding)
        if points is not None:
            validation.check_lengths(dataset=self.rows.confidence, embedding=points)
        validation.check_positive(gamma, "gamma")
        validation.check_share(alpha, "alpha")
        tried: list[Tried] = []
        for number, (half, held_out) in enumerate(self.turns):
            tell(progress, number / len(self.turns), "searching subgroups")
            found = half.candidates(points, gamma, MOST_TRIED)
            tried += try_on(held_out, found, self.rows, self.against, len(self.turns))
        tell(progress, 1.0, "searching subgroups")

        def by_words(item: Tried) -> bool:
            columns = (self.rows.attributes[part.column] for part in item.conditions)
            return any(column.words for column in columns)

        confirmed = [
            item
            for item in tried
            if item.confirmed(alpha * (_BY_WORDS if by_words(item) else 1.0)) and also(item)
        ]
        average = self.rows.average(slice(None), self.against)
        return SubgroupSearch(
            subgroups=_listed(confirmed, self.rows, average, points),
            tried=len(tried),
            against=self.against,
            n_rows=len(self.rows),
            confidence=self.rows.mean(self.rows.confidence),
            accuracy=self.rows.mean(self.rows.outcome),
            alpha=alpha,
            by_words=any(item.words for item in self.rows.attributes),
            is_possible=bool(self.rows.attributes) or points is not None,
        )


def halves_of(
    dataset: Dataset,
    *,
    target: str | int = TOP_LABEL,
    against: Against | Literal["auto"] = "auto",
    by_prediction: bool = True,
    random_state: int = 0,
    like: Halves | None = None,
) -> Halves:
    """Halve rows, to look for subgroups on one map and bandwidth after the other.

    ``by_prediction``: whether the predicted class may name a subgroup. ``like``: of the same rows
    with other confidences, whose columns are taken.
    """
    target_rows = dataset.target(target)
    c, a = target_rows.confidence, target_rows.outcome
    if against == "auto":
        against = _usual(c, a, target_rows.weights, target_rows.units)
    elif against not in ("zero", "average", "same confidence"):
        raise validation.InputError(
            f"'against' must be auto, zero, average or same confidence; got {against!r}."
        )
    if like is None:
        times = int(np.clip(len(c) // (_PARTS * MIN_ROWS), 1, _MOST_TIMES))
        known = telling_attributes(dataset, target=target, n_parts=_PARTS * times)
        known = [item for item in known if by_prediction or item.name != PREDICTED]
        searched = [*known, *word_attributes(dataset)]
        coarse = [item.coarser(_PARTS) for item in searched]
        rows = Rows(c, a, searched, coarse, as_weights(target_rows.weights), target_rows.units)
    else:
        rows = replace(like.rows, confidence=c, outcome=a)
    turns = _turns(c, target_rows.units, random_state) if len(rows) >= 2 * MIN_ROWS else []
    halves = [(SearchedHalf(rows, half, against), held_out) for half, held_out in turns]
    return Halves(rows, against, halves)


def _usual(c: Floats, a: Floats, weights: Floats | None, units: Ints | None) -> Against:
    """Return what subgroups are compared with unless it is said: the average where it is off."""
    return "average" if mean_gap_p(c, a, weights, units) <= OVERALL_ALPHA / 2 else "zero"


def _turns(c: Floats, units: Ints | None, random_state: int) -> list[tuple[Ints, Ints]]:
    unit = row_units(units, len(c))
    size = np.bincount(unit)
    sure = np.bincount(unit, c) / size
    rng, n = np.random.default_rng(random_state), len(size)
    if n < 2:
        return []
    order = rng.permutation(n)
    if len(c) > 2 * MOST_SEARCHED:
        searched = np.isin(unit, order[np.cumsum(size[order]) <= MOST_SEARCHED])
        return [(np.flatnonzero(searched), np.flatnonzero(~searched))]
    # Alike in confidence: of two units that follow each other in it, a coin sends one to each half.
    order = order[np.argsort(sure[order], kind="stable")]
    first = 2 * np.arange(n // 2) + rng.integers(0, 2, n // 2)
    inside = np.isin(unit, order[first])
    one, other = np.flatnonzero(inside), np.flatnonzero(~inside)
    return [(one, other), (other, one)]


Listed = list[tuple[Tried, Subgroup]]


def _listed(
    confirmed: list[Tried], rows: Rows, average: Average, points: Floats | None
) -> list[Subgroup]:
    """Order subgroups by interest; of those that share rows the first, and its worse parts."""

    def worth(item: Tried) -> float:
        excess = average.of_rows(item.inside)
        bound = excess.lower_bound_of_many if item.is_fine else excess.lower_bound
        return float(interest(excess, bound, len(rows), item.weight))

    listed: Listed = []
    for item in sorted(_merge_word_slices(confirmed, average), key=worth, reverse=True):
        around, same = _around(item, listed)
        chosen = np.flatnonzero(item.inside)
        if same or (around is None and _is_borrowed(item, rows, listed)):
            continue
        label: tuple[Predicate, ...] = ()
        centre: tuple[float, ...] = ()
        if not item.conditions and points is not None:
            label = region_label(item.inside, rows.coarse)
            centre = () if label else tuple(np.median(points[chosen], axis=0).tolist())
        subgroup = Subgroup(
            rows=chosen,
            sign=item.sign,
            conditions=tuple(part.predicate(rows.attributes) for part in item.conditions),
            confidence=rows.mean(rows.confidence, chosen),
            accuracy=rows.mean(rows.outcome, chosen),
            held=item.held,
            held_out=item.held_out,
            label=label,
            centre=centre,
            within=around,
        )
        listed.append((item, subgroup))
    return [subgroup for _, subgroup in listed]


def _merge_word_slices(confirmed: list[Tried], average: Average) -> list[Tried]:
    """Drop lists of words in place of which a longer one is listed."""

    def is_part(narrow: Tried, wide: Tried) -> bool:
        alike = narrow.text != "" and (narrow.text, narrow.sign) == (wide.text, wide.sign)
        return alike and is_wider_slice(wide.inside, narrow.inside, narrow.sign, average)

    return [item for item in confirmed if not any(is_part(item, one) for one in confirmed)]


def _around(candidate: Tried, listed: Listed) -> tuple[int | None, bool]:
    """Find the listed subgroup a candidate is a worse part of, and whether it is one of them."""
    around = None
    for number, (other, subgroup) in enumerate(listed):
        common = int((candidate.inside & other.inside).sum())
        shared = overlap(candidate.inside, other.inside)
        if shared > SAME:
            return None, True
        if common > PART_OF * int(candidate.inside.sum()):
            held = candidate.held
            bound = held.gap_low if candidate.sign > 0 else -held.gap_high
            is_worse = candidate.sign == other.sign and bound > abs(subgroup.held.gap)
            if not is_worse or around is not None:
                return None, True
            around = number
        elif common > PART_OF * int(other.inside.sum()) or shared > _SHARED:
            return None, True
    return around, False


def _is_borrowed(candidate: Tried, rows: Rows, listed: Listed) -> bool:
    """Whether rows of listed subgroups make most of a candidate's gap."""
    residual = candidate.sign * (rows.confidence - rows.outcome)
    known = [other.inside for other, _ in listed if other.sign == candidate.sign]
    rest = candidate.inside & ~np.logical_or.reduce(known) if known else candidate.inside
    own = rows.mean(residual, candidate.inside)
    return bool(rest.sum() == 0 or rows.mean(residual, rest) < _OWN * own)
