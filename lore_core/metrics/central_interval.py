"""The central interval of a set of draws."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lore_core.data.arrays import Floats
from lore_core.data.validation import check_share

#: Two values this near, as a share of them, are the same, summed differently.
TIE = 1e-9


def central_interval(draws: ArrayLike, level: float, *, axis: int = 0) -> tuple[Floats, Floats]:
    """Return the limits between which a further draw lies with probability ``level``.

    ``draws``: drawn alike, along ``axis``. The limits are order statistics at (b + 1)(1 ± level)/2
    of b draws (Weibull's plotting positions): so many draws are exceeded by the next one on
    average, however few they are. The usual interpolated quantile would leave out 7 instead of 5 %
    beside the middle of 100 draws. Raises InputError if ``level`` is not in (0, 1).
    """
    tail = (1 - check_share(level, "level")) / 2
    low, high = np.quantile(np.asarray(draws), [tail, 1 - tail], axis=axis, method="weibull")
    return np.asarray(low), np.asarray(high)
