"""What the γ slider shows while it moves, as a browser takes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field as attribute
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lore_core.chance.simulation import NullBand
from lore_core.data.arrays import Floats, Ints
from lore_core.figures.browser.landscape import coded_errors, packed_field
from lore_core.figures.browser.packing import pack
from lore_core.figures.pictures.landscape_picture import OutlinedRegion
from lore_core.metrics.bandwidth import BandwidthCurve
from lore_core.regions.field import Field


@dataclass(frozen=True)
class PreviewOutlines:
    """Where places lie at every bandwidth, by its number."""

    #: Of each bandwidth the name of each place and the key of its outline.
    names: dict[int, tuple[tuple[str, int], ...]] = attribute(default_factory=dict)
    #: Outlines by their keys: places of several bandwidths share them.
    regions: dict[int, OutlinedRegion] = attribute(default_factory=dict)

    def take(self, more: PreviewOutlines) -> None:
        """Take what was found of further bandwidths."""
        self.names.update(more.names)
        self.regions.update(more.regions)

    def lacking(self, known: Iterable[int]) -> PreviewOutlines:
        """Return what a browser lacks that knows the places of some bandwidths."""
        has = set(known)
        names = {k: found for k, found in self.names.items() if k not in has}
        there = {key for k in has for _, key in self.names.get(k, ())}
        wanted = {key for found in names.values() for _, key in found} - there
        return PreviewOutlines(names, {key: self.regions[key] for key in sorted(wanted)})


def packed_preview(
    key: str,
    fields: Mapping[int, Field | Floats],
    curve: BandwidthCurve | None = None,
    band: NullBand | None = None,
    *,
    is_all: bool = True,
    sample: int | None = None,
    sampled: Ints | None = None,
    quantiles: Mapping[int, Floats] | None = None,
    outlines: PreviewOutlines | None = None,
    with_support: bool = False,
) -> bytes:
    """Pack fields by the number of their γ, and the MLCE over γ with what chance shows.

    Parameters
    ----------
    key : str
        Names what is looked at, but for γ.
    fields : mapping of int to Field or ndarray
        One byte a node is sent. In space: the errors of rows, a byte each.
    curve : BandwidthCurve, optional
        Its supported MLCE and its ALCE.
    band : NullBand, optional
        Of calibrated data.
    is_all : bool
        Whether nothing more is to come.
    sample : int, optional
        Rows that the fields are made of, where it is not all of them.
    sampled : ndarray of int, optional
        Numbers of the rows whose errors are sent, where it is not all.
    quantiles : mapping of int to ndarray, optional
        The LCE of the rows behind each field: quantiles at even shares from 0 to 1.
    outlines : PreviewOutlines, optional
        Where places lie at every bandwidth.
    with_support : bool
        Whether n_eff goes along, in a second byte a node.
    """
    header: dict[str, Any] = {"preview": key, "isAll": is_all, "sample": sample, "fields": {}}
    arrays: dict[str, NDArray[np.generic]] = {}
    for number, field in fields.items():
        if isinstance(field, np.ndarray):
            described, arrays[f"error{number}"] = coded_errors(field)
            header["fields"][number] = described
            continue
        described, coded = packed_field(field)
        header["fields"][number] = described
        arrays[f"error{number}"] = coded["error"]
        if with_support:
            arrays[f"support{number}"] = coded["support"]
    if sampled is not None:
        arrays["sampled"] = sampled.astype(np.uint32)
    for number, lce in (quantiles or {}).items():
        arrays[f"lce{number}"] = lce.astype(np.float32)
    if outlines is not None:
        header["places"] = outlines.names
        header["outlines"] = {key: region.at for key, region in outlines.regions.items()}
        for number, region in outlines.regions.items():
            arrays[f"lines{number}"] = region.lines.astype(np.float32)
    if curve is not None:
        header["curve"] = {
            "gamma": curve.gamma.tolist(),
            "mlce": _known(curve.mlce_supported),
            "alce": _known(curve.alce),
        }
    if band is not None:
        low, high = band.band("mlce_supported")
        header["band"] = {"gamma": band.gamma.tolist(), "low": _known(low), "high": _known(high)}
    return pack(header, arrays)


def _known(values: NDArray[np.float64]) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]
