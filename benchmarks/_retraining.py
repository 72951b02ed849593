"""Whether bounds of what recalibration can gain, and what it cannot, hold; and their section."""

from dataclasses import dataclass, replace
from functools import cache
from typing import Protocol

import numpy as np
import pandas as pd
from _geometries import Geometry, geometry
from _report import markdown_table
from _trials import Trial, percent
from numpy.typing import NDArray
from scipy.special import expit, logit

import lore_core as lore
from lore_core.comparison.retraining import GainEstimate, estimate_gains
from lore_core.data.dataset import Dataset
from lore_core.data.number_text import decimal
from lore_core.metrics.gains import cells_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_WORLDS: tuple[tuple[str, int, str], ...] = (
    ("digits", 500, "nothing"), ("digits", 500, "everywhere"), ("digits", 500, "places"),
    ("tumours", 500, "nothing"), ("diabetes", 200, "hidden"), ("table", 500, "nothing"),
    ("table", 2000, "nothing"), ("table", 2000, "everywhere"), ("table", 2000, "places"),
    ("table", 2000, "hidden"), ("table", 10_000, "places"), ("plane", 1000, "hidden"),
)  # fmt: skip
_SEARCHED: tuple[tuple[str, str], ...] = (
    ("digits", "places"), ("digits", "hidden"), ("table", "places"), ("table", "everywhere"),
)  # fmt: skip
_N_FITS = 20
_PARTS = ("calibration", "grouping", "both")


class Runs(Protocol):
    """Runs a trial over many seeds; one row a seed."""

    def run(self, trial: Trial, n_seeds: int, *args: object) -> pd.DataFrame:
        """Return one row a seed."""
        ...


def _accuracy(given: Geometry, planted: str) -> Floats:
    """Return how often each row is truly right."""
    c = given.dataset.confidence
    at = (given.points - given.points.mean(axis=0)) / given.points.std(axis=0)
    if planted == "nothing":
        return c
    if planted == "everywhere":
        return np.asarray(expit(logit(np.clip(c, 1e-6, 1 - 1e-6)) / 1.6))
    if planted == "hidden":
        side = np.sign(at[:, 0] - np.median(at[:, 0]))
        return np.asarray(c + 0.6 * side * np.minimum(c, 1 - c))
    off = np.abs(at - at[7]).sum(axis=1)
    gap = 0.04 + 0.08 * np.sin(2 * at[:, 0]) + 0.25 * (off <= np.quantile(off, 0.1))
    return np.asarray(np.clip(c - gap, 0.02, 1.0))


def _drawn(rows: Dataset, accuracy: Floats, rng: np.random.Generator) -> Dataset:
    right = rng.random(len(rows)) < accuracy
    other = (rows.predictions + 1) % rows.n_classes
    return replace(rows, labels=np.where(right, rows.predictions, other))


@dataclass(frozen=True, eq=False)
class Population:
    """Rows to draw from, how often they are right, and what other rows taught of them."""

    rows: Dataset
    points: Floats
    accuracy: Floats
    gains: GainEstimate


