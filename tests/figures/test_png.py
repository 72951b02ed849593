"""Pixels come back from a PNG as they were."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest
from PIL import Image

from lore_core.figures.png import png, png_url


@pytest.mark.parametrize("shape", [(5, 7), (5, 7, 3), (4, 2, 4)])
def test_pixels_come_back(shape):
    pixels = np.random.default_rng(0).integers(0, 255, shape, dtype=np.uint8)
    for content in (png(pixels), base64.b64decode(png_url(pixels).partition(",")[2])):
        np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(content))), pixels)


def test_every_other_pixel_of_an_array_can_be_taken():
    pixels = np.arange(60, dtype=np.uint8).reshape(6, 10)
    back = np.asarray(Image.open(io.BytesIO(png(pixels[::2, ::3]))))
    np.testing.assert_array_equal(back, pixels[::2, ::3])
