"""Two models whose law is known: how often one is called better, worse or changed."""

from dataclasses import replace
from itertools import product
from typing import Literal, Protocol

import numpy as np
import pandas as pd
from _geometries import Floats, blob, drawn_classes, geometry, slice_of
from _report import markdown_table
from _trials import APART, Trial, percent
from numpy.typing import NDArray

from lore_core.comparison.two_models import ChangedSubgroup, ModelComparison, compare_models
from lore_core.data.dataset import Dataset

#: How far models of one law are apart, in log-odds, and by what factor both are overconfident.
_NOISE, _SHARPER = 0.5, 1.3
_NAMES = ("old", "new")
_SAID = ("any", "overall", "subgroup")
#: Pairs a line.
_EQUAL, _OPPOSITE, _CHANGED = 250, 100, 50


class Runs(Protocol):
    """Runs a trial over many seeds; one row a seed."""

    def run(self, trial: Trial, n_seeds: int, *args: object) -> pd.DataFrame:
        """Return one row a seed."""
        ...


def _pair(name: str, n: int | None, rng: np.random.Generator) -> tuple[Dataset, Dataset]:
    """Draw true classes, and two noisy models, overconfident by one law."""
    given = geometry(name, n)
    truth = given.dataset.probabilities
    labels = drawn_classes(truth, rng)
    logits = _SHARPER * np.log(np.maximum(truth, 1e-6))

    def model(called: str) -> Dataset:
        noisy = np.exp(logits + _NOISE * rng.normal(size=logits.shape))
        p = noisy / noisy.sum(axis=1, keepdims=True)
        return replace(
            given.dataset, probabilities=p, labels=labels, predictions=p.argmax(axis=1), name=called
        )

    return model(_NAMES[0]), model(_NAMES[1])


def _worse(
    model: Dataset, inside: NDArray[np.bool_], gap: float, rng: np.random.Generator
) -> Dataset:
    """Swap the predicted class for the next one in a part of the rows that are right."""
    right = inside & (model.outcome == 1)
    share = gap * inside.sum() / max(int(right.sum()), 1)
    rows = np.flatnonzero(right & (rng.random(len(model)) < share))
    p: Floats = model.probabilities.copy()
    order = np.argsort(p[rows], axis=1)
    best, second = order[:, -1], order[:, -2]
    p[rows, best], p[rows, second] = p[rows, second], p[rows, best]
    return replace(model, probabilities=p, predictions=p.argmax(axis=1))


def _statements(found: ModelComparison) -> dict[str, float]:
    """Whether anything is called better or worse, by what."""
    changed = found.of_kind("new", "worse", "fixed", "better")
    findings = found.is_significant, bool(found.verdict), bool(changed)
    return dict(zip(_SAID, map(float, findings), strict=True))


def equal_pair(seed: int, name: str, n: int | None) -> dict[str, float]:
    """Whether anything is claimed of two models of one law."""
    rng = np.random.default_rng(seed + APART)
    first, second = _pair(name, n, rng)
    found = compare_models(first, second, geometry(name, n).points, random_state=seed)
    return _statements(found)


def opposite_pair(seed: int, n_part: int, size: float) -> dict[str, float]:
    """Whether anything is claimed of a part where one model is as much over as the other is under.

    Both predict the same classes, and are right elsewhere; few of the part's rows are errors.
    """
    rng, n = np.random.default_rng(seed + APART), 2_000
    labels, inside = rng.integers(0, 2, n), np.arange(n) < n_part
    right = 1 - size / 2
    predictions = np.where(rng.random(n) < right, labels, 1 - labels)
    columns = {f"column {k}": rng.integers(0, 30, n).astype(str) for k in range(8)}
    metadata = pd.DataFrame({"part": np.where(inside, "a", "b"), **columns})

    def model(called: str, sign: int) -> Dataset:
        confidence = np.where(inside, right + sign * size / 2, right)
        p = np.column_stack([1 - confidence, confidence])
        p[predictions == 0] = p[predictions == 0, ::-1]
        return Dataset(p, labels, predictions=predictions, metadata=metadata, name=called)

    found = compare_models(model(_NAMES[0], 1), model(_NAMES[1], -1), random_state=seed)
    return _statements(found)


