import numpy as np
import pytest
from scipy import stats

from lore_core.regions.subgroups import overall
from lore_core.regions.subgroups.overall import overall_gap


def test_a_hand_derived_case():
    found = overall_gap([0.9, 0.9, 0.9, 0.9, 0.3, 0.3], [1, 1, 0, 0, 0, 0], n_bins=10)
    assert found.gap == pytest.approx(0.7 - 1 / 3)
    # Gaps 0.4 on four rows and 0.3 on two.
    assert found.error == pytest.approx((4 * 0.4 + 2 * 0.3) / 6)
    assert found.n_rows == 6


@pytest.mark.parametrize("n", [300, 3000])
def test_p_values_of_right_confidences_are_uniform(n, monkeypatch):
    # The rank of an error among simulated ones is uniform however many those are.
    monkeypatch.setattr(overall, "_N_SIMULATED", 399)
    gap, error = [], []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        c = rng.beta(6, 1, n)
        found = overall_gap(c, (rng.random(n) < c).astype(float), random_state=seed + 999)
        gap.append(found.gap_p)
        error.append(found.error_p)
    # Half an outcome is taken off the gap, so its p-values may only be too large.
    assert stats.kstest(gap, "uniform", alternative="greater").pvalue > 0.01
    assert stats.kstest(error, "uniform").pvalue > 0.01


def test_the_level_that_is_named_is_not_that_of_a_lone_row():
    # 200 rows of 0.9 of which 140 are right, and one of 0.7 that is wrong: 0.7 is further off.
    confidence, outcome = [0.9] * 200 + [0.7], [1] * 140 + [0] * 61
    found = overall_gap(confidence, outcome, n_bins=10)
    assert (found.worst_rows, found.worst_gap) == (200, pytest.approx(0.2))
    # Nothing is surely off: the most rows × gap.
    found = overall_gap([0.5, 0.5, 0.9], [1, 0, 1], n_bins=10)
    assert (found.worst_rows, found.worst_gap) == (1, pytest.approx(-0.1))


def test_levels_that_cancel_are_seen():
    rng = np.random.default_rng(0)
    c = rng.uniform(0.5, 1, 4000)
    a = (rng.random(4000) < np.clip(c - 0.12 * np.sin((c - 0.5) * 4 * np.pi), 0, 1)).astype(float)
    found = overall_gap(c, a)
    assert found.error_p < 0.002
    assert abs(found.gap) < 0.03
    assert abs(found.worst_gap) > 0.08
    assert found.worst_low < found.worst_high
