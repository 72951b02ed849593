"""Whether paired intervals cover what is true of two fitted methods; and their section."""

from dataclasses import dataclass, replace
from functools import cache
from typing import Protocol

import numpy as np
import pandas as pd
from _geometries import drawn_classes, geometry
from _report import markdown_table
from _trials import APART, Trial, percent
from numpy.typing import NDArray

import lore_core as lore
from lore_core.data.dataset import Dataset
from lore_core.kernel_sums import laplacian_means
from lore_core.metrics.catalogue import ALCE_HELD_OUT, BRIER, ECE_HELD_OUT, MEAN_CONFIDENCE, NLL
from lore_core.metrics.local_error import scaled_bandwidth
from lore_core.metrics.means import difference_range, joint_intervals
from lore_core.metrics.measured import Measured
from lore_core.metrics.metric import Metric
from lore_core.metrics.proper_scores import BY_CLASS

Floats = NDArray[np.float64]

#: Rows of which classifier, how many of them are measured, and what is planted.
_WORLDS: tuple[tuple[str, int, str], ...] = (
    ("digits", 500, "places"), ("tumours", 500, "nothing"), ("table", 500, "nothing"),
    ("table", 500, "everywhere"), ("table", 2000, "nothing"), ("table", 2000, "places"),
    ("table", 10_000, "places"),
)  # fmt: skip
_METRICS = (NLL, BRIER, MEAN_CONFIDENCE, ECE_HELD_OUT, ALCE_HELD_OUT)
#: The first is what the others are compared with.
_FIRST = "No recalibration"
_N_FITS = 20
_GAMMA = 0.2


class Runs(Protocol):
    """Runs a trial over many seeds; one row a seed."""

    def run(self, trial: Trial, n_seeds: int, *args: object) -> pd.DataFrame:
        """Return one row a seed."""
        ...


@dataclass(frozen=True, eq=False)
class Population:
    """Rows to draw from, what is true of them, and what fitted methods make of them."""

    rows: Dataset
    z: Floats
    chance: Floats  #: (n, K); true probabilities
    methods: dict[str, Dataset]

    @property
    def accuracy(self) -> Floats:
        """True probability of the predicted class, shape (n,)."""
        return self.chance[np.arange(len(self.z)), self.rows.predictions]


def _chances(data: Dataset, z: Floats, planted: str) -> Floats:
    """Return what the classes' probabilities truly are."""
    p = np.clip(data.probabilities, 1e-9, 1.0)
    if planted == "nothing":
        return p / p.sum(axis=1, keepdims=True)
    if planted == "everywhere":
        flat = p ** (1 / 1.6)
        return np.asarray(flat / flat.sum(axis=1, keepdims=True))
    at = (z - z.mean(axis=0)) / z.std(axis=0)
    off = np.abs(at - at[7]).sum(axis=1)
    gap = 0.04 + 0.08 * np.sin(2 * at[:, 0]) + 0.2 * (off <= np.quantile(off, 0.1))
    right = np.clip(data.confidence - gap, 0.02, 0.999)
    predicted = (np.arange(len(z)), data.predictions)
    p[predicted] = 0.0
    p *= ((1 - right) / p.sum(axis=1))[:, None]
    p[predicted] = right
    return p


@cache
def population(name: str, planted: str, n: int, fit: int) -> Population:
    """Fit methods on min(n, 1,000) rows of a third, of new classes; the rest is drawn from."""
    given, rng = geometry(name), np.random.default_rng(fit + 2 * APART)
    chance = _chances(given.dataset, given.points, planted)
    order = np.random.default_rng(0).permutation(len(chance))
    third = len(chance) // 3
    fitted_on = rng.permutation(order[:third])[: min(n, 1000)]
    classes = drawn_classes(chance[fitted_on], rng)
    calibration = replace(given.dataset.rows(fitted_on), labels=classes)
    rows, z = given.dataset.rows(order[third:]), given.points[order[third:]]
    methods = [
        lore.NoRecalibration(), lore.TemperatureScaling(), lore.PlattScaling(),
        lore.HistogramBinning(), lore.LoRe(), lore.SmoothLoRe(),
    ]  # fmt: skip
    after = {}
    for method in methods:
        local = method.needs_embedding
        method.fit(calibration, given.points[fitted_on] if local else None)
        after[method.label] = method.recalibrate(rows, z if local else None)
    return Population(rows, z, chance[order[third:]], after)


def _true_scores(from_: Population, after: Dataset) -> dict[str, float]:
    p = np.clip(after.probabilities, 1e-6, 1.0)
    brier = (after.probabilities**2).sum(axis=1, keepdims=True) - 2 * after.probabilities + 1
    if p.shape[1] == 2:
        brier = brier / 2
    return {
        NLL.name: float(-(from_.chance * np.log(p)).sum(axis=1).mean()),
        BRIER.name: float((from_.chance * brier).sum(axis=1).mean()),
        MEAN_CONFIDENCE.name: float(after.confidence.mean()),
    }


