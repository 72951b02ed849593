"""exp(−a) as plain arithmetic, so that the compiler can do four or eight of them at once.

The libm call would be the slowest part of every kernel sum: it is scalar, and it crawls where the
result is subnormal. This one is branch-free and within 1 unit in the last place.
"""

from __future__ import annotations

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from lore_core.kernel_sums.compiled import compiled

__all__ = ["NEGLIGIBLE_EXPONENT", "decay", "square"]

#: exp(−690) ≈ 1e-300. Factors below it count as 0: a term is a product of factors ≤ 1, so no term
#: above 1e-300 is lost, and arithmetic never meets subnormal numbers, which are 100× slower.
NEGLIGIBLE_EXPONENT = 690.0
_NEGLIGIBLE_ROOT = 1e-150

_LOG2_E = 1.4426950408889634
# ln 2 in two parts; the first has trailing zero bits, so whole multiples of it are exact.
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
# Adding 1.5·2^52 rounds to a whole number and leaves it in the low bits of the mantissa.
_SHIFT = 6755399441055744.0


@intrinsic
def _bits(_context, value):  # noqa: ARG001 - numba reads the name
    """Return the 64 bits of a float64 as an int64."""

    def generate(_context, builder, _signature, arguments):
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), generate


@intrinsic
def _from_bits(_context, value):  # noqa: ARG001 - numba reads the name
    """Return the float64 with these 64 bits."""

    def generate(_context, builder, _signature, arguments):
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate


@compiled
def decay(a):
    """Return exp(−a) for a ≥ 0 (inf allowed), exactly 0 above ``NEGLIGIBLE_EXPONENT``."""
    x = -min(a, 700.0)
    shifted = x * _LOG2_E + _SHIFT
    whole = shifted - _SHIFT
    r = (x - whole * _LN2_HIGH) - whole * _LN2_LOW
    # |r| ≤ ln(2)/2: the Taylor sum of exp(r) to r^13/13! is off by less than 5e-18.
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    power = _from_bits((_bits(shifted) + 1023) << 52)  # 2^whole
    return p * power if a < NEGLIGIBLE_EXPONENT else 0.0


@compiled
def square(k):
    """Return k², the kernel at half the bandwidth, by the same rule for negligible values."""
    return k * k if k > _NEGLIGIBLE_ROOT else 0.0
