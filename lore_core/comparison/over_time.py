"""Batches of rows in memory: which slice, by columns and words, changed since which batch."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from lore_core.comparison.conclusions import Conclusion
from lore_core.data.arrays import Floats, Mask
from lore_core.data.dataset import Dataset
from lore_core.data.errors import InputError
from lore_core.data.number_text import (
    batches_words,
    interval_95,
    rows_words,
    signed_points,
    with_points,
)
from lore_core.data.texts import text_columns, with_text_features
from lore_core.data.units import set_errors
from lore_core.mergeable import LocalErrorSums, SummedBatches, Watched, plan_of_rows
from lore_core.mergeable.partitions.batches import change_words, in_order, stratified_change
from lore_core.reading.mapping import ColumnMapping
from lore_core.regions.subgroups.candidates import conditions_of
from lore_core.regions.subgroups.verdict import leaning, rows_with_conditions
from lore_core.regions.variables.attributes import telling_attributes, word_attributes

ALL_ROWS = "all rows"
#: Rows of a slice at least, before and after.
_FEWEST_ROWS = 30
#: Least variance of the right rows of a slice: with less its z is not normal.
_LEAST_VARIANCE = 3.0
#: Level of the test of later batches alone, whether a change has stayed.
_STAYS_ALPHA = 0.05


class SliceChange(NamedTuple):
    """How the error of a slice changed between earlier and later rows."""

    name: str  #: Which rows, in words
    rows_before: int
    rows: int
    gap_before: float  #: Mean confidence − accuracy of its earlier rows
    gap: float  #: The same of its later rows
    change: float  #: Mean change where confidence and place on the map are the same
    low: float  #: Ends of its 95 % interval, for all slices at once
    high: float
    z: float
    p_value: float  #: For all slices at once (Bonferroni)


@dataclass(frozen=True, eq=False)
class RowBatches(SummedBatches):
    """Batches whose rows are in memory."""

    rows: Dataset
    batch: NDArray[np.int64]  #: (n,); number of each row's batch
    named: tuple[str, ...]

    @classmethod
    def of(cls, rows: Dataset, batch: Sequence[str]) -> RowBatches:
        """Order batches by their names (n,) and make one map of all rows.

        Without features, those of the words of a text column; without either a map of one place.
        """
        named = sorted(set(batch), key=in_order)
        if rows.weights is not None:
            raise InputError(
                "batches must have no weights of rows: the tests count every row alike. Leave them "
                'out (mapping={"weight": ""}).'
            )
        number = {name: k for k, name in enumerate(named)}
        if rows.features is None:
            texts = text_columns(rows)
            zeros = np.zeros((len(rows), 1))
            rows = with_text_features(rows, texts[0]) if texts else replace(rows, features=zeros)
        plan = plan_of_rows(rows, ColumnMapping())
        return cls(plan, rows, np.array([number[name] for name in batch]), tuple(named))

    @property
    def names(self) -> list[str]:
        """Names of the batches in their order."""
        return list(self.named)

    @property
    def what(self) -> str:
        """The rows."""
        return f"'{self.rows.name}'"

    def sums(self, name: str) -> LocalErrorSums:
        """Return the sums of a batch."""
        return self.plan.sums_of_values(self._values[:, self.batch == self.named.index(name)])

    @cached_property
    def _values(self) -> Floats:
        return np.stack(self.plan.values(self.rows))

    def state_of(self, name: str) -> Hashable:
        """Return what tells the rows of a batch from others."""
        return self.rows.digest, name

    @cached_property
    def _slices(self) -> tuple[list[str], sparse.csr_matrix]:
        """Names of slices, and which rows are in which (s, n): all, of a column, with words."""
        attributes = [*telling_attributes(self.rows), *word_attributes(self.rows)]
        names, masks = [ALL_ROWS], [sparse.csr_matrix(np.ones((1, len(self.rows))))]
        for k, attribute in enumerate(attributes):
            for condition in conditions_of(attribute, k):
                names.append(rows_with_conditions([condition.predicate(attributes)]))
                masks.append(sparse.csr_matrix(condition.holds(attributes)[None].astype(float)))
        return names, sparse.vstack(masks, format="csr")

    def changes(self, before: Mask, after: Mask) -> list[SliceChange]:
        """Compare slices between two masks of rows (n,), the most significant change first."""
        names, members = self._slices
        sure, right, *z = self._values[: 2 + self.plan.embedding.n_components]
        values, bins = (np.ones(len(sure)), right, sure), self.plan.bins.assign(sure)
        stratum = np.unique([bins, *np.floor(z)], axis=1, return_inverse=True)[1].ravel()
        strata = sparse.csr_matrix((np.ones(len(stratum)), (np.arange(len(stratum)), stratum)))

        def sums(mask: Mask) -> Floats:
            chosen = sparse.diags(mask.astype(float))
            parts = [members @ (sparse.diags(row) @ chosen @ strata) for row in values]
            return np.stack([part.toarray() for part in parts])

        one, two = sums(before), sums(after)
        moved, weight, spread = (part.sum(axis=1) for part in stratified_change(one, two))
        (n_a, right_a, sure_a), (n_b, right_b, sure_b) = one.sum(axis=2), two.sum(axis=2)
        tested = (np.minimum(n_a, n_b) >= _FEWEST_ROWS) & (spread >= _LEAST_VARIANCE)
        degrees = np.full(len(names), np.inf)
        if (units := self.rows.units) is not None:
            known, apart = before | after, sure - right
            mean = np.bincount(bins, apart * known) / np.maximum(np.bincount(bins, known), 1)
            apart -= mean[bins]
            for k in np.flatnonzero(tested):
                of = members[[k]].indices
                size = [np.bincount(stratum[of], side[of])[stratum[of]] for side in (before, after)]
                share = (after[of] * size[0] - before[of] * size[1]) / np.maximum(sum(size), 1)
                of, share = of[share != 0], share[share != 0]
                is_later, size = (share > 0).astype(np.int64), np.abs(share)
                error, n_units = set_errors(apart[of], is_later, 2, size, units[of])
                degrees[k] = n_units.min() - 1
                spread[k] = np.fmax(spread[k], np.square(error * np.bincount(is_later, size)).sum())
            tested &= degrees > 0
        with np.errstate(invalid="ignore", divide="ignore"):
            error, change = np.sqrt(spread), moved / weight
            z = np.sign(moved) * np.maximum(np.abs(moved) - 0.5, 0) / error
            if units is not None:
                tail = special.stdtr(degrees, -np.abs(z))
                z = -np.sign(moved) * special.ndtri(np.maximum(tail, np.finfo(float).tiny))
            half = special.stdtrit(degrees, 1 - 0.025 / max(tested.sum(), 1)) * error / weight
            gaps = (sure_a - right_a) / n_a, (sure_b - right_b) / n_b
        p = np.minimum(2 * tested.sum() * special.ndtr(-np.abs(z)), 1.0)
        columns = (n_a.astype(int), n_b.astype(int), *gaps, change, change - half, change + half)
        order = sorted(np.flatnonzero(tested), key=lambda k: -abs(z[k]))
        table = [column.tolist() for column in (*columns, z, p)]
        return [SliceChange(names[k], *(column[k] for column in table)) for k in order]

    def slices_of(self, number: int) -> list[SliceChange]:
        """Compare slices of a batch, by its number from 1 on, with all batches before it."""
        return self.changes(self.batch < number, self.batch == number)

    def since(self, number: int) -> tuple[SliceChange, bool]:
        """Return what changed most at a batch, of all rows since, and whether it has stayed."""
        top = self.slices_of(number)[0]
        later = self.batch > number
        stays, after = True, self.batch >= number
        if later.any():
            same = [s for s in self.changes(self.batch < number, later) if s.name == top.name]
            toward = special.ndtr(-np.sign(top.z) * same[0].z) if same else 1.0
            stays = bool(toward <= _STAYS_ALPHA)
        after = after if stays else self.batch == number
        found = self.changes(self.batch < number, after)
        return next(item for item in found if item.name == top.name), stays


def conclude_batches(
    batches: SummedBatches, watched: Sequence[Watched], level: float
) -> Conclusion:
    """Say since which batch which rows are over- or underconfident, or that none changed.

    Of a model that does not change a share of at most ``level`` of the batches is marked; whether
    a change has stayed is tested on the batches after the marked one alone.
    """
    n = len(watched)
    marked = [k for k, of in enumerate(watched) if of.is_marked(level)]
    if not marked:
        if n == 1:
            return Conclusion("One batch so far: from the second on each is compared with earlier.")
        return Conclusion(
            f"No significant change in {batches_words(n)}: none differs from those before it."
        )
    named = [k for k in marked if watched[k].slice_p <= watched[k].change_p]
    if isinstance(batches, RowBatches) and named:
        first = {k: batches.since(k) for k in named}
        since = next((k for k in named if first[k][1]), named[-1])
        (top, stays), name = first[since], watched[since].name
        when = f"Since {name}" if stays else f"In {name}, but not since,"
        return Conclusion(f"{when} {describe_change(top)}.", is_significant=True)
    last = watched[marked[-1]]
    assert last.change is not None  # only later batches are marked
    return Conclusion(
        f"In {last.name} errors changed significantly: "
        f"{change_words(last.change, batches.plan.bins)}",
        is_significant=True,
    )


def describe_change(top: SliceChange) -> str:
    """Say how far off a slice is now, and how much that has changed."""
    which = f"all {rows_words(top.rows)}" if top.name == ALL_ROWS else f"{top.rows:,} {top.name}"
    was = f"{leaning(top.gap_before).lower()} by {with_points(abs(top.gap_before))}"
    return (
        f"{leaning(top.gap).lower()} by {with_points(abs(top.gap))} on {which} (before: {was}; "
        f"change {signed_points(top.change, 0)} points, {interval_95(top.low, top.high)})"
    )
