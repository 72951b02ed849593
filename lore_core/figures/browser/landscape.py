"""A landscape as a browser takes it: arrays and a header in one buffer, rows, scene, fields."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field as attribute
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lore_core.data.arrays import Floats, Ints
from lore_core.data.dataset import TOP_LABEL, Dataset, Target
from lore_core.figures.pictures.landscape_picture import (
    LandscapePicture,
    OutlinedRegion,
    RowColors,
    segments,
)
from lore_core.figures.style import MODES, palette, rgba, shades
from lore_core.inference.simulation import NullBand
from lore_core.metrics.bandwidth import BandwidthCurve
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE, LocalErrors
from lore_core.regions.field import Field
from lore_core.regions.selection import Selection

#: Bytes; arrays begin at multiples of it, so that a browser can look at them where they lie.
_STEP = 8
#: Code of a node that holds no value.
_NOTHING = -128
_FIELD_STEPS, _ROW_STEPS = 255, 65535
_SIDES = 32767


def pack(header: Mapping[str, Any], arrays: Mapping[str, NDArray[np.generic]]) -> bytes:
    """Join arrays (of integers up to 32 bits, or float32; ravelled) and a JSON header.

    Its length is the last four bytes; ``arrays`` in it has kind, place and length of each.
    """
    parts: list[bytes] = []
    described: dict[str, tuple[str, int, int]] = {}
    place = 0
    for name, array in arrays.items():
        content = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"))).tobytes()
        described[name] = (array.dtype.str[1:], place, array.size)
        padding = -len(content) % _STEP
        parts += [content, bytes(padding)]
        place += len(content) + padding
    text = json.dumps({**header, "arrays": described}, ensure_ascii=False, allow_nan=False).encode()
    return b"".join([*parts, text, len(text).to_bytes(4, "little")])


def packed_field(
    field: Field, *, with_support: bool = True
) -> tuple[dict[str, Any], dict[str, NDArray[np.generic]]]:
    """Return a field in one or two bytes a node: a header and its arrays.

    ``scale`` is the error of code 127 (−128: nothing shown); ``logSupport`` is log(1 + n_eff) of
    code 255, 0 of code 1 (code 0: no row near).
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
    arrays: dict[str, NDArray[np.generic]] = {"error": error}
    if with_support:
        arrays["support"] = support.astype(np.uint8)
    return header, arrays


def coded_errors(signed: Floats) -> tuple[dict[str, Any], NDArray[np.int8]]:
    """Return errors in a byte each, 127 for ``scale``; −128 where there is none."""
    known = np.isfinite(signed)
    scale = max(float(np.abs(signed[known]).max(initial=0.0)), 1e-9)
    error = np.full(signed.shape, _NOTHING, np.int8)
    error[known] = np.rint(signed[known] / scale * 127).astype(np.int8)
    return {"scale": scale}, error


def packed_errors(
    error: Floats, effective_size: Floats
) -> tuple[dict[str, Any], dict[str, NDArray[np.generic]]]:
    """Return rows' own errors and n_eff in four bytes a row: 32767 is an error of 1."""
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


Layer = Literal["field", "rows", "both"]

#: Rows whose own errors go along with every scene; of more the field tells the colours.
MAX_ROWS_WITH_ERRORS = 50_000


#: Effective neighbours of a row whose colour needs none.
_ENOUGH = 1000.0


@dataclass(frozen=True)
class SecondField:
    """Another field over the same map: a handle parts the two."""

    names: tuple[str, str]  #: What is shown on the left, and what on the right
    field: Field  #: The error on the right


