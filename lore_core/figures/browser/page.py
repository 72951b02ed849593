"""A landscape of several layers and bandwidths that needs no server: for a page or a notebook."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from lore_core.chance.simulation import NullBand
from lore_core.figures.browser.landscape import LiveLandscape
from lore_core.figures.browser.preview import packed_preview
from lore_core.figures.pictures.every_row import EveryRow
from lore_core.figures.pictures.landscape_picture import LandscapePicture
from lore_core.metrics.bandwidth import BandwidthCurve
from lore_core.regions.field import Outline

#: What the rows of a page are called.
ROWS = "rows"


@dataclass(frozen=True)
class StillLayer:
    """One layer: its name, a note, and packed what is shown first and at every bandwidth."""

    name: str
    note: str
    scene: bytes
    fields: bytes

    def as_text(self) -> dict[str, str]:
        """Return it as JSON can hold it."""
        scene, fields = (base64.b64encode(part).decode() for part in (self.scene, self.fields))
        return {"name": self.name, "note": self.note, "scene": scene, "fields": fields}


def still_layers(
    picture: LandscapePicture,
    *,
    rows: EveryRow | None = None,
    vivid: Outline | None = None,
    curve: BandwidthCurve | None = None,
    band: NullBand | None = None,
) -> tuple[StillLayer, ...]:
    """Pack every layer of a picture, with its fields at every bandwidth.

    ``rows``: all of them, with their errors at the first bandwidth. ``vivid``: where most rows are
    beyond chance; all else is paler. ``curve``, ``band``: the MLCE over γ, and what calibrated data
    show of it.
    """
    made = []
    for layer in picture.layers:
        live = LiveLandscape(
            picture=picture,
            field=layer.fields[picture.start],
            rows=rows,
            rows_key="" if rows is None else ROWS,
            n_shown=layer.n_rows,
            map_key=picture.axes,
            vivid=vivid,
            gamma=picture.gammas[picture.start],
            gammas=picture.gammas,
            preview_key=layer.name,
        )
        fields = packed_preview(
            layer.name, dict(enumerate(layer.fields)), curve, band, with_support=True
        )
        made.append(StillLayer(layer.name, layer.note, live.packed_scene(), fields))
    return tuple(made)
