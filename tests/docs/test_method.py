"""docs/method.md: its numbers are those of the code, and GitHub can draw its formulas."""

from __future__ import annotations

import re

import numpy as np
import pytest
from markdown_pages import ROOT, without_code
from scipy import stats

import lore_core as lore
from lore_core.chance import intervals, significance
from lore_core.recalibration import averaging, smooth_lore, smooth_tuning
from lore_core.regions.places import average, candidates, find, overall, tree, verdict

TEXT = (ROOT / "docs" / "method.md").read_text(encoding="utf-8")
WORDS = " ".join(TEXT.split())


@pytest.mark.parametrize(
    ("said", "is_so"),
    [
        (r"$n_{\mathrm{eff}} = 10$", significance.MIN_EFFECTIVE_SIZE == 10),
        (
            r"$t$ of 0, 0.15, 0.35, 0.7, 1, 1.4 and 2",
            intervals._SIZES == (0.15, 0.35, 0.7, 1.0, 1.4, 2.0),
        ),
        (r"b \in \lbrace 0, 4 \rbrace", intervals._NOISE == (0.0, 4.0)),
        (r"$1/(8 n_{\mathrm{eff}})$", significance._STEP == 1 / 8),
        ("at most 12 strata", average._MOST_STRATA == 12),
        ("of 60 rows or more each", average._ROWS_A_STRATUM == 60),
        ("of more than 200,000 rows 100,000 are searched", find._MOST_SEARCHED == 100_000),
        ("number's six quantile parts", find._PARTS == 6),
        ("pair of the twelve best columns", candidates._PAIRED == 12),
        ("cut at twelve rising levels", tree._LEVELS == 12),
        ("from 1 point up", candidates._LOWEST == 0.01),
        ("graph of ten nearest neighbours", tree._NEIGHBOURS == 10),
        (
            "$w$ 1 for one column, 0.5 for two and 0.4 for a region",
            candidates.WEIGHTS == {1: 1.0, 2: 0.5, 0: 0.4},
        ),
        ("more than three quarters of the rows is no place", candidates._LARGEST == 0.75),
        ("The twelve best are tried", find.MOST_TRIED == 12),
        ("all rows together are tested at 0.01".capitalize(), overall.OVERALL_ALPHA == 0.01),
        ("against 2,000 simulated models", overall._N_SIMULATED == 2000),
        ("ECE below 2 points is said and called small", verdict.SMALL == 0.02),
        ("1.5 times the average one", verdict._LEADS == 1.5),
        ("0.0125 to 12.8 in octaves", smooth_tuning.default_tuning_gammas().max() == 12.8),
        ("0.0125 to 12.8 in octaves", smooth_tuning.default_tuning_gammas().min() == 0.0125),
        ("cross-fitted on five parts", smooth_tuning.N_FOLDS == 5),
        (r"+ 5 \left( (\alpha - 1)^2", averaging._LINE_STRENGTH == 10.0),  # halved in the loss
        (r"$0.8 \sqrt[3]{n}$", averaging._LEVELS == 0.8),
        ("as few as cost at most 3 % of the NLL", smooth_lore._PRICE == 0.03),
        ("one of 5 bins of equal mass", lore.SmoothLoRe().n_bins == (1, 5)),
        ("$s$ of 0.25, 1, 4, 16 or ∞", smooth_tuning.STRENGTHS == (0.25, 1.0, 4.0, 16.0)),
        ("0, 1, 5 or 20 pseudo-rows", smooth_tuning.PSEUDO_ROWS == (0.0, 1.0, 5.0, 20.0)),
        ("one step of stacking for 50 rows", smooth_lore._ROWS_A_STEP == 50),
        ("and twenty at least", smooth_lore._LEAST_STEPS == 20),
        ("weights below a thousandth", smooth_lore._SMALLEST_WEIGHT == 1e-3),
        (r"plus $25 (\log T)^2 / 2$", smooth_lore._SHARES_PRECISION == 25.0),
    ],
)
def test_numbers(said, is_so):
    assert said in WORDS
    assert is_so


