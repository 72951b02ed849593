"""Where a raster crosses ½, as lines anything can draw."""

from __future__ import annotations

import numpy as np

from lore_core.data.arrays import Floats


def segments(x: Floats, y: Floats, values: Floats) -> Floats:
    """Find where a raster crosses ½: marching squares, as single straight pieces.

    ``x`` (c,), ``y`` (r,): nodes. ``values`` (r, c). Returns x0, y0, x1, y1 of each piece, (s, 4).
    """
    # A border of nothing closes lines at the edge of the raster.
    v = np.pad(values, 1) - 0.5
    xs = np.concatenate([[2 * x[0] - x[1]], x, [2 * x[-1] - x[-2]]])
    ys = np.concatenate([[2 * y[0] - y[1]], y, [2 * y[-1] - y[-2]]])
    up = v > 0
    corners = up[:-1, :-1], up[:-1, 1:], up[1:, 1:], up[1:, :-1]
    rows, columns = np.nonzero(np.logical_or.reduce(corners) & ~np.logical_and.reduce(corners))
    pieces = []
    for i, j in zip(rows.tolist(), columns.tolist(), strict=True):
        around = [(i, j), (i, j + 1), (i + 1, j + 1), (i + 1, j)]
        crossed = []
        for one, other in zip(around, [*around[1:], around[0]], strict=True):
            if up[one] != up[other]:
                t = v[one] / (v[one] - v[other])
                (i0, j0), (i1, j1) = one, other
                crossed.append((xs[j0] + t * (xs[j1] - xs[j0]), ys[i0] + t * (ys[i1] - ys[i0])))
        # (Of a saddle two pieces.)
        pieces += [(*a, *b) for a, b in zip(crossed[::2], crossed[1::2], strict=True)]
    return np.array(pieces, dtype=np.float64).reshape(-1, 4)
