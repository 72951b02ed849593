"""One trial of the verdict, on real rows whose outcomes are drawn anew; rows of plain numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from _geometries import Geometry, Planted, blob, geometry, redrawn, slice_of
from _trials import APART

from lore_core.data.dataset import TOP_LABEL, Dataset
from lore_core.embedding import embed
from lore_core.metrics.global_metrics import wilson_interval
from lore_core.regions import (
    Overall,
    Subgroup,
    SubgroupSearch,
    conclude,
    detectable_gap,
    find_subgroups,
    overall_gap,
)
from lore_core.regions.subgroups.overall import OVERALL_ALPHA
from lore_core.view import View
from lore_core.view.methods import remaining_of
from lore_core.view.where import overall_of

Kind = Literal["slice", "blob"]


def null_verdict(
    seed: int, name: str, n: int | None = None, target: str | int = TOP_LABEL
) -> dict[str, float]:
    """Whether a model whose every confidence is right is called wrong."""
    given = geometry(name, n)
    overall, search = _tested(given, redrawn(given, 0.0, _outcomes(seed)), seed, target)
    level = conclude(overall, search, top_label=target == TOP_LABEL).level
    return {
        "wrong": float(level != "good"),
        "local": float(level == "local"),
        "global": float(level == "global"),
    }


def planted_verdict(
    seed: int, name: str, n: int | None, kind: Kind, share: float, gap: float, shift: float
) -> dict[str, float]:
    """Whether a planted subgroup is named first, and how right its gaps are."""
    given = geometry(name, n)
    rng = _outcomes(seed)
    planted = _planted(given, kind, share, rng)
    if planted is None:
        return {}
    data = redrawn(given, shift + gap * planted.inside, rng)
    _, search = _tested(given, data, seed)
    top = search.subgroups[0] if search.subgroups else None
    result = {"first": float(top is not None and _common(top, planted) >= 0.5)}
    if top is not None:
        c = data.confidence[top.rows]
        off = (shift + gap * planted.inside)[top.rows]
        # (Held-out rows are a random half of the place's, so its true gap is theirs.)
        truth = float((c - np.clip(c - off, 0.0, 1.0)).mean())
        low, high = wilson_interval(top.accuracy * top.n_rows, top.n_rows)
        result |= {
            "own": top.gap - truth,
            "own covers": float(top.confidence - high <= truth <= top.confidence - low),
            "held": top.held.gap - truth,
            "held covers": float(top.held.gap_low <= truth <= top.held.gap_high),
        }
    return result


def detected(seed: int, name: str, n: int | None, kind: Kind) -> dict[str, float]:
    """Whether a place of a tenth of the rows is found that is off by what is said to be enough."""
    given = geometry(name, n)
    rng = _outcomes(seed)
    planted = _planted(given, kind, 0.1, rng)
    if planted is None:
        return {}
    overall, search = _tested(given, redrawn(given, 0.0, rng), seed)
    gap = detectable_gap(overall, search.alpha, share=float(planted.inside.mean()))
    _, search = _tested(given, redrawn(given, gap * planted.inside, rng), seed)
    return {
        "gap": detectable_gap(overall, search.alpha),
        "found": float(any(_common(subgroup, planted) >= 0.25 for subgroup in search.subgroups)),
        "half": float(any(_common(subgroup, planted) >= 0.5 for subgroup in search.subgroups)),
    }


def remaining_verdict(
    seed: int, name: str, n: int | None, exponent: float, share: float, gap: float
) -> dict[str, float]:
    """What is listed after a global method, of a model that temperature scaling calibrates.

    The true probabilities are the model's own; it reports them to the power ``exponent``. A slice
    of ``share`` of the rows is also overconfident by ``gap``; 0: none.
    """
    given, rng = geometry(name, n), _outcomes(seed)
    planted = _planted(given, "slice", share, rng) if gap else None
    if gap and planted is None:
        return {}
    inside = np.zeros(len(given.dataset), dtype=bool) if planted is None else planted.inside
    data = redrawn(given, gap * inside, rng)
    powers = np.maximum(data.probabilities, 1e-12) ** exponent
    reported = data.with_probabilities(powers / powers.sum(axis=1, keepdims=True))
    reported = reported.with_split(0.5, random_state=seed)
    view = View(reported, maps={"PCA 2-D": embed(reported.features, "pca", 2)}, seed=seed)
    found = remaining_of(view)
    assert found is not None
    listed = found.search.subgroups
    result = {
        "listed": float(bool(listed)),
        "overall": float(found.overall.p_value <= OVERALL_ALPHA),
        "before": float(overall_of(view).p_value <= OVERALL_ALPHA),
        "temperature": float(found.method.label == "Temperature scaling"),
    }
    if planted is not None:
        shown = replace(planted, inside=inside[reported.in_split("evaluation")])
        result["found"] = float(any(_common(item, shown) >= 0.5 for item in listed))
    return result


def _outcomes(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed + APART)


def _tested(
    given: Geometry, data: Dataset, seed: int, target: str | int = TOP_LABEL
) -> tuple[Overall, SubgroupSearch]:
    target_rows = data.target(target)
    overall = overall_gap(target_rows.confidence, target_rows.outcome, random_state=seed)
    return overall, find_subgroups(data, given.points, target=target, random_state=seed)


def _planted(given: Geometry, kind: Kind, share: float, rng: np.random.Generator) -> Planted | None:
    return (blob if kind == "blob" else slice_of)(given, share, rng)


def _common(subgroup: Subgroup, planted: Planted) -> float:
    """Rows in both, as a share of the larger one."""
    common = int(planted.inside[subgroup.rows].sum())
    return common / max(subgroup.n_rows, int(planted.inside.sum()))