def _true_held_out(from_: Population, after: Dataset, rows: Measured) -> dict[str, float]:
    """Return the mean true gap of the population in the directions these rows show."""
    telling, gap = ~rows.held_out, rows.scores.confidence - rows.scores.outcome
    index = rows.reliability.bins.assign(after.confidence)
    total = np.bincount(rows.bin_index[telling], gap[telling], minlength=15)
    assert isinstance(rows.embedding, np.ndarray)
    local = laplacian_means(
        from_.z, rows.embedding[telling], gap[telling],
        bandwidth=scaled_bandwidth(_GAMMA, from_.z.shape[1]), target_groups=index,
        source_groups=rows.bin_index[telling], effective_size=False,
    ).mean  # fmt: skip
    true = after.confidence - from_.accuracy
    return {
        ECE_HELD_OUT.name: float((np.sign(total)[index] * true).mean()),
        ALCE_HELD_OUT.name: float((np.sign(np.nan_to_num(local)) * true).mean()),
    }


def paired(seed: int, rows_of: str, n: int, planted: str) -> dict[str, float]:
    """Whether paired intervals cover: of each pair, and of all methods at once."""
    from_ = population(rows_of, planted, n, seed % _N_FITS)
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, len(from_.z), n)
    labels = drawn_classes(from_.chance[drawn], rng)
    values, truth = {}, {}
    for label, after in from_.methods.items():
        rows = Measured(replace(after.rows(drawn), labels=labels), from_.z[drawn], gamma=_GAMMA)
        values[label] = rows.row_values()
        truth[label] = _true_scores(from_, after) | _true_held_out(from_, after, rows)
    result: dict[str, float] = {}
    others = [label for label in values if label != _FIRST]
    for metric in _METRICS:
        name = metric.name
        apart = pd.DataFrame({m: values[m][name] - values[_FIRST][name] for m in others})
        true = pd.Series({m: truth[m][name] - truth[_FIRST][name] for m in others})
        possible = _possible(from_, metric, drawn, others)
        for k, label in enumerate(others):
            ends = None if possible is None else possible[k : k + 1]
            result[f"{name}, {label}"] = _cover(apart[[label]], true, ends)
        result[f"{name}, all"] = _cover(apart, true, possible)
    return result


def _possible(
    from_: Population, metric: Metric, drawn: NDArray[np.int64], others: list[str]
) -> list[tuple[float, float]] | None:
    """Return what a row's differences could have been, as the product does; None: not known."""
    if metric.name not in BY_CLASS:
        return None
    first, *rest = (from_.methods[name].probabilities[drawn] for name in (_FIRST, *others))
    of_class = BY_CLASS[metric.name]
    return [difference_range(of_class, of_class(first), other) for other in rest]


def _cover(
    apart: pd.DataFrame, true: pd.Series, possible: list[tuple[float, float]] | None
) -> float:
    """Whether all intervals cover."""
    found = joint_intervals(apart, possible)
    held = (found["low"] <= true[found.index]) & (true[found.index] <= found["high"])
    return float(held.all())


def coverage_section(run: Runs) -> str:
    """Compare paired intervals with known differences."""
    rows, n_worlds = [], []
    for name, n, planted in _WORLDS:
        found = run.run(paired, 1000, name, n, planted)
        n_worlds.append(len(found))
        cells = [name, f"{n:,}", planted]
        for metric in _METRICS:
            pairs = [c for c in found if c.startswith(f"{metric.name}, ") and not c.endswith("all")]
            cells += [_range(found[pairs]), percent(found[f"{metric.name}, all"])]
        rows.append(cells)
    head = ["rows of", "rows", "planted"]
    for metric in _METRICS:
        head += [f"{metric.words}, pairs", "all"]
    return f"""## Paired differences

Share of the 95 % intervals of differences between methods that cover the truth, in %: rows are
drawn from those of a real classifier with true classes of known probability,
{min(n_worlds):,} times a line; five methods (temperature, Platt, histogram, LoRe, LoRe smooth),
fitted on up to 1,000 other rows ({_N_FITS} fits a line), are compared with none. Planted: nothing
(every probability is right), everywhere (a temperature of 1.6), places (4 points everywhere, a wave
of 8 and a tenth of the rows with 20 more). Pairs: the lowest to the highest of the five, each by
itself. All: how often all hold at once, at the level of several. The truth is what the fitted
methods show on average over all rows that could be drawn; of held-out errors in the directions that
the other half of the same rows shows.

{markdown_table(head, rows)}
"""


def _range(found: pd.DataFrame) -> str:
    share = found.mean() * 100
    return f"{share.min():.1f} to {share.max():.1f}"
