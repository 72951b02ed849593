"""Charts: figures with their texts and table, in a theme and a size."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lore_core.data.atomic_files import write_bytes
from lore_core.data.errors import InputError, as_path, require
from lore_core.data.validation import check_positive
from lore_core.figures.style import Mode, escape

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from lore_core.figures.drawing import Drawing
    from lore_core.figures.pictures.picture import Line, Panel


#: Lines that are named at their end at most, and how near the right end of all each has to end.
_MAX_NAMED, _AT_END = 6, 0.03
#: What Plotly calls its own pictures.
_PLOTLY = "application/vnd.plotly.v1+json"


@dataclass(frozen=True)
class Seen:
    """What a reader looks at of a figure, in the words of Plotly."""

    #: Ends of axes by their names; of a logarithmic axis its exponents.
    axes: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    hidden: frozenset[int] = frozenset()  #: Numbers of traces
    camera: Mapping[str, Mapping[str, float]] | None = None  #: Its eye, middle and up


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
    seen: Seen | None = None  #: What is looked at; None: all of it
    basis: str = ""  #: What its numbers rest on: data, settings, seeds

    @cached_property
    def figure(self) -> go.Figure:
        """The picture as Plotly draws it; it may be changed."""
        require("Drawing a figure", "plotly")
        from lore_core.figures.plotly.frame import turned

        return turned(self._draw(), self.seen or Seen())

    @abstractmethod
    def _draw(self) -> go.Figure:
        """Return the Plotly figure."""

    def drawing(
        self, *, width_mm: float = 84.0, height_mm: float | None = None, font_pt: float = 8.0
    ) -> Drawing:
        """Lay it out for print, in the light colours and without its title; a notebook shows it.

        ``height_mm``: by default what it needs. Raises InputError if a size is out of range.
        """
        require("A drawing", "PIL", "reportlab", "pypdfium2")
        from lore_core.figures.drawing import POINTS_PER_INCH, UNITS_PER_INCH, units

        width = units(width_mm, "width_mm", 30.0)
        height = None if height_mm is None else units(height_mm, "height_mm", 20.0)
        if not 4 <= check_positive(font_pt, "font_pt") <= 24:
            raise InputError(f"'font_pt' must lie between 4 and 24 points; got {font_pt!r}.")
        return self._laid_out(width, font_pt / POINTS_PER_INCH * UNITS_PER_INCH, height)

    @abstractmethod
    def _laid_out(self, width: float, type_size: float, height: float | None) -> Drawing:
        """Lay it out for print; sizes in units of 1/96 inch."""

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        width_mm: float = 84.0,
        height_mm: float | None = None,
        font_pt: float = 8.0,
        dpi: float = 300.0,
    ) -> None:
        """Write it to a file: .svg, .pdf or .png for print, .html with hovers, .csv its numbers.

        The sizes: see :meth:`drawing`; ``dpi`` is that of a PNG.
        """
        from lore_core.figures.export import exported

        target = as_path(path)
        size: dict[str, Any] = {"width_mm": width_mm, "height_mm": height_mm, "font_pt": font_pt}
        write_bytes(target, exported(self, target.suffix.lower().lstrip("."), **size, dpi=dpi))

    @property
    def caption(self) -> str:
        """What is shown, of which rows, how to read it, and what it rests on."""
        parts = (self.title, self.subtitle, self.how_to_read, self.basis)
        # (A γ stays small.)
        begun = (part[:1].upper() + part[1:] if part[:1].isascii() else part for part in parts)
        return " ".join(f"{part.rstrip('.')}." for part in begun if part)

    @property
    def config(self) -> dict[str, Any]:
        """Plotly settings that only this chart needs."""
        return {}

    def _ipython_display_(self) -> None:
        from IPython.display import display

        # (A still picture beside it would take up to a second: drawing() shows one.)
        shown = self.figure._repr_mimebundle_() or {"text/html": self._repr_html_()}
        if (drawn := shown.get(_PLOTLY)) is not None:
            drawn["config"] = drawn.get("config", {}) | self.config
        display({"text/plain": self.alt} | shown, raw=True)
        display({"text/markdown": self.how_to_read, "text/plain": self.how_to_read}, raw=True)

    def _repr_html_(self) -> str:
        from lore_core.figures.export import interactive

        return f"{interactive(self)}<p>{escape(self.how_to_read)}</p>"


@dataclass(frozen=True, kw_only=True)
class PanelPicture(Chart):
    """Panels one above the other, over the same horizontal axis."""

    panels: tuple[Panel, ...]  #: From top to bottom
    gap: float = 0.05  #: Between two panels, as a share of the height
    #: Whether the names of the marks are listed, and whether the lower right corner is free.
    legend: bool = False
    free_corner: bool = False
    static: bool = False  #: Whether dragging and zooming are off

    def lines_named_at_end(self) -> list[Line]:
        """Return the lines that are named beside their right ends, in the numbers drawn."""
        from lore_core.figures.pictures.picture import Line

        panel = self.panels[0].in_units()
        lines = [of for of in panel.marks if isinstance(of, Line) and of.listed and of.name]
        if not self.legend or self.free_corner or not 1 < len(lines) <= _MAX_NAMED:
            return []
        across = [line.x[np.isfinite(line.y)] for line in lines]
        if not all(map(len, across)):
            return []
        if panel.x.log:
            across = [np.log(x) for x in across]
        last, first = max(x.max() for x in across), min(x.min() for x in across)
        is_short = last - min(x[-1] for x in across) > _AT_END * (last - first)
        return [] if is_short else lines

    def _draw(self) -> go.Figure:
        from lore_core.figures.plotly.frame import panels

        return panels(self)

    def _laid_out(self, width: float, type_size: float, height: float | None) -> Drawing:
        from lore_core.figures.layout import panel_drawing

        return panel_drawing(self._as_seen(), width, type_size, height)

    def _as_seen(self) -> PanelPicture:
        """Return the part of the picture that is looked at."""
        if self.seen is None:
            return self
        traces = [self.figure.data[number] for number in self.seen.hidden]
        hidden = {(trace.name or "", trace.legendgroup or "") for trace in traces}
        panels = []
        for number, panel in enumerate(self.panels, start=1):
            end = "" if number == 1 else str(number)
            x, y = (self.seen.axes.get(f"{letter}axis{end}") for letter in "xy")
            marks = [of for of in panel.marks if (escape(of.name), escape(of.group)) not in hidden]
            ends = panel.x.between(x), panel.y.between(y)
            panels.append(replace(panel, marks=marks, x=ends[0], y=ends[1]))
        return replace(self, panels=tuple(panels), seen=None)
