"""The landscape as a browser reads it: fields at every bandwidth, in two bytes a node."""

from __future__ import annotations

import base64
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lore_core.figures.pictures.contours import segments
from lore_core.figures.pictures.landscape_picture import LandscapePicture, Layer
from lore_core.figures.style import MODES, NEUTRAL, palette, rgba, shades
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE

#: Code of a node that holds no value.
_NOTHING = -128


def landscape_script() -> str:
    """Return the script that draws what :func:`landscape_json` says."""
    return (files("lore_core.figures.browser") / "slider.js").read_text(encoding="utf-8")


def landscape_json(picture: LandscapePicture) -> dict[str, Any]:
    """Say what a landscape shows, as plain values.

    Parameters
    ----------
    picture : LandscapePicture
        What to show: fields of one or more layers on a 2-D map.

    Returns
    -------
    dict
        Bytes are base64. Of each layer ``error`` holds an int8 for each γ and node, −128 where
        nothing is shown, else ``scale * error / 127`` is the signed error; ``support`` a uint8, 0
        where no row is near, else n_eff = exp((v − 1) / 254 · ``logSupport``) − 1 in round numbers.
        ``colors`` are 256 RGB values from end to end of the scale, by theme.
    """
    field = picture.layers[0].fields[picture.start]
    sizes = [item.effective_size for layer in picture.layers for item in layer.fields]
    largest = max(float(np.nanmax(size, initial=1.0)) for size in sizes)
    log_support = float(np.log1p(largest))
    return {
        "gammas": list(picture.gammas),
        "start": picture.start,
        "resolution": len(field.x),
        "x": _rounded(field.x[[0, -1]], 6),
        "y": _rounded(field.y[[0, -1]], 6),
        "limit": picture.scale.limit,
        "logSupport": log_support,
        "least": MIN_EFFECTIVE_SIZE,
        "layers": [_packed(layer, log_support) for layer in picture.layers],
        "shape": _lines(segments(field.x, field.y, field.context.astype(np.float64))),
        "regions": [
            {"name": item.name, "at": _rounded(np.array(item.at), 5), "lines": _lines(item.lines)}
            for item in picture.regions
        ],
        "looks": {
            mode: {
                "colors": _base64(shades(picture.scale.colors(mode), 256)),
                "paper": palette(mode)["paper"],
                "ink": palette(mode)["ink"],
                "faint": rgba(NEUTRAL[mode], 0.55),
            }
            for mode in MODES
        },
    }


def _packed(layer: Layer, log_support: float) -> dict[str, Any]:
    signed = np.stack([field.signed for field in layer.fields])
    size = np.stack([field.effective_size for field in layer.fields])
    known, near = np.isfinite(signed), np.isfinite(size)
    scale = np.abs(np.where(known, signed, 0.0)).max(axis=(1, 2)).clip(1e-9)
    error = np.full(signed.shape, _NOTHING, np.int8)
    error[known] = np.rint(signed / scale[:, None, None] * 127)[known].astype(np.int8)
    support = np.zeros(size.shape, np.uint8)
    share = np.log1p(np.maximum(size[near], 0.0)) / max(log_support, 1e-9)
    support[near] = 1 + np.rint(share.clip(0, 1) * 254).astype(np.uint8)
    return {
        "name": layer.name,
        "note": layer.note,
        "scale": _rounded(scale, 6),
        "error": _base64(error),
        "support": _base64(support),
    }


def _base64(array: NDArray[np.generic]) -> str:
    return base64.b64encode(array.tobytes()).decode()


def _rounded(values: NDArray[np.float64], digits: int) -> list[float]:
    return [float(f"{value:.{digits}g}") for value in values.ravel()]


def _lines(lines: NDArray[np.float64]) -> list[float]:
    return _rounded(lines, 4)
