"""Pixels as PNG."""

from __future__ import annotations

import base64
import io

import numpy as np
from numpy.typing import NDArray
from PIL import Image


def png(pixels: NDArray[np.uint8]) -> bytes:
    """Write pixels as a PNG.

    ``pixels`` (h, w), (h, w, 3) or (h, w, 4): grey, RGB or RGBA.
    """
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format="PNG", optimize=True)
    return buffer.getvalue()


def png_url(pixels: NDArray[np.uint8]) -> str:
    """Write pixels as an address that holds the image itself.

    ``pixels``: see :func:`png`.
    """
    return "data:image/png;base64," + base64.b64encode(png(pixels)).decode()
