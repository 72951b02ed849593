"""Images of rows as small PNGs."""

from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image

from lore_core import Dataset


def has_image(dataset: Dataset) -> bool:
    """Whether any row has a picture."""
    return dataset.images is not None


def picture(dataset: Dataset, row: int, size: int = 160) -> Image.Image:
    """One row's image, enlarged without smoothing so that its pixels stay what they are."""
    assert dataset.images is not None
    image = Image.fromarray(dataset.images[row])
    factor = max(1, size // max(image.size))
    return image.resize((image.width * factor, image.height * factor), Image.Resampling.NEAREST)


def thumbnail_urls(dataset: Dataset, rows: np.ndarray) -> list[str]:
    """PNG data URLs of rows, for a table's image column."""
    assert dataset.images is not None
    urls = []
    for row in rows:
        buffer = io.BytesIO()
        Image.fromarray(dataset.images[row]).save(buffer, format="PNG")
        urls.append("data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode())
    return urls
