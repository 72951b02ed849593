"""A landscape as a browser takes it: its rows once, and what is shown of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field as attribute
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lore_core.data.arrays import Floats
from lore_core.figures.browser.packing import pack
from lore_core.figures.pictures.contours import segments
from lore_core.figures.pictures.every_row import EveryRow
from lore_core.figures.pictures.landscape_picture import ErrorScale, LandscapePicture
from lore_core.figures.style import MODES, NEUTRAL, palette, rgba, shades
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE
from lore_core.regions.field import Field, Outline
from lore_core.regions.selection import Selection

Layer = Literal["field", "rows", "both"]

#: Rows whose own errors go along with every scene; of more the field tells the colours.
MOST_WITH_ERRORS = 50_000
#: Code of a node that holds no value.
_NOTHING = -128
_FIELD_STEPS, _ROW_STEPS = 255, 65535
_SIDES = 32767


@dataclass(frozen=True)
class Against:
    """Another field over the same map: a handle parts the two."""

    names: tuple[str, str]  #: What is shown on the left, and what on the right
    field: Field  #: The error on the right


@dataclass(frozen=True, kw_only=True)
class LiveLandscape:
    """What a browser draws, and what the reader has done to it."""

    picture: LandscapePicture  #: Worst rows, places, names and colours
    field: Field | None  #: The error over the map; None in space, where rows have it
    against: Against | None = None  #: What stands beside it, in the same picture
    rows: EveryRow | None = None  #: All rows of the map; without them the field alone is drawn
    rows_key: str = ""  #: Names these columns: equal only where they are, but for errors.
    n_shown: int  #: How many rows are shown
    map_key: str  #: Names the map; where it changes the view starts anew
    layer: Layer = "field"  #: What is drawn
    bin_index: int | None = None  #: The confidence bin that is shown
    #: Where most rows are beyond chance; all else is paler. None: nothing is known.
    vivid: Outline | None = None
    inside: NDArray[np.bool_] | None = None  #: (n,); rows that are beyond chance
    only: bool = False  #: Whether no other rows are shown
    #: What each outlined region is called in words, by its name.
    titles: Mapping[str, str] = attribute(default_factory=dict)
    selection: Selection = attribute(default_factory=Selection)  #: What the reader has drawn
    chosen: int | None = None  #: Number of the chosen region, from 0
    marked: NDArray[np.bool_] | None = None  #: (n,); rows that stand out where nothing is selected
    row: int | None = None  #: The row that is looked at
    view: tuple[float, ...] | None = None  #: Where the reader looks, from a link
    #: What stands at a row when one looks very near.
    glimpse: Literal["image", "words"] | None = None
    gamma: float  #: Bandwidth of the field
    #: Those the reader may choose, in order; none where there is no slider.
    gammas: tuple[float, ...] = ()
    #: Names what is looked at but for γ, where there are fields for the slider.
    preview_key: str = ""

    @property
    def whole(self) -> tuple[float, ...]:
        """What a browser says of where the reader looks, as long as all is seen as at the start."""
        camera = self.picture.camera
        return (0, 0, 1) if camera is None else (0, 0, 1, camera.round, camera.above)

    def packed_scene(self) -> bytes:
        """Pack what is shown."""
        picture, worst = self.picture, self.picture.worst
        described, arrays = self._packed_map()
        arrays |= {mode: shades(picture.scale.colors(mode), 256) for mode in MODES}
        header: dict[str, Any] = {
            "alt": picture.alt,
            "rows": self.rows_key,
            "map": self.map_key,
            "field": described,
            "frame": picture.extent,
            "corner": self.whole[3:],
            "scale": scale_header(picture.scale),
            "layer": self.layer,
            "bin": self.bin_index,
            "total": self.n_shown,
            "outside": picture.n_outside,
            "only": self.only,
            "worst": [] if worst is None else worst.row.tolist(),
            "rings": [] if worst is None else worst.at.tolist(),
            "regions": [
                {
                    "name": region.name,
                    "title": self.titles.get(region.name, ""),
                    "number": int(region.name) - 1,
                    "at": region.at,
                    "lines": np.round(region.lines, 6).ravel().tolist(),
                }
                for region in picture.regions
            ],
            "names": [{"name": item.name, "at": item.at} for item in picture.places],
            "looks": {mode: _look(mode) for mode in MODES},
            "selection": [
                {"sign": sign, "x": region.x, "y": region.y, "axes": region.axes}
                for sign, region in self.selection.parts
            ],
            "chosen": self.chosen,
            "row": self.row,
            "view": self.view,
            "glimpse": self.glimpse,
            "gamma": self.gamma,
            "gammas": self.gammas or None,
            "preview": self.preview_key,
        }
        if self.against is not None:
            other, columns = packed_field(self.against.field)
            header["against"] = {"names": self.against.names, "field": other}
            arrays |= {f"against{name.title()}": column for name, column in columns.items()}
        if self.marked is not None:
            arrays["marked"] = np.packbits(self.marked, bitorder="little")
        is_colored = self.field is None or len(self.rows or ()) <= MOST_WITH_ERRORS
        if self.rows is not None and is_colored:
            added, columns = packed_errors(self.rows.error, self.rows.effective_size)
            header |= added
            arrays |= columns
            if self.inside is not None:
                arrays["inside"] = self.inside.astype(np.uint8)
        return pack(header, arrays)

    def _packed_map(self) -> tuple[dict[str, Any] | None, dict[str, NDArray[np.generic]]]:
        """Pack the field, where it is strong and where rows are; of space there is none."""
        if self.field is None:
            return None, {}
        described, arrays = packed_field(self.field)
        vivid = np.ones((1, 1)) if self.vivid is None else self.vivid.inside
        arrays["vivid"] = np.rint(vivid * 255).astype(np.uint8)
        shape = segments(self.field.x, self.field.y, self.field.context.astype(np.float64))
        arrays["shape"] = shape.astype(np.float32)
        return described, arrays


def packed_rows(rows: EveryRow, key: str) -> bytes:
    """Pack what of rows does not change with γ; ``key`` names it."""
    header = {"key": key, "classes": list(rows.class_names)}
    arrays: dict[str, NDArray[np.generic]] = {
        **{axis: at.astype(np.float32) for axis, at in zip("xyz", rows.at.T, strict=False)},
        "confidence": np.rint(rows.confidence * 65535).astype(np.uint16),
        "outcome": rows.outcome.astype(np.uint8),
        "bin": rows.bin_index.astype(np.uint8),
    }
    if rows.predicted is not None and rows.label is not None:
        arrays["predicted"] = rows.predicted.astype(np.uint16)
        arrays["label"] = rows.label.astype(np.uint16)
    return pack(header, arrays)


def packed_field(field: Field) -> tuple[dict[str, Any], dict[str, NDArray[np.generic]]]:
    """Return a field in two bytes a node: a header and its arrays.

    ``scale``: a code of 127 of ``error`` (int8, −128 where nothing is shown) is so large an error.
    ``logSupport``: log(1 + n_eff) of the code 255 of ``support`` (uint8, 0 where no row is near); 0
    of the code 1.
    """
    header, error = coded_errors(field.signed)
    support, log_support = _log_coded(field.effective_size, _FIELD_STEPS)
    header |= {
        "resolution": len(field.x),
        "x": field.x[[0, -1]].tolist(),
        "y": field.y[[0, -1]].tolist(),
        "logSupport": log_support,
        "least": MIN_EFFECTIVE_SIZE,
    }
    return header, {"error": error, "support": support.astype(np.uint8)}


def coded_errors(signed: Floats) -> tuple[dict[str, Any], NDArray[np.int8]]:
    """Return errors in a byte each, −128 where there is none: 127 is so large as ``scale`` says."""
    known = np.isfinite(signed)
    scale = max(float(np.abs(signed[known]).max(initial=0.0)), 1e-9)
    error = np.full(signed.shape, _NOTHING, np.int8)
    error[known] = np.rint(signed[known] / scale * 127).astype(np.int8)
    return {"scale": scale}, error


def packed_errors(
    error: Floats, effective_size: Floats
) -> tuple[dict[str, Any], dict[str, NDArray[np.generic]]]:
    """Return rows' own errors in four bytes a row: 32767 is an error of 1."""
    size, log_support = _log_coded(effective_size, _ROW_STEPS)
    least = 1 + round(float(np.log1p(MIN_EFFECTIVE_SIZE)) / log_support * (_ROW_STEPS - 1))
    # Rounding must not tell a row to have enough neighbours, nor too few.
    enough = effective_size >= MIN_EFFECTIVE_SIZE
    size = np.where(enough, np.maximum(size, least), np.minimum(size, least - 1))
    header = {"rowLogSupport": log_support, "rowLeast": least}
    signed = np.rint(np.nan_to_num(error).clip(-1, 1) * _SIDES).astype(np.int16)
    return header, {"rowError": signed, "rowSupport": size.astype(np.uint16)}


def _log_coded(size: Floats, steps: int) -> tuple[NDArray[np.int64], float]:
    near = np.isfinite(size)
    log_support = max(float(np.log1p(size[near].max(initial=1.0))), 1e-9)
    coded = np.zeros(size.shape, np.int64)
    share = np.log1p(np.maximum(size[near], 0.0)) / log_support
    coded[near] = 1 + np.rint(share.clip(0, 1) * (steps - 1)).astype(np.int64)
    return coded, log_support


def scale_header(scale: ErrorScale) -> dict[str, Any]:
    """Return what a colour means."""
    ends = {"signed": scale.is_signed, "limit": scale.limit}
    return {**ends, "title": scale.title, "ticks": scale.ticks}


def _look(mode: Literal["light", "dark"]) -> dict[str, str]:
    colors = palette(mode)
    return {
        "paper": colors["paper"],
        "ink": colors["ink"],
        "quiet": colors["quiet"],
        "grid": colors["line"],
        "accent": colors["accent"],
        "line": colors["ink"],
        "halo": rgba(colors["paper"], 0.75),
        "faint": rgba(NEUTRAL[mode], 0.45),
    }
