"""Whether guaranteed error rates hold, on rows of known truth; their section."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

import numpy as np
import pandas as pd
from _report import markdown_table
from _retraining import population as listed_population
from _trials import Trial, percent
from numpy.typing import ArrayLike, NDArray

import lore_core as lore
from lore_core.metrics import answer_threshold, risk_curve

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_N_FITS, _N_CALIBRATION, _ERROR = 20, 1000, 0.05
_METHODS = (
    lore.NoRecalibration,
    lore.TemperatureScaling,
    lore.IsotonicRegression,
    lore.HistogramBinning,
)
#: World, rows, largest share of wrong answers.
_WORLDS: tuple[tuple[str, int, float], ...] = (
    ("at the limit", 500, 0.05), ("at the limit", 5000, 0.05), ("most confident worst", 2000, 0.05),
    ("calibrated", 500, 0.1), ("calibrated", 5000, 0.05), ("overconfident", 2000, 0.05),
)  # fmt: skip
_VOTES: tuple[tuple[int, float], ...] = (
    (500, 0.05), (1000, 0.05), (2000, 0.05), (5000, 0.05), (5000, 0.03), (5000, 0.02),
    (2000, 0.1),
)  # fmt: skip
_N_DRAWS, _N_SEARCHES, _N_LISTED_FITS = 2000, 40, 4


class Runs(Protocol):
    """Runs a trial over many seeds, and knows where human votes are."""

    votes: Path | None

    def run(self, trial: Trial, n_seeds: int, *args: object) -> pd.DataFrame:
        """Return one row a seed."""
        ...


@dataclass(frozen=True, eq=False)
class Population:
    """Rows to draw from with replacement, under several methods; ``right``: P(right) of each."""

    confidence: Mapping[str, Floats]
    reference: Mapping[str, Floats]
    right: Floats
    group: Ints

    def answered(self, method: str, threshold: ArrayLike, group: int | None = None) -> Ints:
        """Return how many rows have a confidence or more."""
        above = -np.atleast_1d(np.asarray(threshold, np.float64))
        return np.searchsorted(_falling(self, method, group)[0], above, side="right")

    def error_rate(self, method: str, threshold: ArrayLike, group: int | None = None) -> Floats:
        """Return the true error rate among rows of a confidence or more; NaN without any."""
        n = self.answered(method, threshold, group)
        wrong = _falling(self, method, group)[1][n]
        return np.asarray(np.where(n > 0, wrong / np.maximum(n, 1), np.nan))


@cache
def _falling(known: Population, method: str, group: int | None) -> tuple[Floats, Floats]:
    """Return falling confidences, negative, and the summed error probabilities above them."""
    own = slice(None) if group is None else known.group == group
    order = np.argsort(-known.confidence[method][own], kind="stable")
    wrong = np.cumsum(1 - known.right[own][order])
    return -known.confidence[method][own][order], np.append(0.0, wrong)


@cache
def of_votes(folder: str, fit: int) -> Population:
    """Fit methods on images drawn at random, each with one person's answer as its label."""
    votes = np.load(Path(folder) / "cifar10h-counts.npy").astype(np.float64)
    vectors = np.load(Path(folder) / "cifar10_test_set_pyx.npy").astype(np.float64)
    share, rng = votes / votes.sum(axis=1, keepdims=True), np.random.default_rng(fit)
    drawn = rng.integers(0, len(share), _N_CALIBRATION)
    label = (rng.random((_N_CALIBRATION, 1)) > share[drawn].cumsum(axis=1)).sum(axis=1).clip(0, 9)
    known, images = lore.Dataset(vectors[drawn], label), lore.Dataset(vectors, vectors.argmax(1))
    fitted = {method.label: method().fit(known) for method in _METHODS}
    return Population(
        {name: method.recalibrate(images).confidence for name, method in fitted.items()},
        {name: method.recalibrate(known).confidence for name, method in fitted.items()},
        share[np.arange(len(share)), images.predictions],
        images.predictions,
    )


@cache
def made_up(kind: str, fit: int) -> Population:
    """Return 50,000 rows in five groups of unlike size, and a method's confidences of them."""
    rng = np.random.default_rng(fit)
    c, other = rng.beta(8, 1, 50_000), rng.beta(8, 1, _N_CALIBRATION)
    right = {
        "at the limit": np.full(len(c), 0.95 - 1e-6),
        "most confident worst": np.where(c > 0.99, 0.9, np.where(c > 0.85, 0.98, 0.8)),
        "calibrated": c,
        "overconfident": 1 - np.minimum(1.5 * (1 - c), 0.9),
    }[kind]
    group = rng.choice(5, len(c), p=[0.4, 0.3, 0.15, 0.1, 0.05])
    return Population({"as it is": c}, {"as it is": other}, right, group)


def _broken(known: Population, method: str, found: float | None, risk: float, *group: int) -> bool:
    return found is not None and bool(known.error_rate(method, found, *group)[0] > risk)


