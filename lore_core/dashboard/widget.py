"""A notebook's widget that shows a landscape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anywidget
import numpy as np
import traitlets
from numpy.typing import NDArray

from lore_core.figures.browser import landscape_script
from lore_core.figures.browser.landscape import StillLayer
from lore_core.regions.selection import Selection


class LandscapeWidget(anywidget.AnyWidget):
    """A landscape in a notebook; ``selection``: ``sign``, ``x``, ``y``, ``axes`` of each part."""

    _esm = landscape_script("still", "notebook")
    rows = traitlets.Bytes().tag(sync=True)
    layers: traitlets.List[dict[str, object]] = traitlets.List().tag(sync=True)
    gamma = traitlets.Float().tag(sync=True)
    selection: traitlets.List[dict[str, Any]] = traitlets.List().tag(sync=True)

    @classmethod
    def of(
        cls, rows: bytes, layers: Sequence[StillLayer], points: NDArray[np.float64], gamma: float
    ) -> LandscapeWidget:
        """Make one of packed rows, packed layers and the rows' places, shape (n, 2)."""
        widget = cls(rows=rows, layers=[vars(layer) for layer in layers], gamma=gamma)
        widget._points = points.astype(np.float32)
        return widget

    @property
    def selected_rows(self) -> NDArray[np.int64]:
        """Numbers of the evaluation rows that are selected."""
        drawn = Selection.from_parts(self.selection)
        return np.flatnonzero(drawn.contains(self._points))
