"""Array types for signatures; contiguous rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
#: A mask, indices or a slice.
Selection = NDArray[Any] | slice
#: Maps an array to an equal one elsewhere, as in a mapped file.
MapArray = Callable[[NDArray[Any]], NDArray[Any]]


def as_block(selection: Selection) -> Selection:
    """Return a slice for a mask of contiguous rows, which copies nothing; else the selection."""
    is_mask = isinstance(selection, np.ndarray) and selection.dtype == np.bool_
    if isinstance(selection, slice) or not is_mask or not selection.any():
        return selection
    first, last = int(selection.argmax()), len(selection) - int(selection[::-1].argmax())
    together = last - first == np.count_nonzero(selection)
    return slice(first, last) if together else selection
