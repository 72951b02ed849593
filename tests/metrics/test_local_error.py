import numpy as np
import pytest
from brute import slce

from lore_core import (
    InputError,
    average_local_calibration_error,
    embed,
    local_calibration_error,
    local_errors,
    maximum_local_calibration_error,
)


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
    found = local_calibration_error(c, a, z, gamma=1.0, signed=True)
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    errors = local_errors(c, a, z, gamma=1.0)
    assert errors.mass[0] == pytest.approx(1 + e1 + e3)
    assert errors.effective_size[0] == pytest.approx((1 + e1 + e3) ** 2 / (1 + e1**2 + e3**2))
    np.testing.assert_allclose(errors.confidence, 0.95, rtol=1e-14)
    np.testing.assert_allclose(errors.accuracy, 0.95 - np.array(expected), rtol=1e-14)
    # Each is as good as 1.5 to 2 rows; the last, far from the others, of the fewest.
    assert errors.effective_size.argmin() == 2
    assert list(errors.supported(errors.effective_size[:2].min())) == [True, True, False]
    assert errors.supported_maximum(errors.effective_size[:2].min()) == errors.absolute[:2].max()


@pytest.mark.parametrize("d", [1, 2, 3, 5, 20])
@pytest.mark.parametrize("exclude_self", [False, True])
def test_matches_brute_force(d, exclude_self):
    rng = np.random.default_rng(d)
    n = 120
    c = rng.uniform(0.4, 1, n)
    a = (rng.uniform(size=n) < c).astype(float)
    z = rng.normal(size=(n, d))
    for gamma in (0.01, 0.2, 5.0):
        found = local_calibration_error(
            c, a, z, gamma=gamma, n_bins=6, signed=True, exclude_self=exclude_self
        )
        expected = slce(c, a, z, gamma, 6, exclude_self=exclude_self)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_small_bandwidth_is_the_row_itself_and_the_mean_of_duplicates(sample):
    c, a, z = sample
    found = local_calibration_error(c, a, z, gamma=1e-9, n_bins=1)
    expected = np.abs(c - a)
    pairs = np.abs(((c - a)[40:50] + (c - a)[50:60]) / 2)
    expected[40:50] = expected[50:60] = pairs
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_summaries_are_the_maximum_and_the_mean(sample):
    c, a, z = sample
    lce = local_calibration_error(c, a, z)
    assert maximum_local_calibration_error(c, a, z) == lce.max()
    assert average_local_calibration_error(c, a, z) == pytest.approx(lce.mean())


def test_an_embedding_object_is_understood(sample):
    c, a, z = sample
    embedding = embed(z, "identity", scale="none")
    np.testing.assert_array_equal(
        local_calibration_error(c, a, embedding), local_calibration_error(c, a, z)
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gamma": 0}, "'gamma' must be a finite number above 0; got 0"),
        ({"gamma": np.inf}, "'gamma' must be a finite number above 0"),
    ],
)
def test_bad_options(sample, options, message):
    with pytest.raises(InputError, match=message):
        local_calibration_error(*sample, **options)


def test_embedding_of_other_length(sample):
    c, a, z = sample
    with pytest.raises(InputError, match="'confidence' must have as many rows as 'embedding'"):
        local_calibration_error(c, a, z[:-1])
