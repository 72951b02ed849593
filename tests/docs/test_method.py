"""docs/method.md: GitHub can draw its formulas, and two of them are what the code computes."""

import re

import numpy as np
import pytest
from markdown_pages import ROOT, without_code
from scipy import stats

import lore_core as lore

TEXT = (ROOT / "docs" / "method.md").read_text(encoding="utf-8")


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
