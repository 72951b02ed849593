"""A UMAP map of a file of schema 1 or 2: made anew by umap-learn, and checked to be the same.

umap-learn keeps its search trees and neighbour graph as objects. The same rows, settings and seed
make the same ones again on one machine and version; elsewhere they may not, and then new rows are
refused rather than placed on another map.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lore_core.data.number_text import percent
from lore_core.data.validation import InputError
from lore_core.embedding.stored_map import StoredMap
from lore_core.embedding.umap_map import UMAPMap, fit_umap

#: How far a row of the map made anew may lie from its place, as a share of the map's size.
_SAME = 1e-3


@dataclass(frozen=True, eq=False)
class StoredUMAP(StoredMap):
    """What a fitted UMAP map is made of.

    Its settings are "n_neighbors", "min_dist", "n_epochs" and "random_state". umap-learn takes more
    steps for up to 10,000 new rows than for more, so parts of a file may come to lie a little off
    where they would all together.
    """

    def _make(self) -> UMAPMap:
        made = fit_umap(np.array(self.points), self.places.shape[1], **self.settings)
        size = float(np.ptp(self.places, axis=0).max()) or 1.0
        off = float(np.abs(made.fitted - self.places).max()) / size
        if not off <= _SAME:
            raise InputError(
                "the UMAP map in this file cannot be applied here: made anew from the same rows, "
                f"umap-learn places them up to {percent(off)} of the map's width elsewhere. Use "
                "the machine and version it was fitted with, or fit on PCA, t-SNE or identity "
                "features."
            )
        return made
