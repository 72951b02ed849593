"""Images of rows as small PNGs."""

from __future__ import annotations

import numpy as np
from PIL import Image

from lore_core import Dataset
from lore_core.figures.png import png_url

#: Pixels of an enlarged image.
_SIZE = 160


def has_image(dataset: Dataset) -> bool:
    """Whether any row has a picture."""
    return dataset.images is not None


def picture(dataset: Dataset, row: int) -> Image.Image:
    """One row's image, enlarged without smoothing so that its pixels stay what they are."""
    assert dataset.images is not None
    image = Image.fromarray(dataset.images[row])
    factor = max(1, _SIZE // max(image.size))
    return image.resize((image.width * factor, image.height * factor), Image.Resampling.NEAREST)


def thumbnail_urls(dataset: Dataset, rows: np.ndarray) -> list[str]:
    """PNG data URLs of rows, for a table's image column."""
    assert dataset.images is not None
    return [png_url(dataset.images[row]) for row in rows]