@dataclass(frozen=True, kw_only=True)
class LiveLandscape:
    """What a browser draws, and what the reader has done to it."""

    picture: LandscapePicture  #: Worst rows, places, names and colours
    field: Field | None  #: The error over the map; None in space, where rows have it
    against: SecondField | None = None  #: What stands beside it, in the same picture
    rows: EveryRow | None = None  #: All rows of the map; without them the field alone is drawn
    rows_key: str = ""  #: Names these columns: equal only where they are, but for errors.
    n_shown: int  #: How many rows are shown
    map_key: str  #: Names the map; where it changes the view starts anew
    layer: Layer = "field"  #: What is drawn
    bin_index: int | None = None  #: The confidence bin that is shown
    inside: NDArray[np.bool_] | None = None  #: (n,); rows in significant subgroups
    only: bool = False  #: Whether no other rows are shown
    #: What each outlined region is called in words, by its name.
    titles: Mapping[str, str] = attribute(default_factory=dict)
    selection: Selection = attribute(default_factory=Selection)  #: What the reader has drawn
    chosen: int | None = None  #: Number of the chosen region, from 0
    #: (n,); rows that stand out where nothing is selected.
    highlighted: NDArray[np.bool_] | None = None
    row: int | None = None  #: The row that is looked at
    view: tuple[float, ...] | None = None  #: Where the reader looks, from a link
    #: What stands at a row when one looks very near.
    glimpse: Literal["image", "words"] | None = None
    gamma: float  #: Bandwidth of the field
    #: Those the reader may choose, in order; none where there is no slider.
    gammas: tuple[float, ...] = ()
    #: Key of the message with the slider's fields, and on a server the address of their parts.
    fields_key: str = ""
    #: Address that answers for rows; "" where there is no server.
    address: str = ""
    #: Maps of one name on a page show the same part, place and bandwidth, on whichever it is moved.
    link: str = ""

    @property
    def whole(self) -> tuple[float, ...]:
        """What a browser says of where the reader looks, as long as all is seen as at the start."""
        camera = self.picture.camera
        return (0, 0, 1) if camera is None else (0, 0, 1, camera.round, camera.above)

    def packed_scene(self) -> bytes:
        """Pack what is shown."""
        picture, worst = self.picture, self.picture.worst
        colors = picture.scale if isinstance(picture.scale, RowColors) else None
        described, arrays = self._packed_map()
        arrays |= {mode: shades(picture.scale.colors(mode), 256) for mode in MODES}
        header: dict[str, Any] = {
            "alt": picture.alt,
            "rows": self.rows_key,
            "map": self.map_key,
            "field": described,
            "frame": picture.extent,
            "corner": self.whole[3:],
            "scale": {
                "signed": picture.scale.is_signed,
                "limit": picture.scale.limit,
                "title": picture.scale.title,
                "ticks": picture.scale.ticks,
                "names": 0 if colors is None else colors.n_names,
            },
            "colored": colors is not None,
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
                    "color": region.color or None,
                    "number": int(region.name) - 1,
                    "at": region.at,
                    "lines": np.round(region.lines, 6).ravel().tolist(),
                }
                for region in picture.regions
            ],
            "dots": [
                {"color": dots.color, "at": np.round(dots.at, 5).tolist()} for dots in picture.dots
            ],
            "names": [{"name": item.name, "at": item.at} for item in picture.labels],
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
            "fields": self.fields_key,
            "address": self.address,
            "link": self.link,
        }
        if self.against is not None:
            other, columns = packed_field(self.against.field)
            header["against"] = {"names": self.against.names, "field": other}
            arrays |= {f"against{name.title()}": column for name, column in columns.items()}
        if self.highlighted is not None:
            arrays["marked"] = np.packbits(self.highlighted, bitorder="little")
        if colors is not None:
            known = np.isfinite(colors.values)
            # (As errors of rows; one that is unknown is drawn as one without neighbours.)
            added, columns = packed_errors(colors.values, np.where(known, _ENOUGH, 0.0))
            header |= added
            arrays |= columns
        elif self.rows is not None and (
            self.field is None or len(self.rows.at) <= MAX_ROWS_WITH_ERRORS
        ):
            errors = self.rows.errors
            added, columns = packed_errors(errors.signed, errors.effective_size)
            header |= added
            arrays |= columns
            if self.inside is not None:
                arrays["inside"] = self.inside.astype(np.uint8)
        return pack(header, arrays)

    def _packed_map(self) -> tuple[dict[str, Any] | None, dict[str, NDArray[np.generic]]]:
        """Pack the field, where it is strong and where rows are; nothing in space."""
        if self.field is None:
            return None, {}
        described, arrays = packed_field(self.field)
        vivid = np.ones((1, 1)) if self.picture.vivid is None else self.picture.vivid.inside
        arrays["vivid"] = np.rint(vivid * 255).astype(np.uint8)
        shape = segments(self.field.x, self.field.y, self.field.context.astype(np.float64))
        arrays["shape"] = shape.astype(np.float32)
        return described, arrays


def packed_rows(rows: EveryRow, key: str) -> bytes:
    """Pack what of rows does not change with γ; ``key`` names it."""
    header = {"key": key, "classes": list(rows.dataset.class_names)}
    arrays: dict[str, NDArray[np.generic]] = {
        **{axis: at.astype(np.float32) for axis, at in zip("xyz", rows.at.T, strict=False)},
        "confidence": np.rint(rows.scores.confidence * 65535).astype(np.uint16),
        "outcome": rows.scores.outcome.astype(np.uint8),
        "bin": rows.errors.bin_index.astype(np.uint8),
    }
    if rows.target == TOP_LABEL:
        arrays["predicted"] = rows.dataset.predictions.astype(np.uint16)
        arrays["label"] = rows.dataset.labels.astype(np.uint16)
    return pack(header, arrays)


def _look(mode: Literal["light", "dark"]) -> dict[str, str]:
    colors = palette(mode)
    named = {name: colors[name] for name in ("paper", "ink", "quiet", "accent")}
    return {
        **named,
        "grid": colors["line"],
        "line": colors["ink"],
        "halo": rgba(colors["paper"], 0.75),
        "faint": rgba(colors["quiet"], 0.45),
    }


@dataclass(frozen=True, eq=False)
class EveryRow:
    """All rows of a map."""

    dataset: Dataset  #: n rows
    target: str | int  #: The top label, or a class
    scores: Target  #: Its confidences and outcomes
    errors: LocalErrors  #: Its local errors
    at: Floats  #: (n, d); places on the map, d 2 or 3


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
            gamma=picture.gammas[picture.start],
            gammas=picture.gammas,
            fields_key=layer.name,
        )
        fields = GammaFields(dict(enumerate(layer.fields)), curve=curve, band=band)
        packed = fields.packed(layer.name, with_support=True)
        made.append(StillLayer(layer.name, layer.note, live.packed_scene(), packed))
    return tuple(made)
