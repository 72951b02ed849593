import numpy as np
import pytest
from brute import slce

import lore_core as lore
from lore_core.kernel_sums import laplacian_sums
from lore_core.metrics.measured import Measured


def test_three_rows_by_hand():
    # One bin; rows at 0, 1, 3 on a line, γ = 1: k(0,1) = e⁻¹, k(0,3) = e⁻³, k(1,3) = e⁻².
    c, a, z = [0.95, 0.95, 0.95], [1, 0, 1], [[0.0], [1.0], [3.0]]
    e1, e2, e3 = np.exp([-1.0, -2.0, -3.0])
    gap = np.array([-0.05, 0.95, -0.05])
    expected = [
        (gap[0] + gap[1] * e1 + gap[2] * e3) / (1 + e1 + e3),
        (gap[0] * e1 + gap[1] + gap[2] * e2) / (1 + e1 + e2),
        (gap[0] * e3 + gap[1] * e2 + gap[2]) / (1 + e2 + e3),
    ]
    found = lore.local_calibration_error(c, a, z, gamma=1.0, signed=True)
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    errors = lore.local_errors(c, a, z, gamma=1.0)
    assert errors.mass[0] == pytest.approx(1 + e1 + e3)
    assert errors.effective_size[0] == pytest.approx((1 + e1 + e3) ** 2 / (1 + e1**2 + e3**2))
    np.testing.assert_allclose(errors.signed, expected, rtol=1e-14)
    # Each is as good as 1.5 to 2 rows; the last, far from the others, of the fewest.
    assert errors.effective_size.argmin() == 2
    assert list(errors.supported(errors.effective_size[:2].min())) == [True, True, False]


@pytest.mark.parametrize("d", [1, 2, 3, 5, 20])
@pytest.mark.parametrize("exclude_self", [False, True])
def test_matches_brute_force(d, exclude_self):
    rng = np.random.default_rng(d)
    n = 120
    c = rng.uniform(0.4, 1, n)
    a = (rng.uniform(size=n) < c).astype(float)
    z = rng.normal(size=(n, d))
    for gamma in (0.01, 0.2, 5.0):
        found = lore.local_calibration_error(
            c, a, z, gamma=gamma, n_bins=6, signed=True, exclude_self=exclude_self
        )
        expected = slce(c, a, z, gamma, 6, exclude_self=exclude_self)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_small_bandwidth_is_the_row_itself_and_the_mean_of_duplicates(sample):
    c, a, z = sample
    found = lore.local_calibration_error(c, a, z, gamma=1e-9, n_bins=1)
    expected = np.abs(c - a)
    pairs = np.abs(((c - a)[40:50] + (c - a)[50:60]) / 2)
    expected[40:50] = expected[50:60] = pairs
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_summaries_are_the_maximum_and_the_mean(sample):
    c, a, z = sample
    lce = lore.local_calibration_error(c, a, z)
    assert lore.maximum_local_calibration_error(c, a, z) == lce.max()
    assert lore.average_local_calibration_error(c, a, z) == pytest.approx(lce.mean())
    embedding = lore.embed(z, "identity", scale="none")
    np.testing.assert_array_equal(
        lore.local_calibration_error(c, a, embedding), lore.local_calibration_error(c, a, z)
    )
    with pytest.raises(lore.InputError, match="'confidence' must have as many rows as 'embedding'"):
        lore.local_calibration_error(c, a, z[:-1])
    for gamma in (0, np.inf):
        with pytest.raises(
            lore.InputError, match=f"'gamma' must be a finite number above 0; got {gamma}"
        ):
            lore.local_calibration_error(*sample, gamma=gamma)


def _measured(c, a, z=None, **options):
    data = lore.Dataset(np.column_stack([c, 1 - c]), 1 - a.astype(int))
    return Measured(data, z, **options)


def test_directions_are_those_of_the_other_half():
    rng = np.random.default_rng(0)
    c, z = rng.uniform(0.5, 1.0, 60), rng.normal(size=(60, 2))
    a = (rng.random(60) < 0.7).astype(float)
    rows = _measured(c, a, z, gamma=0.3, n_bins=4)
    held, bins = rows.held_out, rows.bin_index
    assert held.sum() == 30
    for local in (False, True):
        found = rows.held_out_gap(local=local)
        assert np.isnan(found[~held]).all()
        for i in np.flatnonzero(held):
            reported = np.flatnonzero(~held & (bins == bins[i]))
            distance = np.abs(z[reported] - z[i]).sum(axis=1)
            near = np.exp(-distance / 0.6) if local else np.ones(len(reported))
            direction = np.sign(near @ (c - a)[reported])
            assert found[i] == pytest.approx(direction * (c - a)[i])


def test_a_row_alone_in_its_bin_has_no_direction():
    rows = _measured(np.array([0.55, 0.95]), np.array([1.0, 0.0]), np.zeros((2, 1)))
    for local in (False, True):
        assert np.nansum(np.abs(rows.held_out_gap(local=local))) == 0
    far = _measured(np.array([0.55, 0.55]), np.array([1.0, 0.0]), np.array([[0.0], [1e4]]))
    assert np.nansum(np.abs(far.held_out_gap(local=True))) == 0
    # Two bins as far apart as can be; the gap of the one is +0.2, of the other −0.2.
    c = np.repeat([0.7, 0.9], 2000)
    a = np.concatenate([np.tile([1, 0], 1000), np.ones(1400), np.zeros(600)])
    z = np.repeat([0.0, 1.0], 2000)[:, None]
    # By halves the gaps are 0.2 ± a little: their direction is sure.
    rows = _measured(c, a, z)
    held = rows.held_out
    expected = np.mean((c - a)[held])
    assert np.nanmean(rows.held_out_gap(local=True)) == pytest.approx(expected)
    assert laplacian_sums(z, None, c - a, bandwidth=0.2).min() > 0


def test_calibrated_rows_have_about_none_where_the_alce_has_much():
    rng = np.random.default_rng(1)
    held, usual = [], []
    for _ in range(40):
        c, z = rng.uniform(0.5, 1.0, 300), rng.normal(size=(300, 2))
        a = (rng.random(300) < c).astype(float)
        found = lore.summarize(_measured(c, a).dataset, z).values
        held.append(found["ALCE held out"])
        usual.append(found["ALCE"])
    assert abs(np.mean(held)) < 3 * np.std(held) / np.sqrt(40)
    assert np.mean(usual) > 0.15
