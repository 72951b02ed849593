"""Pictures as static SVG: for print, and for pages without scripts."""

from lore_core.figures.chart import Chart, PanelPicture
from lore_core.figures.pictures.landscape_picture import LandscapePicture
from lore_core.figures.svg.drawing import Drawing
from lore_core.figures.svg.landscape import landscape_drawing
from lore_core.figures.svg.panels import panel_drawing

__all__ = ["Drawing", "drawing"]


def drawing(picture: Chart) -> Drawing:
    """Draw a picture as SVG: panels, or a landscape on a 2-D map."""
    match picture:
        case PanelPicture():
            return panel_drawing(picture)
        case LandscapePicture(view="map"):
            return landscape_drawing(picture)
        case _:
            raise TypeError(f"no drawing of {picture.name!r} is known")