def changed_pair(
    seed: int, kind: Literal["slice", "blob"], is_new: bool, share: float, gap: float
) -> dict[str, float]:
    """Whether a planted change is reported, by its kind and with the right sign."""
    rng = np.random.default_rng(seed + APART)
    first, second = _pair("table", 5_000, rng)
    given = geometry("table", 5_000)
    planted = {"slice": slice_of, "blob": blob}[kind](given, share, rng)
    if planted is None:
        return {}
    if is_new:
        second = _worse(second, planted.inside, gap, rng)
    else:
        first = _worse(first, planted.inside, gap, rng)
    found = compare_models(first, second, given.points, random_state=seed)

    def half(item: ChangedSubgroup) -> bool:
        own = np.zeros(len(first), dtype=bool)
        own[item.rows] = True
        return bool((own & planted.inside).sum() >= planted.inside.sum() / 2)

    changed = found.of_kind("new", "worse", "fixed", "better")
    right = found.of_kind("new", "worse") if is_new else found.of_kind("fixed", "better")
    named = found.of_kind("new" if is_new else "fixed")
    inside = [float(planted.inside[item.rows].mean()) for item in right]
    return {
        "changed": float(any(map(half, right))),
        "kind": float(any(map(half, named))),
        "sign": len(right) / len(changed) if changed else np.nan,
        "inside": float(np.mean(inside)) if inside else np.nan,
    }


def pair_section(run: Runs) -> str:
    """Compare two models."""
    rows = []
    for name, n in (("digits", None), ("tumours", None), ("table", 5_000), ("plane", None)):
        found = run.run(equal_pair, _EQUAL, name, n)
        rows.append([f"{name}, one law", *(percent(found[what]) for what in _SAID)])
    for n_part, size in ((50, 0.15), (100, 0.1)):
        found = run.run(opposite_pair, _OPPOSITE, n_part, size)
        what = f"±{size * 50:.1f} points in {n_part} of 2,000"
        rows.append([what, "–", "–", percent(found["subgroup"])])
    none = markdown_table(["rows", "any statement", "overall", "a subgroup"], rows)
    rows = []
    # (No column of the table has a value that 5 % of the rows hold.)
    sizes = {"slice": ((0.1, 0.2), (0.1, 0.1)), "blob": ((0.1, 0.2), (0.1, 0.1), (0.05, 0.2))}
    for kind, is_new in product(sizes, (True, False)):
        for share, gap in sizes[kind]:
            found = run.run(changed_pair, _CHANGED, kind, is_new, share, gap)
            cells = [kind, "new" if is_new else "fixed", f"{share * 100:.0f}", f"{gap * 100:.0f}"]
            known = (percent(found[x], 0) for x in ("changed", "kind", "sign", "inside"))
            rows.append([*cells, *known])
    head = ["planted", "kind", "% of the rows", "gap, points", "half of it listed, %"]
    head += ["… as that kind, %", "listed with its sign, %", "of the listed rows in it, %"]
    return f"""## Two models

Pairs of models of one law: true classes drawn from a classifier's probabilities, both models those
in log-odds times {_SHARPER}, each with normal noise of its own of {_NOISE} ({_EQUAL} pairs a line).
How often, in %, the second is called better or worse, overall or in a subgroup: at most 5 in
expectation. In the last two lines ({_OPPOSITE} pairs) the first is overconfident in a part by as
much as the second is underconfident there, and few rows are errors; their NLL does differ.

{none}

Pairs of one law on 5,000 rows of the made-up table, but one errs in more rows of a part, by as many
points as the gap: the second ("new") or the first ("fixed"); {_CHANGED} pairs a line.

{markdown_table(head, rows)}
"""
