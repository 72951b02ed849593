"""What a model whose every probability is right would show of the whole vector's local errors."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from lore_core.chance.simulation import affordable_null_draws
from lore_core.chance.vector_draws import drawn_vectors
from lore_core.data.arrays import Floats, Mask
from lore_core.data.binning import Binning
from lore_core.data.dataset import Dataset
from lore_core.data.number_text import p_sentence, points_words, rows_words, share_words
from lore_core.data.progress import Progress
from lore_core.data.validation import Points, as_coordinates, check_integer
from lore_core.metrics.vector_error import VectorErrors, class_table

#: Chance that any row is called beyond it, that any class is, and that the average is, where all is
#: right.
ALPHA = 0.05
#: Simulated models at most and at least.
_DRAWS, _LEAST_DRAWS = 199, 39
#: Numbers that are divided at a time.
_AT_ONCE = 2**22


@dataclass(frozen=True, eq=False)
class VectorChance:
    """The whole vector's local errors, tested."""

    average: float  #: Root mean square of the vector LCE over supported rows, noise taken off
    #: What that stays below in 95 % of models whose every probability is right.
    chance_level: float
    p_value: float  #: Chance of so large an average there
    #: The same of the largest vector LCE of a supported row, noise taken off.
    largest: float
    largest_level: float
    largest_p_value: float
    #: (K,); the same of the root mean square of each class; p-values for all classes together:
    #: where all is right one of them is 0.05 or less in 5 % of sets.
    class_average: Floats
    class_level: Floats
    class_p_value: Floats
    #: (n,); rows whose vector LCE is beyond chance: where all is right there is one in 5 % of sets.
    beyond: Mask
    n_supported: int
    n_draws: int

    @property
    def is_significant(self) -> bool:
        """Whether the average is beyond chance."""
        return self.p_value <= ALPHA

    @property
    def sentence(self) -> str:
        """What the test says of all rows, and of single ones."""
        if not self.n_supported:
            return "No row has ten effective neighbours: raise γ."
        on = f"{rows_words(self.n_supported)} with ten effective neighbours or more"
        size = points_words(self.average, 1)
        level = points_words(self.chance_level, 1)
        against = f"models whose every probability is right stay below {level} in 95 %"
        if not self.is_significant:
            return (
                f"On {on} the whole vector is off by {size} points, less its noise: not beyond "
                f"chance ({against}; {p_sentence(self.p_value)})."
            )
        found = int(self.beyond.sum())
        where = (
            f"at {rows_words(found)} ({share_words(found / self.n_supported)}) beyond chance by "
            "themselves"
            if found
            else "at no single row beyond chance by itself"
        )
        return (
            f"On {on} the whole vector is off by {size} points, less its noise: beyond chance "
            f"({against}; {p_sentence(self.p_value)}), {where}."
        )


def vector_chance(
    dataset: Dataset,
    embedding: Points,
    errors: VectorErrors,
    *,
    n_draws: int | None = None,
    random_state: int = 0,
    progress: Progress | None = None,
) -> VectorChance:
    """Test local errors of the whole vector against a model whose every probability is right.

    Parameters
    ----------
    dataset, embedding
        As :func:`~lore_core.metrics.vector_error.vector_errors` took them.
    errors : VectorErrors
        What it returned.
    n_draws : int, optional
        Simulated models, at least 39; by default as many as can be waited for, 199 at most.
    random_state : int
        Their seed.
    progress : callable, optional
        Called with the share done.

    Notes
    -----
    True classes are drawn from the probabilities themselves and the squared vector errors computed
    as if they were the data (the probabilities and neighbours stay). The data are then one more
    draw, so that P(rank) is exact: p = (1 + draws at least as large) / (1 + draws). Rows are held
    against the largest of all rows: each squared error over its root mean square among the draws
    and the data, beyond the 95 % point of the largest of it in every draw. So are classes, by the
    mean of their squared errors.
    """
    known = errors.supported
    n_classes = dataset.n_classes
    draws = n_draws
    if draws is None:
        dimensions = as_coordinates(embedding).shape[1]
        waited_for = affordable_null_draws(len(known), dimensions, n_classes)
        draws = int(np.clip(waited_for, _LEAST_DRAWS, _DRAWS))
    check_integer(draws, "n_draws", minimum=_LEAST_DRAWS)
    if not known.any():
        nan, none = float("nan"), np.full(n_classes, np.nan)
        nothing = np.zeros(len(known), dtype=bool)
        return VectorChance(nan, nan, nan, nan, nan, nan, none, none, none, nothing, 0, draws)
    squared = np.empty((draws + 1, int(known.sum())))
    of_class = np.empty((draws + 1, n_classes))
    squared[0], of_class[0] = errors.squared[known], errors.class_squared
    done = 1
    for rows, classes in drawn_vectors(
        dataset,
        embedding,
        np.array([errors.gamma]),
        errors.bin_index,
        known[None],
        n_draws=draws,
        random_state=random_state,
        by_class=True,
        progress=progress,
    ):
        upto = done + rows.shape[1]
        squared[done:upto], of_class[done:upto] = rows[0][:, known], classes[0]
        done = upto
    mean, largest = squared.mean(axis=1), squared.max(axis=1)
    scaled, most = _own_and_furthest(squared)
    beyond = np.zeros(len(known), dtype=bool)
    beyond[known] = scaled > upper_level(most)
    apart = in_spreads(of_class)
    furthest = apart[1:].max(axis=1)
    return VectorChance(
        average=errors.average(),
        chance_level=_root(upper_level(mean[1:])),
        p_value=rank(mean),
        largest=errors.largest,
        largest_level=_root(upper_level(largest[1:])),
        largest_p_value=rank(largest),
        class_average=errors.class_length,
        class_level=np.array([_root(upper_level(drawn)) for drawn in of_class[1:].T]),
        class_p_value=np.array([(1 + (furthest >= own).sum()) / (1 + draws) for own in apart[0]]),
        beyond=beyond,
        n_supported=int(known.sum()),
        n_draws=draws,
    )


