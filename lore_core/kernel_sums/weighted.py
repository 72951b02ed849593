"""Kernel means of sources that count unequally."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from lore_core.data.arrays import Floats, Ints
from lore_core.data.validation import Points
from lore_core.kernel_sums.api import KernelMeans, laplacian_means, means_by_bandwidth

#: What share of the progress the first pass is where effective sizes take a second.
_FIRST_SHARE = 0.6


def weighted_means(
    targets: Points,
    sources: Points | None,
    values: Floats,
    weights: Floats | None,
    *,
    bandwidth: ArrayLike,
    target_groups: Ints | None = None,
    source_groups: Ints | None = None,
    exclude_self: bool = False,
    effective_size: bool = True,
    progress: Callable[[float], object] | None = None,
) -> KernelMeans:
    r"""Average values as :func:`~lore_core.kernel_sums.laplacian_means`, k_ij replaced by w_j k_ij.

    Parameters
    ----------
    targets, sources, values, bandwidth, target_groups, source_groups, exclude_self, progress
        As there.
    weights : ndarray of shape (n_s,) or None
        w > 0; None: all count alike, and the result is that of ``laplacian_means``.
    effective_size : bool
        As there; it takes a second pass.

    Notes
    -----
    :math:`\sum_j w_j k_{ij} v_j / \sum_j w_j k_{ij}` is the mean of w v over that of w: two columns
    of one pass, and exact where they are, far from all sources too. The effective size
    :math:`(\sum_j w_j k_{ij})^2 / \sum_j w_j^2 k_{ij}^2` is that of equal weights times the square
    of the mean of w over the mean of w² at h/2.
    """
    h = np.asarray(bandwidth, dtype=np.float64)

    def means(columns: Floats, at: Floats, sizes: bool, first: float, last: float) -> KernelMeans:
        return laplacian_means(
            targets,
            sources,
            columns,
            bandwidth=at,
            target_groups=target_groups,
            source_groups=source_groups,
            exclude_self=exclude_self,
            effective_size=sizes,
            progress=None
            if progress is None
            else lambda share: progress(first + (last - first) * share),
        )

    if weights is None:
        return means(values, h, effective_size, 0.0, 1.0)
    # (Squares of weights of one size neither overflow nor vanish.)
    scale = float(weights.max(initial=0.0)) or 1.0
    w = weights / scale
    table = values[:, None] if values.ndim == 1 else values
    last = _FIRST_SHARE if effective_size else 1.0
    plain = means(np.column_stack([table * w[:, None], w]), h, effective_size, 0.0, last)
    weight = plain.mean[..., -1]
    size = plain.effective_size
    if effective_size:
        square = means(w * w, h / 2, False, last, 1.0).mean
        with np.errstate(invalid="ignore"):
            size = np.where(size > 0, size * weight**2 / square, 0.0)
    with np.errstate(invalid="ignore"):
        mean = plain.mean[..., :-1] / weight[..., None]
        mass = np.where(plain.mass > 0, plain.mass * weight, 0.0) * scale
    return KernelMeans(mean[..., 0] if values.ndim == 1 else mean, mass, size)


def weighted_means_by_bandwidth(
    targets: Points,
    sources: Points | None,
    values: Floats,
    weights: Floats | None,
    *,
    bandwidth: Floats,
    target_groups: Ints,
    source_groups: Ints | None = None,
    exclude_self: bool = False,
    effective_size: bool = True,
    first: Sequence[int] | None = None,
    progress: Callable[[float], object] | None = None,
) -> Iterator[tuple[int, KernelMeans]]:
    """Yield what :func:`weighted_means` returns, bandwidth by bandwidth.

    See :func:`~lore_core.kernel_sums.api.means_by_bandwidth`; ``weights`` (n_s,) as there.
    """
    if weights is None:
        yield from means_by_bandwidth(
            targets,
            sources,
            values,
            bandwidth=bandwidth,
            target_groups=target_groups,
            source_groups=source_groups,
            exclude_self=exclude_self,
            effective_size=effective_size,
            first=first,
            progress=progress,
        )
        return
    found = weighted_means(
        targets,
        sources,
        values,
        weights,
        bandwidth=bandwidth,
        target_groups=target_groups,
        source_groups=source_groups,
        exclude_self=exclude_self,
        effective_size=effective_size,
        progress=progress,
    )
    for b, begin in enumerate(first or [0] * len(bandwidth)):
        yield b, KernelMeans(found.mean[b][:, begin:], found.mass[b], found.effective_size[b])
