"""A t-SNE map of a file of schema 1 or 2: openTSNE builds its index anew and places rows as then.

Placing a row needs the fitted rows' features (to find its neighbours), their places on the map and
the seed of the search trees. From these openTSNE makes the same index on every machine of one kind,
so new rows come to lie where the fitted map would have put them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lore_core.data.arrays import Floats
from lore_core.data.extras import require
from lore_core.data.progress import Progress
from lore_core.embedding.linear import LinearMap
from lore_core.embedding.stored_map import StoredMap
from lore_core.embedding.tsne import TSNEMap


@dataclass(frozen=True, eq=False)
class StoredTSNE(StoredMap):
    """What a fitted t-SNE map places new rows by, each on its own.

    Its settings are "perplexity", "random_state", "n_jobs" and "negative_gradient_method" of
    openTSNE; ``points`` are reduced where the map reduces them.
    """

    reduction: LinearMap | None = None  #: Principal components in which neighbours are searched

    def place(self, features: Floats, progress: Progress | None = None) -> Floats:
        """Place rows on the map, neighbours searched where the map's were."""
        reduced = features if self.reduction is None else self.reduction.place(features)
        return super().place(reduced, progress)

    def _make(self) -> TSNEMap:
        require("A t-SNE map", "openTSNE")
        import openTSNE

        model = openTSNE.TSNE(
            n_components=self.places.shape[1],
            initialization="random",
            **self.settings,
        ).prepare_initial(np.array(self.points))
        model[:] = self.places
        return TSNEMap(model, self.notes)
