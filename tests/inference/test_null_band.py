import numpy as np
import pytest
from brute import bin_index, slce
from scipy import stats

import lore_core as lore


def _rows(seed=0, n=150):
    rng = np.random.default_rng(seed)
    c = rng.uniform(0.3, 1.0, n)
    return c, (rng.random(n) < c).astype(float), rng.normal(size=(n, 2))


def _drawn_outcomes(c, n_draws, seed=0):
    """The draws as documented: one vector of uniforms a draw, in order."""
    rng = np.random.default_rng(seed)
    return [(rng.random(len(c)) < c).astype(float) for _ in range(n_draws)]


def test_each_draw_is_the_definition_on_drawn_outcomes():
    c, _, z = _rows()
    band = lore.null_band(c, z, [0.05, 0.4], n_bins=4, n_draws=5)
    at = lore.null_errors(c, z, gamma=0.4, n_bins=4, n_draws=5, n_shares=3)
    for draw, outcome in enumerate(_drawn_outcomes(c, 5)):
        for g, gamma in enumerate(band.gamma):
            error = np.abs(slce(c, outcome, z, gamma, 4))
            assert band.mlce[draw, g] == pytest.approx(error.max())
            assert band.alce[draw, g] == pytest.approx(error.mean())
        assert at.mlce[draw] == pytest.approx(error.max())
        assert at.alce[draw] == pytest.approx(error.mean())
        np.testing.assert_allclose(at.lce[draw], np.quantile(error, [0, 0.5, 1]))
        table = lore.reliability_table(c, outcome, n_bins=4)
        assert at.ece[draw] == pytest.approx(table.expected_calibration_error)
        assert at.mce[draw] == pytest.approx(table.maximum_calibration_error)
    c, a, z = _rows()
    curve = lore.bandwidth_curve(c, a, z, [0.3, 0.8], n_bins=3)
    band = lore.null_band(c, z, [0.3, 0.8], n_bins=3, n_draws=4)
    support = lore.local_errors(c, a, z, gamma=0.3, n_bins=3).effective_size >= 10
    for draw, outcome in enumerate(_drawn_outcomes(c, 4)):
        error = np.abs(slce(c, outcome, z, 0.3, 3))
        assert band.mlce_supported[draw, 0] == pytest.approx(error[support].max())
    assert np.isfinite(curve.mlce_supported).all()
    alone = lore.null_band(c, z, [1e-3], n_draws=3)
    assert np.isnan(alone.mlce_supported).all()
    assert np.isnan(lore.null_errors(c, z, gamma=1e-3, n_draws=3).p_value("mlce_supported", 0.1))
    within = bin_index(c, 5) == 4
    at = lore.null_errors(c, z, gamma=0.4, n_bins=5, n_draws=3, within=within, n_shares=11)
    for draw, outcome in enumerate(_drawn_outcomes(c, 3)):
        error = np.abs(slce(c, outcome, z, 0.4, 5))[within]
        np.testing.assert_allclose(at.lce[draw], np.quantile(error, np.linspace(0, 1, 11)))
    with pytest.raises(lore.InputError, match="'within' must hold at least one row"):
        lore.null_errors(c, z, within=np.zeros(150, dtype=bool))


def test_how_many_draws_are_summed_at_once_does_not_matter(monkeypatch):
    c, _, z = _rows()
    together = lore.null_band(c, z, [0.2], n_draws=7)
    monkeypatch.setattr("lore_core.inference.simulation.MAX_DRAWS", 2)
    seen = []
    apart = lore.null_band(c, z, [0.2], n_draws=7, progress=lambda share, _: seen.append(share))
    np.testing.assert_allclose(apart.mlce, together.mlce, rtol=1e-12)
    assert seen == pytest.approx([2 / 7, 4 / 7, 6 / 7, 1.0])
    other = lore.null_band(c, z, [0.2], n_draws=7, random_state=1)
    assert not np.allclose(other.mlce, together.mlce)


def test_p_values_of_calibrated_data_are_uniform():
    """Under the null model the data are one more draw."""
    found = {"mlce": [], "alce": [], "ece": []}
    for seed in range(200):
        c, a, z = _rows(1000 + seed, n=250)
        null = lore.null_errors(c, z, gamma=0.3, n_bins=3, n_draws=39, random_state=seed)
        errors = lore.local_errors(c, a, z, gamma=0.3, n_bins=3)
        found["mlce"].append(null.p_value("mlce", errors.maximum))
        found["alce"].append(null.p_value("alce", errors.average))
        ece = lore.expected_calibration_error(c, a, n_bins=3)
        found["ece"].append(null.p_value("ece", ece))
    for p in found.values():
        assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.05, abs=0.04)
    # The others take few values (a lone row's gap, whole numbers of mistakes).
    assert stats.kstest(found["alce"], "uniform").pvalue > 0.01


def test_p_value_counts_the_data_as_a_draw():
    null = lore.null_errors(*_rows()[::2], n_draws=9)
    assert null.p_value("mlce", 2.0) == pytest.approx(0.1)
    assert null.p_value("mlce", 0.0) == 1.0
    # Reached by one draw and exceeded by none: half of it counts.
    assert null.p_value("mlce", null.mlce.max()) == pytest.approx(0.15)
    assert null.p_value("mlce", np.sort(null.mlce)[-2]) == pytest.approx(0.25)
    c, a, z = _rows()
    null = lore.null_errors(c, z, n_draws=39)
    said = lore.describe_maximum(lore.local_errors(c, a, z), null)
    p = null.p_value("mlce", lore.local_errors(c, a, z).maximum)
    assert f"p = {p:.2g})" in said
    assert "39 simulations" in said
    assert said.index("10 or more effective neighbours") < said.index("(MLCE)")
    wrong = lore.local_errors(c, np.zeros(150), z, n_bins=1, gamma=2.0)
    pooled = lore.null_errors(c, z, n_bins=1, gamma=2.0, n_draws=39)
    assert "p = 0.025)" in lore.describe_maximum(wrong, pooled)
    assert "p =" not in lore.describe_maximum(wrong)


def test_bands_and_affordability():
    band = lore.null_band(*_rows()[::2], [0.1, 1.0], n_draws=20)
    low, high = band.band("alce", 0.9)
    mean, deviation = band.alce.mean(axis=0), band.alce.std(axis=0, ddof=1)
    # The 19.95th of 20 draws, each by where it is furthest above and below the mean.
    for side, limit in ((1, high), (-1, low)):
        furthest = np.sort((side * (band.alce - mean) / deviation).max(axis=1))
        width = 0.05 * furthest[-2] + 0.95 * furthest[-1]
        np.testing.assert_allclose(limit, np.clip(mean + side * width * deviation, 0, 1))
    assert band.n_draws == 20
    with pytest.raises(lore.InputError, match="'level'"):
        band.band("alce", 1.0)
    assert lore.inference.affordable_null_draws(10_000, 2) == 200
    assert lore.inference.affordable_null_draws(10_000_000, 2) == 0
    assert 40 <= lore.inference.affordable_null_draws(5_000, 50, 10) <= 200
    assert lore.inference.affordable_null_draws(100_000, 50) == 0
