"""What the browser's landscape reads is what the picture holds."""

from __future__ import annotations

import base64
import json
from dataclasses import replace

import numpy as np
import pytest

from lore_core.figures import landscape_figure
from lore_core.figures.browser.slider import landscape_json
from lore_core.figures.pictures.landscape_picture import Layer
from lore_core.figures.style import diverging, shades
from lore_core.regions import rows_outline


@pytest.fixture
def picture(field, points):
    outline = rows_outline(points, points[:, 0] > 0.5)
    chart = landscape_figure(field, points, n_total=300, limit=0.3, rows="", found=[("1", outline)])
    half = replace(field, signed=field.signed / 2)
    layer = Layer("<b>one</b>", (field, half), "300 rows")
    return replace(chart.picture, layers=(layer,), gammas=(0.1, 0.4), start=1)


@pytest.fixture
def said(picture):
    return json.loads(json.dumps(landscape_json(picture), allow_nan=False))


def decoded(text, kind, *shape):
    return np.frombuffer(base64.b64decode(text), kind).reshape(shape)


def test_errors_come_back_to_within_half_a_step(said, field):
    (layer,) = said["layers"]
    r = said["resolution"]
    codes = decoded(layer["error"], np.int8, 2, r, r)
    known = np.isfinite(field.signed)
    for k, share in enumerate((1.0, 0.5)):
        np.testing.assert_array_equal(codes[k] != -128, known)
        back = codes[k][known] / 127 * layer["scale"][k]
        assert np.abs(back - share * field.signed[known]).max() <= layer["scale"][k] / 253
    assert (layer["name"], layer["note"]) == ("<b>one</b>", "300 rows")
    assert (said["gammas"], said["start"], said["limit"]) == ([0.1, 0.4], 1, 0.3)


def test_support_comes_back_in_round_numbers(said, field):
    r = said["resolution"]
    codes = decoded(said["layers"][0]["support"], np.uint8, 2, r, r)[0]
    near = np.isfinite(field.effective_size)
    np.testing.assert_array_equal(codes > 0, near)
    back = np.expm1((codes[near] - 1.0) / 254 * said["logSupport"])
    np.testing.assert_allclose(back, field.effective_size[near], rtol=0.03, atol=0.05)


def test_the_colours_are_those_of_every_other_drawing(said):
    for mode, look in said["looks"].items():
        colors = decoded(look["colors"], np.uint8, 256, 3)
        np.testing.assert_array_equal(colors, shades(diverging(mode), 256))
        ends = [f"#{bytes(colors[k]).hex()}" for k in (0, -1)]
        assert ends == [diverging(mode)[0][1], diverging(mode)[-1][1]]


def test_regions_have_their_number_within_their_lines(said):
    (region,) = said["regions"]
    x, y = region["at"]
    lines = np.array(region["lines"]).reshape(-1, 2)
    assert (lines.min(axis=0) <= (x, y)).all()
    assert ((x, y) <= lines.max(axis=0)).all()
