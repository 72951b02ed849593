"""The exponential of the kernels against numpy's."""

from __future__ import annotations

import numpy as np

from lore_core.kernel_sums.compiled import compiled
from lore_core.kernel_sums.exponential import decay, square


@compiled
def _decays(a, out):
    for i in range(len(a)):
        out[i] = decay(a[i])


def test_decay_is_exact_to_rounding(rng):
    a = np.concatenate([rng.uniform(0, 689, 50_000), 10 ** rng.uniform(-320, 2.8, 50_000), [0.0]])
    out = np.empty_like(a)
    _decays(a, out)
    np.testing.assert_allclose(out, np.exp(-a), rtol=4e-16)


def test_decay_ends_in_zero():
    a = np.array([690.0, 700.0, 745.0, 1e300, np.inf])
    out = np.empty_like(a)
    _decays(a, out)
    np.testing.assert_array_equal(out, 0.0)


def test_square_skips_subnormal_numbers():
    assert square(0.5) == 0.25
    assert square(1e-149) == 1e-149**2
    assert square(1e-155) == 0.0
