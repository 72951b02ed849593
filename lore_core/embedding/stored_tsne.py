"""A t-SNE map kept as numbers: openTSNE builds its index anew and then places rows as before.

Placing a row needs the fitted rows' features (to find its neighbours), their places on the map and
the seed of the search trees. From these openTSNE makes the same index on every machine of one kind,
so new rows come to lie where the fitted map would have put them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lore_core.data.extras import require
from lore_core.embedding.linear import LinearMap
from lore_core.embedding.stored_map import StoredMap
from lore_core.embedding.tsne import TSNEMap


@dataclass(frozen=True, eq=False)
class StoredTSNE(StoredMap):
    """What a fitted t-SNE map places new rows by, each on its own.

    Its settings are "perplexity", "random_state", "n_jobs" and "negative_gradient_method" of
    openTSNE; ``points`` are reduced where the map reduces them.

    Parameters
    ----------
    reduction : LinearMap or None
        Principal components in which neighbours are searched.
    """

    reduction: LinearMap | None = None

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

    def _make(self) -> TSNEMap:
        require("A t-SNE map", "openTSNE")
        import openTSNE

        model = openTSNE.TSNE(
            n_components=self.places.shape[1],
            initialization="random",
            **self.settings,
        ).prepare_initial(np.array(self.points))
        model[:] = self.places
        return TSNEMap(model, self.reduction, self.notes)
