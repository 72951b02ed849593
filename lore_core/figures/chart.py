"""Charts: figures with their texts and table, in a theme and a size."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from lore_core.data.errors import require
from lore_core.figures.style import Mode, escape

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from lore_core.figures.pictures.picture import Panel


@dataclass(frozen=True, kw_only=True)
class Chart(ABC):
    """A figure with everything needed to show, read and export it.

    ``dataclasses.replace(chart, mode="dark", height=500)`` is the same in another look.
    """

    title: str  #: What is shown
    subtitle: str  #: Of which rows
    how_to_read: str  #: One line for under the picture
    alt: str  #: Text for readers who cannot see it
    name: str  #: Stem of exported files
    table: pd.DataFrame  #: The numbers shown
    height: int = 420  #: Pixels
    mode: Mode = "light"  #: Theme
    lay_out: Callable[[go.Figure], go.Figure] | None = None  #: Changes Plotly's layout

    @cached_property
    def figure(self) -> go.Figure:
        """The picture as Plotly draws it; it may be changed."""
        require("Drawing a figure", "plotly")
        figure = self._draw()
        return figure if self.lay_out is None else self.lay_out(figure)

    @abstractmethod
    def _draw(self) -> go.Figure:
        """Return the Plotly figure."""

    @property
    def config(self) -> dict[str, Any]:
        """Plotly settings that only this chart needs."""
        return {}

    def _ipython_display_(self) -> None:
        from IPython.display import display

        if find_spec("nbformat") is None:  # Plotly's renderer needs it
            display({"text/html": self._repr_html_(), "text/plain": self.alt}, raw=True)
            return
        self.figure.show(config=self.config)
        display({"text/markdown": self.how_to_read, "text/plain": self.how_to_read}, raw=True)

    def _repr_html_(self) -> str:
        picture = self.figure.to_html(full_html=False, include_plotlyjs=True, config=self.config)
        return f"{picture}<p>{escape(self.how_to_read)}</p>"


@dataclass(frozen=True, kw_only=True)
class PanelPicture(Chart):
    """Panels one above the other, over the same horizontal axis."""

    panels: tuple[Panel, ...]  #: From top to bottom
    gap: float = 0.05  #: Between two panels, as a share of the height
    #: Whether the names of the marks are listed, and whether the lower right corner is free.
    legend: bool = False
    free_corner: bool = False
    static: bool = False  #: Whether dragging and zooming are off

    def _draw(self) -> go.Figure:
        from lore_core.figures.plotly.frame import panels

        return panels(self)
