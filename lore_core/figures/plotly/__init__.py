"""Pictures as Plotly draws them: for the dashboard, notebooks and interactive files."""

from __future__ import annotations

import plotly.graph_objects as go

from lore_core.figures.chart import Chart
from lore_core.figures.pictures.landscape_picture import LandscapePicture
from lore_core.figures.pictures.picture import PanelPicture
from lore_core.figures.plotly.landscape import landscape, space
from lore_core.figures.plotly.panels import panels


def drawn(picture: Chart) -> go.Figure:
    """Draw a picture by Plotly."""
    match picture:
        case PanelPicture():
            return panels(picture)
        case LandscapePicture(view="map"):
            return landscape(picture)
        case LandscapePicture():
            return space(picture)
        case _:
            raise TypeError(f"no drawing of a {type(picture).__name__} is known")
