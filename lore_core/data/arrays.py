"""What arrays hold, for signatures; rows that lie together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
#: From an array to an equal one that lies elsewhere: in a mapped file, say.
MapArray = Callable[[NDArray[Any]], NDArray[Any]]


def as_block(selection: NDArray[Any] | slice) -> NDArray[Any] | slice:
    """Return a slice for a mask of rows that lie together, so that choosing them copies nothing.

    ``selection``: mask, indices or slice; what is no such mask comes back as it is.
    """
    is_mask = isinstance(selection, np.ndarray) and selection.dtype == np.bool_
    if isinstance(selection, slice) or not is_mask or not selection.any():
        return selection
    first, last = int(selection.argmax()), len(selection) - int(selection[::-1].argmax())
    together = last - first == np.count_nonzero(selection)
    return slice(first, last) if together else selection