def test_formulas_are_closed_and_of_macros_github_knows():
    blocks = re.findall(r"^\$\$(.+)\$\$$", TEXT, re.MULTILINE)
    inline = re.findall(r"\$([^$]+)\$", re.sub(r"^\$\$.+\$\$$", "", without_code(TEXT), flags=re.M))
    assert len(blocks) >= 12
    assert "$" not in re.sub(r"\$\$?[^$]+\$\$?", "", without_code(TEXT))
    for formula in (*blocks, *inline):
        assert formula.count("{") == formula.count("}"), formula
        assert formula.count(r"\left") - formula.count(r"\leftarrow") == formula.count(r"\right")
        assert not re.search(r"\\(operatorname|,|;|!|\{|\}|\\)", formula), (
            formula
        )  # GitHub drops it


def test_chance_is_computed_as_written(sample):
    """Written down once more from the page, with sums over pairs and scipy's distributions."""
    c, a, z = (values[:60] for values in sample)
    n, gamma = len(c), 0.7
    k = np.exp(-np.abs(z[:, None] - z[None]).sum(axis=2) / (2 * gamma))
    signed = k @ (c - a) / k.sum(axis=1)
    size = k.sum(axis=1) ** 2 / (k**2).sum(axis=1)
    v = c * (1 - c)
    error = np.sqrt(k**2 @ v / k.sum(axis=1) ** 2)
    third = k**3 @ (v * (2 * c - 1)) / k.sum(axis=1) ** 3
    t = np.maximum(np.abs(signed) - 1 / (8 * size), 0) / error
    rho = third / error**3 * np.sign(signed)
    heavy, lam = rho > 0, 1 / rho**2
    m = np.maximum(lam - t * np.sqrt(lam), 0)
    tail = np.where(
        heavy,
        1 - stats.gamma.cdf(4 * lam + 2 * t * np.sqrt(lam), 4 * lam),
        1 - stats.gamma.cdf(lam, m + 0.5),
    )
    once = heavy & (tail < np.exp(-lam))
    p = np.where(t > 0, np.where(once, tail, np.minimum(2 * tail, 1)), 1.0)
    order = np.argsort(p)
    limit = p[order] * n * (1 / np.arange(1, n + 1)).sum() / np.arange(1, n + 1)
    adjusted = np.empty(n)
    adjusted[order] = np.minimum(np.minimum.accumulate(limit[::-1])[::-1], 1)

    found = lore.local_significance(c, a, z, gamma=gamma, n_bins=1, min_effective_size=1)
    assert 0 < heavy.sum() < n
    np.testing.assert_allclose(found.signed, signed, atol=1e-12)
    np.testing.assert_allclose(found.effective_size, size, rtol=1e-9)
    np.testing.assert_allclose(found.standard_error, error, rtol=1e-9)
    np.testing.assert_allclose(found.p_value, p, rtol=1e-6)
    np.testing.assert_allclose(found.adjusted, adjusted, rtol=1e-6)


def test_debiased_error_is_computed_as_written(sample):
    c, a, _ = sample
    total = 0.0
    for b in range(15):
        rows = np.minimum((c * 15).astype(int), 14) == b
        if rows.any():
            n, g = rows.sum(), abs(c[rows].mean() - a[rows].mean())
            q = (a[rows].sum() + 1) / (n + 2)
            sigma = np.sqrt(q * (1 - q) / n)
            folded = sigma * np.sqrt(2 / np.pi) * np.exp(-(g**2) / (2 * sigma**2))
            folded += g * (1 - 2 * stats.norm.cdf(-g / sigma))
            total += n * (2 * g - folded)
    found = lore.reliability_table(c, a).debiased_calibration_error
    assert found == pytest.approx(total / len(c), rel=1e-12)