@cache
def population(name: str, planted: str, n: int, fit: int) -> Population:
    """Learn on min(n, 3,000) rows of a third, of new outcomes; the rest is drawn from."""
    given, rng = geometry(name), np.random.default_rng(10_000 + fit)
    accuracy = _accuracy(given, planted)
    order = np.random.default_rng(0).permutation(len(accuracy))
    known, new = np.split(order, [len(order) // 3])
    known = rng.permutation(known)[: min(n, 3000)]
    calibration = _drawn(given.dataset.rows(known), accuracy[known], rng)
    rows = given.dataset.rows(new)
    return Population(rows, given.points[new], accuracy[new], estimate_gains(calibration, rows))


def _level(c: Floats, accuracy: Floats, width: int) -> Floats:
    """Return E[accuracy | c] by a moving mean over rows in order of confidence."""
    order, level = np.argsort(c, kind="stable"), np.empty(len(c))
    kernel = np.ones(width)
    near = np.convolve(accuracy[order], kernel, "same")
    level[order] = near / np.convolve(np.ones(len(c)), kernel, "same")
    return level


def _true_loss(c: Floats, accuracy: Floats, planted: str) -> tuple[float, float]:
    """Return calibration and grouping loss."""
    level = accuracy
    if planted not in ("nothing", "everywhere"):
        level = _level(c, accuracy, max(25, len(c) // 50))
    return float(np.mean((c - level) ** 2)), float(np.mean((level - accuracy) ** 2))


def _true_parts(from_: Population, drawn: Ints) -> dict[str, float]:
    """Return what the population shows in the cells that the drawn rows make."""
    known, q = from_.gains, from_.accuracy
    bins, cells = cells_of(known.confidence[drawn], known.explained[drawn])
    at_bin = _same_cut(known.confidence, drawn, bins, np.zeros(len(q), np.int64))
    at_cell = _same_cut(known.explained, drawn, cells, at_bin)
    off = _mean_of(at_bin, known.confidence - q)
    left = known.recalibrated - q
    apart = _mean_of(at_cell, left) - _mean_of(at_bin, left)
    calibration, grouping = float(np.mean(off**2)), float(np.mean(apart**2))
    return dict(zip(_PARTS, (calibration, grouping, calibration + grouping), strict=True))


def _same_cut(values: Floats, drawn: Ints, code: Ints, within: Ints) -> Ints:
    """Cut the population where some of its rows were cut."""
    result = np.empty(len(values), np.int64)
    for one in np.unique(within):
        own = np.unique(code[within[drawn] == one])
        edges = [values[drawn][code == part].min() for part in own[1:]]
        inside = within == one
        result[inside] = own[np.searchsorted(edges, values[inside], side="right")]
    return result


def _mean_of(code: Ints, values: Floats) -> Floats:
    return np.asarray((np.bincount(code, values) / np.maximum(np.bincount(code), 1))[code])


def parts(seed: int, name: str, n: int, planted: str) -> dict[str, float]:
    """Whether intervals cover, estimates lean, and bounds hold."""
    from_ = population(name, planted, n, seed % _N_FITS)
    rng, q = np.random.default_rng(seed), from_.accuracy
    drawn = rng.integers(0, len(q), n)
    known = from_.gains
    here = GainEstimate(
        known.confidence[drawn], (rng.random(n) < q[drawn]).astype(np.float64),
        known.recalibrated[drawn], known.explained[drawn],
    )  # fmt: skip
    losses = here.losses()
    if losses is None:
        return {"enough": 0.0}
    result = {"enough": 1.0}
    for part, true in _true_parts(from_, drawn).items():
        found = getattr(losses, part)
        result[part] = float(found.low <= true <= found.high)
        result[f"{part} off"] = found.value - true
    calibration, grouping = _true_loss(known.confidence, q, planted)
    result |= {
        "calibration true": calibration, "grouping true": grouping,
        "more": float(losses.calibration.high < calibration),
        "less": float(losses.grouping.low > grouping),
        "both less": float(losses.both.low > calibration + grouping),
    }  # fmt: skip
    return result


def at_places(seed: int, name: str, planted: str) -> dict[str, float]:
    """Whether bounds hold on held-out rows of the places that are listed."""
    from_ = population(name, planted, 3000, seed % _N_FITS)
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(from_.accuracy))[:3000]
    q = from_.accuracy[chosen]
    rows = _drawn(from_.rows.rows(chosen), q, rng)
    known = from_.gains
    here = GainEstimate(
        rows.confidence, rows.outcome, known.recalibrated[chosen], known.explained[chosen]
    )
    search = lore.find_subgroups(rows, from_.points[chosen])
    more, less = [], []
    for subgroup in search.subgroups:
        losses = here.losses(subgroup.held_out)
        if losses is None:
            continue
        c, own = rows.confidence[subgroup.held_out], q[subgroup.held_out]
        level = _level(c, own, max(25, len(c) // 10))
        more.append(losses.calibration.high < np.mean((c - level) ** 2))
        less.append(losses.grouping.low > np.mean((level - own) ** 2))
    n = len(search.subgroups)
    result: dict[str, float] = {"places": n}
    if n:
        result["answered"] = len(more) / n
    if more:
        result |= {"more": float(np.mean(more)), "less": float(np.mean(less))}
    return result


def retraining_section(run: Runs) -> str:
    """Hold what can be gained against known truth."""
    rows, n_worlds = [], []
    for name, n, planted in _WORLDS:
        found = run.run(parts, 1000, name, n, planted)
        n_worlds.append(len(found))
        row = [name, f"{n:,}", planted]
        for part in _PARTS:
            lean = found[f"{part} off"]
            row += [percent(found[part]), decimal(lean.mean() * 100, 3, signed=True)]
        row += [f"{found[f'{part} true'].mean() * 100:.2f}" for part in _PARTS[:2]]
        rows.append([*row, *(percent(found[item]) for item in ("more", "less", "both less"))])
    subgroups, n_searches = [], []
    for name, planted in _SEARCHED:
        found = run.run(at_places, 1000, name, planted)
        n_searches.append(len(found))
        subgroups.append(
            [
                name, planted, f"{found['places'].mean():.1f}",
                f"{found['answered'].mean() * 100:.0f}",
                percent(found["more"].dropna()), percent(found["less"].dropna()),
            ]
        )  # fmt: skip
    head = ["rows of", "rows", "planted"]
    losses = [*head, *(x for part in _PARTS for x in (f"{part}, cover", "off"))]
    wrong = ["upper bound too low", "lower bound too high"]
    losses += ["calibration loss", "grouping loss", *wrong, "both"]
    at = ["rows of", "planted", "subgroups", "answered", *wrong]
    return f"""## Recalibrate, or retrain?

Rows are drawn from those of a real classifier with outcomes of known probability, {min(n_worlds):,}
times a line; a curve and trees are fitted on up to 3,000 other rows ({_N_FITS} fits a line).
Planted: nothing (every confidence is right), everywhere (a temperature of 1.6), places (4 points
everywhere, a wave of 8 and a tenth of the rows with 25 more), hidden (half of the map is right
more often by 0.6 of what is possible, the other half less often). Cover: share of the 95 %
intervals, in %, that hold what all rows that could be drawn show; off: the estimate less that, in
points of (c − a)². Then the true losses, in points, and how often, in %, a bound is wrong: "gains
at most" (too low), "at least" of class and features (too high), and of both.

{markdown_table(losses, rows)}

On held-out rows of listed subgroups ({min(n_searches):,} searches a line, of 3,000 rows or all
there are): how many subgroups, on how many of them (in %) there are rows and mistakes enough for
bounds, and how often one is wrong there.

{markdown_table(at, subgroups)}
"""
