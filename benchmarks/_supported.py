"""Whether the interval of the supported MLCE covers the truth; and its section of docs/trust.md."""

from functools import cache
from pathlib import Path
from typing import Protocol

import numpy as np
import pandas as pd
from _geometries import geometry
from _report import markdown_table
from _trials import APART, Trial, percent
from _worlds import World, blobs, calibrated
from numpy.typing import NDArray

import lore_core as lore
from lore_core.data.binning import confidence_bins
from lore_core.kernel_sums import laplacian_means
from lore_core.kernel_sums.plain import distances
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE, scaled_bandwidth

Floats = NDArray[np.float64]

_ROWS = 2000
#: Where the rows are wrong, by how much; on real rows, whose neighbours are very unequal in number.
_PATTERNS = (("one place", 0.3), ("thirty places", 0.3), ("every row, ±", 0.2))


class Runs(Protocol):
    """Runs a trial over many seeds, and knows where probabilities of CIFAR-10 are."""

    votes: Path | None

    def run(self, trial: Trial, n_seeds: int, *args: object) -> pd.DataFrame:
        """Return one row a seed."""
        ...


@cache
def _rows_of(name: str) -> tuple[Floats, Floats]:
    """Return confidences and a map in the plane: of the digits, or of a directory's network."""
    if not Path(name).is_dir():
        found = geometry(name, _ROWS)
        return found.dataset.confidence, found.points
    p = np.load(Path(name) / "cifar10_test_set_pyx.npy", allow_pickle=False).astype(np.float64)
    p = p[np.random.default_rng(0).choice(len(p), _ROWS, replace=False)]
    p /= p.sum(axis=1, keepdims=True)
    return p.max(axis=1), lore.embed(np.log(np.maximum(p, 1e-6)), "pca", 2).coordinates


def _planted(seed: int, name: str, kind: str, size: float) -> World:
    """Return real rows that are wrong where ``kind`` says: in places of some 20 rows of a bin."""
    confidence, z = _rows_of(name)
    rng = np.random.default_rng([seed, APART])
    if kind == "every row, ±":
        gap = size * rng.choice([-1.0, 1.0], len(confidence))
    else:
        gap = np.zeros(len(confidence))
        index = confidence_bins(confidence, 15).assign(confidence)
        known = np.bincount(index)[index] >= 2 * MIN_EFFECTIVE_SIZE
        for place in rng.choice(np.flatnonzero(known), 1 if kind == "one place" else 30, False):
            away = np.where(index == index[place], distances(z[[place]], z)[0], np.inf)
            gap[np.argsort(away, kind="stable")[:21]] = size
    accuracy = np.clip(confidence - gap, 0.0, 1.0)
    outcome = (rng.random(len(confidence)) < accuracy).astype(np.float64)
    return World(confidence, outcome, z, confidence - accuracy)


def _covers(seed: int, world: World) -> dict[str, float]:
    c, a, z = world.confidence, world.outcome, world.z
    found = lore.calibration_intervals(c, a, z, n_draws=60, random_state=seed + APART)
    if "MLCE supported" not in found.index:
        return {}
    bins = confidence_bins(c, 15).assign(c)
    bandwidth = scaled_bandwidth(0.2, z.shape[1])
    true = laplacian_means(z, None, world.gap, bandwidth=bandwidth, target_groups=bins)
    truth = np.abs(true.mean)[true.effective_size >= MIN_EFFECTIVE_SIZE].max()
    low, high = found.loc["MLCE supported", ["low", "high"]]
    return {"covers": float(low - 1e-9 <= truth <= high + 1e-9), "width": float(high - low)}


def made_up(seed: int, n: int, gap: float) -> dict[str, float]:
    """Cover the truth of rows in the plane, calibrated or a tenth of them overconfident."""
    return _covers(seed, blobs(seed, n, gap) if gap else calibrated(seed, n, "spread (Beta 8, 1)"))


def real(seed: int, name: str, kind: str, size: float) -> dict[str, float]:
    """Cover the truth of real rows."""
    return _covers(seed, _planted(seed, name, kind, size))


def supported_section(run: Runs) -> str:
    """Cover the supported MLCE."""
    lines = []

    def add(rows_of: str, n: int, where: str, size: float, found: pd.DataFrame) -> None:
        numbers = percent(found["covers"]), f"{found['width'].mean() * 100:.1f}", f"{len(found)}"
        lines.append([rows_of, f"{n:,}", where, f"{size * 100:.0f}", *numbers])

    for n, gap in ((2000, 0.0), (2000, 0.2), (4000, 0.2)):
        where = "a tenth of the rows" if gap else "nowhere"
        add("made up", n, where, gap, run.run(made_up, 60, n, gap))
    if run.votes is not None:
        for kind, size in _PATTERNS:
            add("CIFAR-10", _ROWS, kind, size, run.run(real, 200, str(run.votes), kind, size))
    head = ["rows of", "rows", "wrong in", "by, points", "cover, %", "width, points", "models"]
    return f"""## The supported MLCE

Share of its 95 % intervals that cover the truth, in %, and their mean width. Rows in the plane, and
those of a network on CIFAR-10 (log-probabilities, PCA 2-D; with `--votes DIR`): wrong in one or
thirty places of 21 neighbours of a confidence bin, or each row by as much up or down, which
averages to little: such intervals begin at 0, and only their upper end can miss, in 2.5 %.

{markdown_table(head, lines)}
"""
