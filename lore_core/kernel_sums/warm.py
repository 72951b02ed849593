"""Compile every kernel at once, so that no later call has to wait for it."""

from __future__ import annotations

import numpy as np

from lore_core.kernel_sums.api import laplacian_means, laplacian_sums

#: Rows that make parts, joins and a problem in the plane posed from space.
_ROWS = 2_100


def warmup() -> None:
    """Compile every kernel, or load what is in the cache; some seconds at the first call ever."""
    random = np.random.default_rng(0)
    for d in (1, 2, 3, 4):
        rows = 600 if d > 3 else _ROWS
        points = random.normal(size=(rows, d))
        # Several bandwidths, so that there are parts small enough to be joined.
        many = np.geomspace(1.0, 2.0, 72 if d in (2, 3) else 2)
        laplacian_sums(points[:rows], None, points[:rows, 0], bandwidth=many)
        # Far sources, so that the fallback for underflow is called too.
        laplacian_means(points[:9], points[:40] + 1e3, np.ones(40), bandwidth=1e-3)
