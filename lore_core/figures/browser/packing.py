"""Arrays and a header in one buffer, as ``protocol.js`` reads it; errors in few bytes."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lore_core.data.arrays import Floats
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE
from lore_core.regions.field import Field

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