def in_spreads(values: Floats) -> Floats:
    """Divide columns (b, m) by their root mean square; what is 0 in all of them stays 0."""
    spread = np.sqrt(np.square(values).mean(axis=0))
    return np.asarray(np.divide(values, spread, out=np.zeros_like(values), where=spread > 0))


def _own_and_furthest(values: Floats) -> tuple[Floats, Floats]:
    """Return of :func:`in_spreads` the first row (m,), and the largest of every other row (b − 1,).

    Some columns at a time: of a million rows all are 320 MB, and three times that in between.
    """
    own, furthest = np.empty(values.shape[1]), np.full(len(values) - 1, -np.inf)
    edges = np.linspace(0, len(own), -(-values.size // _AT_ONCE) + 1).astype(int)
    for first, end in pairwise(edges):
        scaled = in_spreads(values[:, first:end])
        own[first:end] = scaled[0]
        np.maximum(furthest, scaled[1:].max(axis=1), out=furthest)
    return own, furthest


def upper_level(draws: Floats) -> float:
    """Return the smallest value that a share of 5 % of draws (b,), the data among them, exceeds."""
    return float(np.sort(draws)[int(np.ceil((1 - ALPHA) * (len(draws) + 1))) - 1])


def rank(values: Floats) -> float:
    """Return the share of values (b + 1,) that are at least as large as the first, the data's."""
    return float((values >= values[0]).mean())


def _root(squared: float) -> float:
    return float(np.sqrt(max(squared, 0.0)))


def classes_by_chance(
    dataset: Dataset,
    errors: VectorErrors,
    chance: VectorChance,
    *,
    n_bins: int = 15,
    binning: Binning = "equal-width",
) -> pd.DataFrame:
    """Say class by class how far off its probability is, and what chance shows; the worst first.

    Parameters
    ----------
    dataset, errors, n_bins, binning
        See :func:`~lore_core.metrics.vector_error.class_table`.
    chance : VectorChance
        The test of these errors.

    Returns
    -------
    DataFrame
        As ``class_table``, and further: ``chance_level``, what ``local`` stays below in 95 % of
        models whose every probability is right; ``p_value`` for all classes together; ``rows``, in
        how many of those beyond chance the class is the furthest off.
    """
    table = class_table(dataset, errors, n_bins=n_bins, binning=binning)
    order = errors.worst_first
    rows = np.bincount(errors.most_wrong[chance.beyond], minlength=len(table))
    return table.assign(
        chance_level=chance.class_level[order],
        p_value=chance.class_p_value[order],
        rows=rows[order],
    )


def describe_classes(table: pd.DataFrame) -> str:
    """Say which class to mend first.

    ``table``: from :func:`classes_by_chance`.
    """
    if table["p_value"].isna().all():
        return ""
    among = f"all {len(table)} classes taken together"
    beyond = table[table["p_value"] <= ALPHA]
    if beyond.empty:
        return f"No single class is off beyond chance, {among}."
    worst = beyond.iloc[0]
    if len(table) == 2:
        return (
            f"Of two classes each is off by what the other is, the other way round: "
            f"{points_words(worst['local'], 1)} points, less its noise (right models stay below "
            f"{points_words(worst['chance_level'], 1)} in 95 %; {p_sentence(worst['p_value'])})."
        )
    way = "too often" if worst["gap"] > 0 else "too seldom"
    text = (
        f"Mend “{beyond.index[0]}” first: its probability is off by "
        f"{points_words(worst['local'], 1)} points, less its noise (right models stay below "
        f"{points_words(worst['chance_level'], 1)} in 95 %; {p_sentence(worst['p_value'])}, "
        f"{among}), over all rows promised {points_words(abs(worst['gap']), 1)} points {way}."
    )
    if len(beyond) > 1:
        text += f" {len(beyond)} of {len(table)} classes are beyond chance."
    if (found := int(table["rows"].sum())) > 0:
        name, most = table["rows"].idxmax(), int(table["rows"].max())
        of_them = "all" if most == found > 1 else f"{most:,}"
        text += (
            f" “{name}” is the furthest off at {of_them} of the {rows_words(found)} beyond chance."
        )
    return text
