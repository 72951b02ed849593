"""Images of rows as small PNGs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lore_core.figures.png import png_url

#: Pixels of an enlarged image.
_SIZE = 160


def picture(image: NDArray[np.uint8]) -> Image.Image:
    """One row's image, enlarged without smoothing so that its pixels stay what they are."""
    shown = Image.fromarray(image)
    factor = max(1, _SIZE // max(shown.size))
    return shown.resize((shown.width * factor, shown.height * factor), Image.Resampling.NEAREST)


def thumbnail_urls(
    images: NDArray[np.uint8], rows: NDArray[np.int64], *, side: int | None = None
) -> list[str]:
    """PNG data URLs of rows, for a table's image column.

    ``side``: pixels of the longer side at most.
    """
    return [png_url(images[row] if side is None else _reduced(images[row], side)) for row in rows]


def _reduced(image: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    shown = Image.fromarray(image)
    shown.thumbnail((side, side))
    return np.asarray(shown)
