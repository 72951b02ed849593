"""A landscape as a browser takes it: all rows in columns, and the scene shown of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field as attribute
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lore_core.data.arrays import Floats, Ints
from lore_core.data.dataset import TOP_LABEL, Dataset, Target
from lore_core.figures.browser.packing import pack, packed_errors, packed_field
from lore_core.figures.pictures.landscape_picture import LandscapePicture, segments
from lore_core.figures.style import MODES, palette, rgba, shades
from lore_core.metrics.local_error import LocalErrors
from lore_core.regions.field import Field, Outline
from lore_core.regions.selection import Selection

Layer = Literal["field", "rows", "both"]

#: Rows whose own errors go along with every scene; of more the field tells the colours.
MAX_ROWS_WITH_ERRORS = 50_000


@dataclass(frozen=True)
class SecondField:
    """Another field over the same map: a handle parts the two."""

    names: tuple[str, str]  #: What is shown on the left, and what on the right
    field: Field  #: The error on the right


@dataclass(frozen=True, eq=False)
class MapDots:
    """Rows that stand out as dots of one colour."""

    color: str
    at: Floats  #: (m, d); places on the map


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
    #: Where most rows are beyond chance; all else is paler. None: nothing is known.
    vivid: Outline | None = None
    inside: NDArray[np.bool_] | None = None  #: (n,); rows that are beyond chance
    only: bool = False  #: Whether no other rows are shown
    #: What each outlined region is called in words, by its name.
    titles: Mapping[str, str] = attribute(default_factory=dict)
    colors: Mapping[str, str] = attribute(default_factory=dict)  #: Of their names on the map
    dots: tuple[MapDots, ...] = ()
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
            "scale": {
                "signed": picture.scale.is_signed,
                "limit": picture.scale.limit,
                "title": picture.scale.title,
                "ticks": picture.scale.ticks,
            },
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
                    "color": self.colors.get(region.name),
                    "number": int(region.name) - 1,
                    "at": region.at,
                    "lines": np.round(region.lines, 6).ravel().tolist(),
                }
                for region in picture.regions
            ],
            "dots": [
                {"color": dots.color, "at": np.round(dots.at, 5).tolist()} for dots in self.dots
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
        }
        if self.against is not None:
            other, columns = packed_field(self.against.field)
            header["against"] = {"names": self.against.names, "field": other}
            arrays |= {f"against{name.title()}": column for name, column in columns.items()}
        if self.highlighted is not None:
            arrays["marked"] = np.packbits(self.highlighted, bitorder="little")
        is_colored = self.field is None or len(self.rows or ()) <= MAX_ROWS_WITH_ERRORS
        if self.rows is not None and is_colored:
            added, columns = packed_errors(self.rows.error, self.rows.effective_size)
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
    """Columns of n rows."""

    at: Floats  #: (n, d); places on the map, d 2 or 3
    confidence: Floats  #: (n,); in [0, 1]
    outcome: Floats  #: (n,); 1 where it came
    #: (n,); classes said and true; None where one class is target_rows at.
    predicted: Ints | None
    label: Ints | None
    class_names: tuple[str, ...]  #: Their names
    bin_index: Ints  #: (n,); confidence bins
    #: (n,); signed local errors, and n_eff behind each.
    error: Floats
    effective_size: Floats

    def __len__(self) -> int:
        return len(self.at)


def every_row(
    dataset: Dataset, target_rows: Target, target: str | int, errors: LocalErrors, at: Floats
) -> EveryRow:
    """Take rows into columns; ``at`` (n, d): their places on the map."""
    is_top = target == TOP_LABEL
    return EveryRow(
        at=at,
        confidence=target_rows.confidence,
        outcome=target_rows.outcome,
        predicted=dataset.predictions if is_top else None,
        label=dataset.labels if is_top else None,
        class_names=tuple(dataset.class_names),
        bin_index=errors.bin_index,
        error=errors.signed,
        effective_size=errors.effective_size,
    )
