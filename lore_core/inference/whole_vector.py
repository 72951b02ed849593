"""Tests of the whole vector's local errors against models whose every probability is right."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from lore_core.data.arrays import Floats, Mask
from lore_core.data.binning import Binning
from lore_core.data.dataset import Dataset
from lore_core.data.defaults import N_BINS
from lore_core.data.number_text import p_sentence, points_words, rows_words, share_words
from lore_core.data.progress import Progress
from lore_core.data.units import Dependence
from lore_core.data.validation import Points, as_coordinates, check_integer
from lore_core.inference.simulation import affordable_null_draws, drawn_means
from lore_core.kernel_sums import laplacian_sums
from lore_core.metrics.global_metrics import expected_calibration_error
from lore_core.metrics.local_error import (
    VectorErrors,
    own_noise,
    own_shares,
    positive_root,
    scaled_bandwidth,
)

#: Chance, where all is right, of a significant row, of a significant class, and of the average.
ALPHA = 0.05
#: Simulated models at most and at least.
_DRAWS, _LEAST_DRAWS = 199, 39
#: Numbers that are divided at a time.
_AT_ONCE = 2**22


@dataclass(frozen=True, eq=False)
class VectorChance:
    """The whole vector's local errors, tested."""

    average: float  #: Root mean square of the vector LCE over supported rows, noise taken off
    #: 95 % point of ``average`` in models whose every probability is right.
    chance_level: float
    p_value: float  #: Chance of so large an average there
    #: The same of the largest vector LCE of a supported row, less noise.
    largest: float
    largest_level: float
    largest_p_value: float
    #: (K,); the same of the root mean square of each class, and p-values for all classes together.
    class_level: Floats
    class_p_value: Floats
    #: (n,); rows whose vector LCE is significant, among all rows.
    beyond: Mask
    n_supported: int
    n_draws: int

    @property
    def is_significant(self) -> bool:
        """Whether the average is significant."""
        return self.p_value <= ALPHA

    @property
    def sentence(self) -> str:
        """What the test says of all rows, and of single ones."""
        if not self.n_supported:
            return "No row has ten effective neighbours: raise γ."
        found, verdict, where = int(self.beyond.sum()), "not significant", ""
        if self.is_significant:
            verdict, where = "significant", ", at no single row significant by itself"
            if found:
                share = share_words(found / self.n_supported)
                where = f", at {rows_words(found)} ({share}) significant by themselves"
        return (
            f"On {rows_words(self.n_supported)} with ten effective neighbours or more the whole "
            f"vector is off by {points_words(self.average, 1)} points, less its noise: {verdict} "
            "(calibrated models stay below "
            f"{points_words(self.chance_level, 1)} in 95 %; {p_sentence(self.p_value)}){where}."
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

    ``dataset``, ``embedding``, ``errors``: of :func:`~lore_core.metrics.local_error.vector_errors`.
    ``n_draws``: simulated models, at least 39; by default as many as can be waited for, 199 at
    most. ``random_state``: their seed. What is compared: docs/method.md ("The whole vector").
    """
    known, z = errors.supported(), as_coordinates(embedding)
    n_classes = dataset.n_classes
    waited_for = affordable_null_draws(len(known), z.shape[1], n_classes)
    draws = int(np.clip(waited_for, _LEAST_DRAWS, _DRAWS)) if n_draws is None else n_draws
    check_integer(draws, "n_draws", minimum=_LEAST_DRAWS)
    beyond = np.zeros(len(known), dtype=bool)
    if not known.any():
        of_none = np.full(n_classes, np.nan)
        nothing: list[Any] = [*[float("nan")] * 6, of_none, of_none, beyond, 0, draws]
        return VectorChance(*nothing)
    squared, of_class = np.empty((draws + 1, int(known.sum()))), np.empty((draws + 1, n_classes))
    squared[0], of_class[0] = errors.squared[known], errors.class_squared
    drawing = dict[str, Any](n_draws=draws, random_state=random_state, progress=progress)
    done = 1
    for rows, classes in _drawn_squares(dataset, z, errors, **drawing):
        upto = done + len(classes)
        squared[done:upto], of_class[done:upto] = rows[known].T, classes
        done = upto
    mean, largest = squared.mean(axis=1), squared.max(axis=1)
    scaled, most = _own_and_furthest(squared)
    beyond[known] = scaled > upper_level(most)
    of_classes, furthest = _own_and_furthest(of_class)
    return VectorChance(
        average=errors.average,
        chance_level=float(positive_root(upper_level(mean[1:]))),
        p_value=_rank(mean),
        largest=errors.supported_maximum(),
        largest_level=float(positive_root(upper_level(largest[1:]))),
        largest_p_value=_rank(largest),
        class_level=positive_root(upper_level(of_class[1:])),
        class_p_value=(1 + (furthest[:, None] >= of_classes).sum(axis=0)) / (1 + draws),
        beyond=beyond,
        n_supported=int(known.sum()),
        n_draws=draws,
    )


def _drawn_squares(
    dataset: Dataset, z: Floats, errors: VectorErrors, **drawing: Any
) -> Iterator[tuple[Floats, Floats]]:
    """Yield ``squared`` (n, b') and ``class_squared`` (b', K) of b' simulated models."""
    known, groups = errors.supported(), errors.bin_index
    h = scaled_bandwidth(np.array([errors.gamma]), z.shape[1])
    mass = laplacian_sums(z, None, np.ones(len(z)), bandwidth=h, target_groups=groups)
    share = own_shares(z, known, mass[0], groups, float(h[0]))
    p = dataset.probabilities
    if dataset.units is not None:
        seen = np.eye(dataset.n_classes)[dataset.labels]
        drawing["dependence"] = Dependence.of(p, seen, dataset.units)
    for residual, mean in drawn_means(p, z, groups, h, mass, **drawing):
        own = np.square(residual, out=residual)
        square = np.square(mean, out=mean)[0]
        of_class = square[known].mean(axis=0) - np.tensordot(share, own, 1)
        yield square.sum(axis=2) - own_noise(z, own, mass, groups, h)[0], of_class


def _own_and_furthest(values: Floats) -> tuple[Floats, Floats]:
    """Divide columns (b, m) by their root mean square; return first row, and others' largest."""
    own, furthest = np.empty(values.shape[1]), np.full(len(values) - 1, -np.inf)
    edges = np.linspace(0, len(own), -(-values.size // _AT_ONCE) + 1).astype(int)
    for first, end in pairwise(edges):
        part = values[:, first:end]
        spread = np.sqrt(np.square(part).mean(axis=0))
        scaled = np.divide(part, spread, out=np.zeros_like(part), where=spread > 0)
        own[first:end] = scaled[0]
        np.maximum(furthest, scaled[1:].max(axis=1), out=furthest)
    return own, furthest


def upper_level(draws: Floats) -> Floats:
    """Return the least value that 5 % of draws (b[, m]) and data exceed."""
    return np.asarray(np.sort(draws, axis=0)[int(np.ceil((1 - ALPHA) * (len(draws) + 1))) - 1])


def _rank(values: Floats) -> float:
    """Return the share of values (b + 1,) that are at least as large as the first, the data's."""
    return float((values >= values[0]).mean())


def class_table(
    dataset: Dataset,
    errors: VectorErrors,
    chance: VectorChance | None = None,
    *,
    n_bins: int = N_BINS,
    binning: Binning = "equal-width",
) -> pd.DataFrame:
    """Say class by class how far off its probability is, the worst first.

    ``errors``, ``chance``: of the rows, and their test. ``n_bins``, ``binning``: of each class's
    own ECE.

    Returns a DataFrame: ``mean_probability`` and ``frequency`` of a class; ``gap``, their
    difference; ``ece``, in bins of its own probability; over the supported rows ``local``, the root
    mean square of its SLCE less its noise, and ``alce`` and ``mlce``, noise and all. With
    ``chance`` also ``chance_level``, the 95 % point of ``local`` where every probability is right;
    ``p_value`` for all classes together; ``rows``, in how many significant ones the class is the
    furthest off.
    """
    local = np.abs(errors.signed[errors.supported()])
    p, n_classes = dataset.probabilities, dataset.n_classes
    mean = p.mean(axis=0)
    frequency = np.bincount(dataset.labels, minlength=n_classes) / len(dataset)
    columns = {
        "mean_probability": mean,
        "frequency": frequency,
        "gap": mean - frequency,
        "ece": [
            expected_calibration_error(p[:, k], dataset.labels == k, n_bins=n_bins, binning=binning)
            for k in range(n_classes)
        ],
        "local": positive_root(errors.class_squared),
        "alce": local.mean(axis=0) if len(local) else np.nan,
        "mlce": local.max(axis=0) if len(local) else np.nan,
    }
    if chance is not None:
        columns |= {
            "chance_level": chance.class_level,
            "p_value": chance.class_p_value,
            "rows": np.bincount(errors.most_wrong[chance.beyond], minlength=n_classes),
        }
    names = pd.Index([dataset.class_name(k) for k in range(n_classes)], name="class")
    return pd.DataFrame(columns, names).iloc[np.argsort(-errors.class_squared, kind="stable")]


def describe_classes(table: pd.DataFrame) -> str:
    """Say which class is the worst."""
    if table["p_value"].isna().all():
        return ""
    among = f"all {len(table)} classes taken together"
    beyond = table[table["p_value"] <= ALPHA]
    if beyond.empty:
        return f"No single class is significantly miscalibrated, {among}."
    worst = beyond.iloc[0]
    size = (
        f"{points_words(worst['local'], 1)} points, less its noise (calibrated models stay below "
        f"{points_words(worst['chance_level'], 1)} in 95 %; {p_sentence(worst['p_value'])}"
    )
    if len(table) == 2:
        return f"Of two classes each is off by what the other is, the other way round: {size})."
    way = "too high" if worst["gap"] > 0 else "too low"
    text = (
        f"The worst class is “{beyond.index[0]}”: its probability is off by {size}, {among}), "
        f"over all rows {points_words(abs(worst['gap']), 1)} points {way}."
    )
    if len(beyond) > 1:
        text += f" {len(beyond)} of {len(table)} classes are significantly miscalibrated."
    return text
