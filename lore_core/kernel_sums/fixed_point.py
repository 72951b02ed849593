"""Coordinates as 32-bit whole numbers, for distances at twice the speed of float64.

Only they are rounded, not distances: see docs/method.md ("Exact kernel sums") for the bound.
"""

import numpy as np
from numpy.typing import NDArray

#: From here on the distances cost more than what follows them.
_WORTH_DIMENSIONS = 8
#: Of 2^31: room for the rounding of up to a million dimensions and of this module's arithmetic.
_LARGEST_DISTANCE = 2.0**31 - 2.0**22
#: What of the tolerance the rounding may use; the rest covers terms of second order.
_SHARE = 0.999
# Beyond these float64 itself cannot scale the coordinates exactly.
_SMALLEST_EXPONENT, _LARGEST_EXPONENT = -900, 900


#: Coordinates (d, N) less a centre in multiples of a unit, a power of 2: products are exact.
FixedPoint = tuple[NDArray[np.int32], float]


def as_fixed_point(
    coordinates: NDArray[np.float64], bandwidth: float, tolerance: float
) -> FixedPoint | None:
    """Round coordinates (d, N) as coarsely as 32 bits ask for; None if that is too coarse.

    ``bandwidth``: the smallest. ``tolerance``: as in the bound above; 0 always gives None.
    """
    d, n = coordinates.shape
    if d < _WORTH_DIMENSIONS or d > 2**20 or n == 0 or tolerance <= 0:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        centre = coordinates.mean(axis=1)
        # No distance is larger than the sum of two distances to the centre.
        size = np.zeros(n)
        for column, c in zip(coordinates, centre, strict=True):
            size += np.abs(column - c)
        largest = 2.0 * float(size.max())
    if not 0.0 < largest < np.inf:
        return None
    exponent = int(np.ceil(np.log2(largest) - np.log2(_LARGEST_DISTANCE)))
    if not _SMALLEST_EXPONENT < exponent < _LARGEST_EXPONENT:
        return None
    unit = 2.0**exponent
    if d * unit > _SHARE * min(tolerance, 1e-4) * bandwidth:
        return None
    columns = np.empty((d, n), dtype=np.int32)
    for out, column, c in zip(columns, coordinates, centre, strict=True):
        np.rint((column - c) / unit, out=out, casting="unsafe")
    return columns, unit
