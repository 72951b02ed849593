"""Local errors of the whole vector where true classes are drawn from the probabilities."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.dataset import Dataset
from lore_core.data.progress import Progress, tell
from lore_core.data.validation import Points
from lore_core.kernel_sums import laplacian_sums
from lore_core.metrics.local_error import scaled_bandwidth
from lore_core.metrics.vector_error import checked_rows, own_shares

#: Bytes of kernel sums held at once, and columns.
_MEMORY, _MOST_COLUMNS = 2.0**27, 256


def drawn_vectors(
    dataset: Dataset,
    embedding: Points,
    gammas: Floats,
    groups: Ints,
    known: Mask,
    *,
    n_draws: int,
    random_state: int,
    by_class: bool = False,
    progress: Progress | None = None,
) -> Iterator[tuple[Floats, Floats]]:
    """Compute squared vector errors of rows whose every probability is right, some draws at a time.

    Parameters
    ----------
    dataset, embedding
        As :func:`~lore_core.metrics.vector_error.vector_errors` took them.
    gammas : ndarray of shape (g,)
        Bandwidths.
    groups : ndarray of shape (n,)
        Bins of the rows.
    known : ndarray of shape (g, n)
        Mask of the rows with ten effective neighbours or more at each bandwidth.
    n_draws, random_state, progress
        See :func:`~lore_core.inference.whole_vector.vector_chance`.
    by_class : bool
        Whether classes are wanted, too.

    Yields
    ------
    (ndarray of shape (g, b, n), ndarray of shape (g, b, K))
        ``squared`` and ``class_squared`` of :class:`~lore_core.metrics.vector_error.VectorErrors`
        at each bandwidth of the next b draws; K is 0 where classes are not wanted. Draws do not
        depend on how many come at a time.
    """
    z, p = checked_rows(dataset, embedding), dataset.probabilities
    n, n_classes = p.shape
    h = scaled_bandwidth(gammas, z.shape[1])
    mass = laplacian_sums(z, None, np.ones(n), bandwidth=h, target_groups=groups)
    upto, length = np.cumsum(p, axis=1), np.square(p).sum(axis=1)
    shares = [
        own_shares(z, inside, at, groups, float(one))
        for inside, at, one in zip(known, mass, h, strict=True)
        if by_class
    ]
    from_p = [share @ np.square(p) for share in shares]
    rng, index = np.random.default_rng(random_state), np.arange(n)
    fitting = int(_MEMORY / (8 * n * n_classes * len(h)))
    at_once = int(np.clip(fitting, 1, max(1, _MOST_COLUMNS // n_classes)))
    for first in range(0, n_draws, at_once):
        tell(progress, first / n_draws, "simulating chance")
        size = min(at_once, n_draws - first)
        classes = [_classes(upto, rng) for _ in range(size)]
        columns = np.tile(p, size)
        for k, drawn in enumerate(classes):
            columns[index, k * n_classes + drawn] -= 1.0
        own = np.column_stack([length - 2 * p[index, drawn] + 1 for drawn in classes])
        sums = laplacian_sums(z, None, columns, bandwidth=h, target_groups=groups)
        noise = laplacian_sums(z, None, own, bandwidth=h / 2, target_groups=groups)
        sums = sums.reshape(len(h), n, size, n_classes) / mass[:, :, None, None]
        np.square(sums, out=sums)
        squared = sums.sum(axis=3) - noise / mass[:, :, None] ** 2
        of_class = np.empty((len(h), size, n_classes if by_class else 0))
        for g, share in enumerate(shares):
            # r_k² is p_k², and 1 − 2 p_k more where k was drawn.
            for b, drawn in enumerate(classes):
                more = share * (1 - 2 * p[index, drawn])
                counted = np.bincount(drawn, weights=more, minlength=n_classes)
                of_class[g, b] = sums[g, known[g], b].mean(axis=0) - from_p[g] - counted
        yield squared.transpose(0, 2, 1), of_class
    tell(progress, 1.0, "simulating chance")


def _classes(upto: Floats, rng: np.random.Generator) -> Ints:
    """Draw a class of every row; ``upto`` (n, K): summed probabilities."""
    level = rng.random((len(upto), 1)) * upto[:, -1:]
    return np.asarray((upto <= level).sum(axis=1).clip(max=upto.shape[1] - 1))
