"""One trial of weighted rows of known truth: what is called wrong of a calibrated model."""

import numpy as np
from _report import markdown_table
from _trials import APART, percent
from _verdict_sections import Runs

from lore_core.data.dataset import Dataset
from lore_core.data.weights import linearised
from lore_core.inference.intervals import calibration_intervals
from lore_core.inference.simulation import null_errors
from lore_core.metrics.global_metrics import share_interval
from lore_core.metrics.local_error import local_errors
from lore_core.metrics.means import mean_interval
from lore_core.metrics.proper_scores import row_brier
from lore_core.regions import conclude, find_subgroups, overall_gap


def weighted_null(seed: int, n: int, spread: float, rare: float = 0.0) -> dict[str, float]:
    """What is concluded of a calibrated model whose rows have lognormal weights.

    ``spread``: standard deviation of their logarithms; 0 for no weights. ``rare``: what is added to
    the logarithm of the weights of a fifth of the rows that a column names: weights that go with
    what places are made of.
    """
    rng = np.random.default_rng(seed + APART)
    z = rng.normal(size=(n, 2))
    confidence = np.clip(0.75 + 0.2 * np.tanh(z[:, 0]) + rng.normal(0, 0.05, n), 0.5, 0.99)
    right = (rng.random(n) < confidence).astype(np.int64)
    site = rng.choice(list("abcde"), n)
    log_weight = rng.normal(0, spread, n) + rare * (site == "a")
    weights = np.exp(log_weight) if spread else None
    data = Dataset(
        np.column_stack([1 - confidence, confidence]),
        right,
        features=z,
        groups={"site": site, "kind": rng.choice(list("uvw"), n)},
        weights=weights,
    )
    c, a, w = data.confidence, data.outcome, data.weights
    overall = overall_gap(c, a, weights=w, random_state=seed)
    search = find_subgroups(data, z, random_state=seed)
    level = conclude(overall, search).level
    null = null_errors(c, z, n_draws=100, weights=w, random_state=seed)
    errors = local_errors(c, a, z, weights=w)
    _, low, high = share_interval(a, w)
    truth = float(np.average(c, weights=w))
    intervals = calibration_intervals(c, a, weights=w, random_state=seed)
    # Of this model the expected Brier score of a row is c(1 − c).
    _, brier_low, brier_high = mean_interval(
        linearised(row_brier(data.probabilities, data.labels), w)
    )
    brier = float(np.average(c * (1 - c), weights=w))
    return {
        "wrong": float(level != "good"),
        "local": float(level == "local"),
        "global": float(level == "global"),
        "ECE, p ≤ 0.05": float(null.p_value("ece", overall.error) <= 0.05),
        "ALCE, p ≤ 0.05": float(null.p_value("alce", errors.average) <= 0.05),
        "MLCE, p ≤ 0.05": float(null.p_value("mlce", errors.maximum) <= 0.05),
        "accuracy covered": float(low <= truth <= high),
        "Brier covered": float(brier_low <= brier <= brier_high),
        "ECE's 0 covered": float(intervals.loc["ECE", "low"] == 0.0),
        "worth": overall.worth,
    }


#: Rows, spread of the logarithm of their weights, and what is added for one group.
_WEIGHTS = ((2000, 0.0, 0.0), (500, 1.0, 0.0), (2000, 0.5, 0.0), (2000, 1.0, 0.0))
_HEAVY = ((2000, 1.5, 0.0), (10_000, 1.0, 0.0), (2000, 0.5, 2.0))


def weighted_section(run: Runs) -> str:
    """Call models wrong whose every confidence is right, on weighted rows."""
    rows = []
    shown = (
        "wrong", "local", "global", "ECE, p ≤ 0.05", "ALCE, p ≤ 0.05", "MLCE, p ≤ 0.05",
        "accuracy covered", "Brier covered", "ECE's 0 covered",
    )  # fmt: skip
    for n, spread, rare in (*_WEIGHTS, *_HEAVY):
        found = run.run(weighted_null, 400, n, spread, rare)
        weights = "none" if not spread else f"{spread:g}{', one group × e²' if rare else ''}"
        worth = f"{found['worth'].mean():,.0f}"
        rows.append([f"{n:,}", weights, worth, *(percent(found[name]) for name in shown)])
    head = [
        "rows", "σ of log weight", "worth", "wrong, %", "a subgroup, %", "all rows, %",
        *shown[3:],
    ]  # fmt: skip
    return f"""## Weighted rows

Calibrated models on a plane with two columns, whose rows have lognormal weights (in the last line
those of one group are e² times as large): 400 models each, in %, ± the standard error over them
(again: `python benchmarks/trust.py --only weighted`). Worth: (Σw)²/Σw², as many equal rows. Wrong:
as above. p-values of ECE, ALCE and MLCE should be so small in 5 %. Covered: by the 95 % intervals
of accuracy and Brier score, in 95 %, and the truth 0 of the ECE by its interval, in 97.5 %.

{markdown_table(head, rows)}
"""
