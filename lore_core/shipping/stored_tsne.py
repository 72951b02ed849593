"""A t-SNE map kept as numbers: openTSNE builds its index anew and then places rows as before.

Placing a row needs the fitted rows' features (to find its neighbours), their places on the map and
the seed of the search trees. From these openTSNE makes the same index on every machine of one kind,
so new rows come to lie where the fitted map would have put them.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lore_core.embedding.linear import LinearMap
from lore_core.embedding.tsne import TSNEMap
from lore_core.progress import Progress
from lore_core.validation import InputError

__all__ = ["StoredTSNE"]

_lock = threading.Lock()


@dataclass(frozen=True, eq=False)
class StoredTSNE:
    """What a fitted t-SNE map places new rows by.

    Parameters
    ----------
    points : ndarray of shape (n, p)
        The fitted rows' features, reduced where the map reduces them.
    places : ndarray of shape (n, d)
        Where they lie, unscaled.
    settings : dict
        "perplexity", "random_state", "n_jobs" and "negative_gradient_method" of openTSNE.
    reduction : LinearMap or None
        Principal components in which neighbours are searched.
    notes : tuple of str
        What a reader should know about the map.
    """

    points: NDArray[np.float64]
    places: NDArray[np.float64]
    settings: Mapping[str, Any]
    reduction: LinearMap | None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, made: TSNEMap) -> StoredTSNE:
        """Take a fitted map apart.

        Parameters
        ----------
        made : TSNEMap
        """
        index = made.model.affinities.knn_index
        return cls(
            points=np.asarray(index.data, dtype=np.float64),
            places=made.fitted,
            settings={
                "perplexity": float(np.max(made.model.affinities.perplexities)),
                "random_state": index.random_state,
                "n_jobs": index.n_jobs,
                "negative_gradient_method": made.model.gradient_descent_params[
                    "negative_gradient_method"
                ],
            },
            reduction=made.reduction,
            notes=made.notes,
        )

    @cached_property
    def _made(self) -> TSNEMap:
        try:
            import openTSNE
        except ImportError as error:
            raise InputError(
                f"a t-SNE map needs the package 'openTSNE' to place new rows ({error}). Install "
                "it, or fit on PCA or identity features, which need numpy alone."
            ) from error
        model = openTSNE.TSNE(
            n_components=self.places.shape[1],
            initialization="random",
            **self.settings,
        ).prepare_initial(np.array(self.points))
        model[:] = self.places
        return TSNEMap(model, self.reduction, self.notes)

    def place(
        self, features: NDArray[np.float64], progress: Progress | None = None
    ) -> NDArray[np.float64]:
        """Place rows on the map, each on its own; the first call builds the index.

        Parameters
        ----------
        features : ndarray of shape (m, p)
            New rows.
        progress : callable, optional
            Called with the fraction of the rows placed; may raise ``Cancelled``.

        Returns
        -------
        ndarray of shape (m, d)
        """
        with _lock:
            made = self._made
        return made.place(features, progress)
