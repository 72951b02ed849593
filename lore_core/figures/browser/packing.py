"""Arrays and what is said of them in one buffer, as ``protocol.js`` reads it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Arrays begin at multiples of it, so that a browser can look at them where they lie.
_STEP = 8


def pack(header: Mapping[str, Any], arrays: Mapping[str, NDArray[np.generic]]) -> bytes:
    """Join arrays and a header: the arrays, the header as JSON, its length in four bytes.

    ``header``: what JSON can hold; ``arrays`` is added to it: kind, place and length of each.
    ``arrays``: of 8-bit, 16-bit or 32-bit integers, or of 32-bit floats; ravelled.
    """
    parts: list[bytes] = []
    told: dict[str, tuple[str, int, int]] = {}
    place = 0
    for name, array in arrays.items():
        content = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"))).tobytes()
        told[name] = (array.dtype.str[1:], place, array.size)
        padding = -len(content) % _STEP
        parts += [content, bytes(padding)]
        place += len(content) + padding
    text = json.dumps({**header, "arrays": told}, ensure_ascii=False, allow_nan=False).encode()
    return b"".join([*parts, text, len(text).to_bytes(4, "little")])
