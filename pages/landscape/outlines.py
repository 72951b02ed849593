"""Where places lie at every bandwidth of the slider, for while it moves."""

from __future__ import annotations

from dataclasses import replace

from lore_core import Embedding
from lore_core.figures.browser.preview import PreviewOutlines
from lore_core.figures.pictures.landscape import outlined_region
from lore_core.figures.pictures.landscape_picture import OutlinedRegion
from lore_core.regions.field import rows_outline
from lore_core.regions.places.average import Against
from lore_core.regions.places.find import Halves, PlaceSearch
from lore_core.view import View
from lore_core.view.where import places_of, view_halves
from pages.shared.controls import GAMMAS

#: Rows of which places are looked for at every bandwidth, in some seconds.
_MOST_ROWS = 20_000


class Outlines:
    """Places of a view at the slider's bandwidths, each looked for and tested as at the shown one.

    Most are columns' and the same at every bandwidth: an outline is made once for its rows.

    Parameters
    ----------
    view : View
        What is looked at, whichever its γ.
    on : Embedding
        The map of the picture.
    against : {"zero", "average", "same confidence"}
        What a place must be worse than.
    """

    def __init__(self, view: View, on: Embedding, against: Against) -> None:
        self._view, self._on, self._against = view, on, against
        self._halves: Halves | None = None
        self._keys: dict[bytes, int | None] = {}

    def at_gamma(self, k: int) -> PreviewOutlines:
        """Look for the places of a bandwidth, by its number; return what is new of them."""
        if self._halves is None:
            self._halves = view_halves(self._view, against=self._against)
        search = places_of(replace(self._view, gamma=GAMMAS[k]), halves=self._halves)
        regions: dict[int, OutlinedRegion] = {}
        keys = [(str(n + 1), self._key(search, n, regions)) for n in range(len(search.places))]
        return PreviewOutlines({k: tuple((n, key) for n, key in keys if key is not None)}, regions)

    def _key(
        self, search: PlaceSearch, number: int, regions: dict[int, OutlinedRegion]
    ) -> int | None:
        """Name an outline by its rows, and make it if it is new; None where they lie scattered."""
        rows = search.mask(number)
        name = rows.tobytes()
        if name not in self._keys:
            points = self._view.points(on=self._on)
            outline = rows_outline(points, rows)
            self._keys[name] = None
            if outline.holds_most(points[search.places[number].rows]):
                key = self._keys[name] = len(self._keys)
                regions[key] = outlined_region(str(number + 1), outline)
        return self._keys[name]


def outlines_of(view: View, on: Embedding, search: PlaceSearch | None) -> Outlines | None:
    """Return them where places are looked for, on a flat map, among not too many rows."""
    if search is None or on.n_components != 2 or len(view.evaluation) > _MOST_ROWS:
        return None
    return Outlines(view, on, search.against)
