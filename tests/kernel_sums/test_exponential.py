import numpy as np
import pytest

from lore_core.kernel_sums.compiled import compiled
from lore_core.kernel_sums.exponential import half_power, square
from lore_core.kernel_sums.grid import rates
from lore_core.kernel_sums.pairs import kernel_values


@compiled
def _half_powers(a, out):
    for i in range(len(a)):
        out[i] = half_power(a[i])


def test_half_power_is_exact_to_rounding(rng):
    a = np.concatenate([rng.uniform(0, 994, 50_000), 10 ** rng.uniform(-320, 2.9, 50_000), [0.0]])
    out = np.empty_like(a)
    _half_powers(a, out)
    np.testing.assert_allclose(out, np.exp2(-a), rtol=4e-16)
    assert out[-1] == 1.0
    ends = np.array([995.0, 1000.0, 1080.0, 1e300, np.inf])
    _half_powers(ends, out)
    np.testing.assert_array_equal(out[: len(ends)], 0.0)
    assert square(0.5) == 0.25
    assert square(1e-149) == 1e-149**2
    assert square(1e-155) == 0.0


@pytest.mark.parametrize("h", [5e-324, 1e-310, 1e-290, 1e-6, 1.0, 1e6, 1e300, 1.7e308])
def test_kernel_values_at_any_bandwidth(h):
    with np.errstate(over="ignore", under="ignore"):
        distance = np.array([0.0, 0.5, 1.0, 3.0, 100.0, 680.0, 1e300, np.inf]) * h
    k = np.empty(len(distance))
    (lift,), (rate,) = rates(np.array([h]))
    kernel_values(distance, len(distance), lift, rate, False, k)
    with np.errstate(over="ignore"):
        expected = np.exp(-distance / h)
    np.testing.assert_allclose(k, expected, rtol=1e-12, atol=1e-299)
