"""Pixels come back from a PNG as they were."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest
from PIL import Image

from lore_core.figures.svg.drawing import png_url


@pytest.mark.parametrize("shape", [(5, 7), (5, 7, 3), (4, 2, 4)])
@pytest.mark.parametrize("step", [1, 2])
def test_pixels_come_back(shape, step):
    pixels = np.random.default_rng(0).integers(0, 255, shape, dtype=np.uint8)[::step]
    content = base64.b64decode(png_url(pixels).partition(",")[2])
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(content))), pixels)