def thresholds(seed: int, kind: str, n: int, risk: float) -> dict[str, float]:
    """Choose thresholds on new rows: which are given, and which break their guarantee."""
    make = of_votes if Path(kind).is_dir() else made_up
    known, rng = make(kind, seed % _N_FITS), np.random.default_rng(10_000 + seed)
    drawn = rng.integers(0, len(known.right), n)
    a = (rng.random(n) < known.right[drawn]).astype(np.float64)
    methods = [*known.confidence]
    last = methods[min(1, len(methods) - 1)]
    curves = {
        name: risk_curve(c[drawn], a, known.reference[name]) for name, c in known.confidence.items()
    }
    alone = answer_threshold(curves[last], risk)
    result = {"given": alone.n_answered > 0, "broken": _broken(known, last, alone.confidence, risk)}
    if alone.n_answered:
        result["answered"] = alone.n_answered / n
    at = curves[last]["threshold"]
    rates, share = known.error_rate(last, at), known.answered(last, at) / len(known.right)
    result["possible"] = float((share * (rates <= risk)).max())
    low, high = curves[last]["low"], curves[last]["high"]
    result["band"] = bool(((low <= rates) & (rates <= high) | np.isnan(rates)).all())
    result["half width"] = float((high - low).iloc[-1] / 2)
    result["method broken"] = any(
        _broken(known, name, answer_threshold(curve, risk, n_joint=len(methods)).confidence, risk)
        for name, curve in curves.items()
    )
    group, n_groups = known.group[drawn], int(known.group.max()) + 1
    n_joint, given, broken = len(methods) * n_groups, 0, False
    for number in np.unique(group):
        inside = group == number
        curve = risk_curve(known.confidence[last][drawn][inside], a[inside], known.reference[last])
        found = answer_threshold(curve, risk, n_joint=n_joint).confidence
        given += found is not None
        broken |= _broken(known, last, found, risk, int(number))
    result |= {"group broken": broken, "groups given": given / n_groups}
    return {name: float(value) for name, value in result.items()}


def listed(seed: int, risk: float) -> dict[str, float]:
    """Choose thresholds on held-out rows of subgroups that a search lists."""
    from_ = listed_population("table", "places", 3000, seed % _N_LISTED_FITS)
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(from_.accuracy))[:3000]
    right = from_.accuracy[chosen]
    rows = from_.rows.rows(chosen)
    correct = rng.random(len(rows)) < right
    labels = np.where(correct, rows.predictions, (rows.predictions + 1) % rows.n_classes)
    drawn = lore.Dataset(rows.probabilities, labels, features=rows.features)
    search = lore.find_subgroups(drawn, from_.points[chosen])
    others = np.setdiff1d(np.arange(len(from_.accuracy)), chosen)
    reference = from_.rows.rows(others).confidence
    given, broken = 0, False
    for item in search.subgroups:
        c, q = drawn.confidence[item.held_out], right[item.held_out]
        curve = risk_curve(c, drawn.outcome[item.held_out], reference)
        at = answer_threshold(curve, risk, n_joint=search.tried).confidence
        if at is not None:
            given += 1
            broken |= bool(1 - q[c >= at].mean() > risk)
    return {"listed": len(search.subgroups), "given": given, "broken": float(broken)}


def abstention_section(run: Runs) -> str:
    """Measure how often guaranteed error rates are exceeded."""
    rows = []
    worlds = [(kind, kind, n, risk) for kind, n, risk in _WORLDS]
    if run.votes is not None:
        worlds += [("human votes", str(run.votes), n, risk) for n, risk in _VOTES]
    for name, kind, n, risk in worlds:
        found = run.run(thresholds, _N_DRAWS, kind, n, risk)
        dkw = np.sqrt(np.log(2 / _ERROR) / (2 * n))
        rows.append(
            [
                name, f"{n:,}", f"{risk * 100:g}", percent(found["broken"]),
                f"{found['given'].mean() * 100:.0f}",
                f"{found.get('answered', pd.Series(dtype=float)).mean() * 100:.0f}",
                f"{found['possible'].mean() * 100:.0f}", percent(found["method broken"]),
                percent(found["group broken"]), f"{found['groups given'].mean() * 100:.0f}",
                percent(found["band"]), f"{found['half width'].mean() * 100:.1f}",
                f"{dkw * 100:.1f}",
            ]
        )  # fmt: skip
    head = ["rows of", "rows", "at most, %", "broken, %", "given, %", "then answered, %"]
    head += ["possible, %", "any method broken, %", "any group broken, %", "groups given, %"]
    head += ["band holds, %", "± at the end", "± DKW"]
    of_lists = run.run(listed, _N_SEARCHES, 0.3)
    votes = "(the lines of human votes were not run: they need `--votes DIR`)."
    if run.votes is not None:
        votes = """human votes: probabilities of a network on
CIFAR-10 (cleanlab/label-errors), each label one person's answer, drawn from the votes of CIFAR-10H
(Peterson et al., ICCV 2019)."""
    return f"""## Answers with a guaranteed error rate

Rows are drawn with replacement from a population in which the probability of being right is known
at every row, {_N_DRAWS:,} draws a line and {_N_FITS}
fits on {_N_CALIBRATION:,} other draws; the confidence to answer from is
chosen so that at most so many answers are wrong, with an error of 5 %.
At the limit: a share of 5.0001 % is wrong at every confidence; most confident worst: 10 %
wrong above 0.99, 2 % from 0.85, 20 % below; {votes}

Broken: the true error rate is above the limit. Given: there is a threshold; then answered, and
possible with the true error rates known. Any method, any group: of no, temperature, isotonic and
histogram recalibration (made-up rows: one), of the ten predicted classes (five groups), whose
guarantees hold at once. Band: all thresholds inside; half its width in points where all rows are
answered, and that of the Dvoretzky–Kiefer–Wolfowitz inequality.

{markdown_table(head, rows)}

Held-out rows of listed subgroups (3,000 rows of the table with planted places,
{len(of_lists):,} searches, at most 30 % wrong): {of_lists["listed"].mean():.1f} are listed,
{of_lists["given"].mean():.1f} have a threshold, and in {percent(of_lists["broken"])} % of the
searches any is broken.
"""
