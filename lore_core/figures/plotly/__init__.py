"""Pictures as Plotly draws them: for the dashboard, notebooks and interactive files."""

from __future__ import annotations

import plotly.graph_objects as go

from lore_core.figures.pictures.landscape_picture import LandscapePicture
from lore_core.figures.pictures.picture import PanelPicture, Picture
from lore_core.figures.plotly.landscape import landscape, space
from lore_core.figures.plotly.panels import panels
from lore_core.figures.style import Mode


def drawn(picture: Picture, mode: Mode, height: int) -> go.Figure:
    """Draw a picture by Plotly."""
    match picture:
        case PanelPicture():
            return panels(picture, mode, height)
        case LandscapePicture(view="map"):
            return landscape(picture, mode, height)
        case LandscapePicture():
            return space(picture, mode, height)
        case _:
            raise TypeError(f"no drawing of a {type(picture).__name__} is known")
