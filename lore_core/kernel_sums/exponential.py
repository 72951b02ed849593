"""The kernel's exponential as plain arithmetic of base 2, within 1 unit in the last place.

Without branches the compiler can do eight at once; libm's crawls where the result is subnormal.
"""

import numpy as np

from lore_core.kernel_sums.compiled import compiled

#: 2^−995 ≈ 3e-300. Factors below it count as 0: a term is a product of factors ≤ 1, so no term
#: above 1e-299 is lost, and arithmetic never meets subnormal numbers, which are 100× slower.
NEGLIGIBLE_EXPONENT = 995.0
_NEGLIGIBLE_ROOT = 1e-150
# Adding 1.5·2^52 rounds to a whole number and leaves it in the low bits of the mantissa.
_SHIFT = 6755399441055744.0


@compiled
def half_power(a):
    """Return 2^(−a) for a ≥ 0 (inf allowed), exactly 0 from ``NEGLIGIBLE_EXPONENT`` on."""
    x = -min(a, 1010.0)
    shifted = x + _SHIFT
    r = x - (shifted - _SHIFT)
    # 2^r = 1 + r·q(r) for |r| ≤ 1/2: q interpolates at Chebyshev's nodes, off by less than 2e-17.
    p = 4.4549605981865186e-10
    p = p * r + 7.072585949269223e-09
    p = p * r + 1.0178062445845774e-07
    p = p * r + 1.321544258792169e-06
    p = p * r + 1.525273382983612e-05
    p = p * r + 0.0001540353044173605
    p = p * r + 0.0013333558146416936
    p = p * r + 0.009618129107606888
    p = p * r + 0.0555041086648216
    p = p * r + 0.24022650695910097
    p = p * r + 0.6931471805599453
    p = p * r + 1.0
    whole = np.float64(shifted).view(np.int64)
    power = np.int64((whole + 1023) << 52).view(np.float64)  # 2^whole
    return p * power if a < NEGLIGIBLE_EXPONENT else 0.0


@compiled
def square(k):
    """Return k², the kernel at half the bandwidth, by the same rule for negligible values."""
    return k * k if k > _NEGLIGIBLE_ROOT else 0.0
