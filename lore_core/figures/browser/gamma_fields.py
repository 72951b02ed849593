"""Fields at every γ of a slider as one message: for dashboard, report and notebook."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field as attribute
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lore_core.data.arrays import Floats, Ints
from lore_core.figures.browser.landscape import EveryRow, LiveLandscape
from lore_core.figures.browser.packing import coded_errors, pack, packed_field
from lore_core.figures.pictures.landscape_picture import LandscapePicture, OutlinedRegion
from lore_core.inference.simulation import NullBand
from lore_core.metrics.bandwidth import BandwidthCurve
from lore_core.regions.field import Field, Outline

ROWS = "rows"


@dataclass
class GammaFields:
    """What a slider shows while γ moves, all of it or a part; by the number of the bandwidth."""

    #: The error over the map; in space that of rows.
    fields: dict[int, Field | Floats] = attribute(default_factory=dict)
    #: The LCE of the rows behind each field: quantiles at even shares from 0 to 1.
    lce: dict[int, Floats] = attribute(default_factory=dict)
    #: The name of each place and the key of its outline.
    subgroups: dict[int, list[tuple[str, int]]] = attribute(default_factory=dict)
    #: Outlines by their keys: subgroups of several bandwidths share them.
    outlines: dict[int, OutlinedRegion] = attribute(default_factory=dict)
    curve: BandwidthCurve | None = None  #: Supported MLCE over γ
    band: NullBand | None = None  #: The same of calibrated data
    n_sampled: int | None = None  #: Rows that the fields are made of, where it is not all of them
    sampled: Ints | None = None  #: Numbers of the rows whose errors are sent, where it is not all

    def add(self, part: GammaFields) -> None:
        """Take what a part has."""
        for name, value in vars(part).items():
            if isinstance(value, dict):
                getattr(self, name).update(value)
            elif value is not None:
                setattr(self, name, value)

    def packed(
        self, key: str, *, next_part: int = 0, is_all: bool = True, with_support: bool = False
    ) -> bytes:
        """Pack it: one byte a node, or a row in space; with n_eff two."""
        header: dict[str, Any] = {
            "key": key,
            "nextPart": next_part,
            "isAll": is_all,
            "sample": self.n_sampled,
            "fields": {},
            "places": self.subgroups,
            "outlines": {number: region.at for number, region in self.outlines.items()},
        }
        if (curve := self.curve) is not None:
            header["curve"] = _over_gamma(curve.gamma, {"mlce": curve.mlce_supported})
        if self.band is not None:
            low, high = self.band.band("mlce_supported")
            header["band"] = _over_gamma(self.band.gamma, {"low": low, "high": high})
        arrays: dict[str, NDArray[np.generic]] = {}
        for k, field in self.fields.items():
            if isinstance(field, Field):
                header["fields"][k], columns = packed_field(field, with_support=with_support)
                arrays |= {f"{name}{k}": column for name, column in columns.items()}
            else:
                header["fields"][k], arrays[f"error{k}"] = coded_errors(field)
        arrays |= {f"lce{k}": lce.astype(np.float32) for k, lce in self.lce.items()}
        for number, region in self.outlines.items():
            arrays[f"lines{number}"] = region.lines.astype(np.float32)
        if self.sampled is not None:
            arrays["sampled"] = self.sampled.astype(np.uint32)
        return pack(header, arrays)


def _over_gamma(gamma: Floats, lines: Mapping[str, Floats]) -> dict[str, list[float | None]]:
    return {
        name: [float(value) if np.isfinite(value) else None for value in values]
        for name, values in {"gamma": gamma, **lines}.items()
    }


@dataclass(frozen=True)
class StillLayer:
    """A layer that needs no server: its name, a note, its scene and its fields, packed."""

    name: str
    note: str
    scene: bytes
    fields: bytes

    def as_text(self) -> dict[str, str]:
        """Encode it for JSON."""
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
    """Pack every layer of a picture, with its fields at every bandwidth."""
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
            fields_key=layer.name,
        )
        fields = GammaFields(dict(enumerate(layer.fields)), curve=curve, band=band)
        packed = fields.packed(layer.name, with_support=True)
        made.append(StillLayer(layer.name, layer.note, live.packed_scene(), packed))
    return tuple(made)
