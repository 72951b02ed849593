"""index.html: safe, self-contained, small; and the landscape it carries."""

from __future__ import annotations

import base64
import io
import json
import re

import numpy as np
import pytest
from PIL import Image

import lore_core as lore
from lore_core.report.findings import examine
from lore_core.report.slider import make_slider, png, segments


@pytest.fixture(scope="module")
def index(files, text_of):
    return text_of(files)


@pytest.fixture(scope="module")
def payload(index):
    (text,) = re.findall(r'id="landscape-data">(.*?)</script>', index, re.DOTALL)
    return json.loads(text)


@pytest.fixture(scope="module")
def slider(view, settings):
    return make_slider(examine(view, settings))


def test_nothing_is_asked_of_anyone(index):
    assert "Content-Security-Policy\" content=\"default-src 'none'" in index
    links = set(re.findall(r"https?://[^\"' <]+", index))
    assert links == {"http://www.w3.org/2000/svg"}  # a name, not an address that is opened
    assert not re.search(r'(?:src|href)="(?!data:|#)', index)
    assert len(index.encode()) < 5_000_000


def test_names_from_the_data_cannot_run(index, nasty):
    assert nasty not in index
    assert "<script>alert" not in index
    assert "&lt;/script&gt;&lt;script&gt;alert(1)" in index


def test_every_section_is_there(index):
    for words in (
        "The worst regions", "ranked by NLL, a proper score", "minus No recalibration",
        "the worst group", "Small groups have wide intervals", "What was fitted on which rows",
        "<math", "95 % interval", "n = 200 evaluation rows", "rerun.sh",
    ):  # fmt: skip
        assert words in index, words


def test_the_numbers_in_words_are_those_of_the_table(index, dataset):
    rows = dataset.evaluation
    ece = lore.expected_calibration_error(rows.confidence, rows.outcome, n_bins=5)
    assert f'<td>ECE, points</td> <td class="n">{ece * 100:.1f}</td>' in index


def test_the_slider_holds_the_field(payload, dataset, embedding):
    gammas, r = payload["gammas"], payload["resolution"]
    assert 12 <= len(gammas) <= 16
    assert gammas[payload["start"]] == 0.4
    rows = dataset.evaluation
    z = embedding.coordinates[dataset.in_split("evaluation")]
    picture = payload["pictures"][0]
    error = np.frombuffer(base64.b64decode(picture["error"]), np.int8).reshape(-1, r, r)
    support = np.frombuffer(base64.b64decode(picture["support"]), np.uint8).reshape(-1, r, r)
    for k in (payload["start"] - 2, payload["start"], len(gammas) - 1):
        local = lore.local_errors(rows.confidence, rows.outcome, z, gamma=gammas[k], n_bins=5)
        field = lore.regions.smoothed_field(local.signed, local.effective_size, z, resolution=r)
        known = np.isfinite(field.signed)
        np.testing.assert_array_equal(error[k] != -128, known)
        shown = error[k][known] / 127 * picture["scale"][k]
        half = picture["scale"][k] / 254 + 1e-5
        assert np.abs(shown - field.signed[known]).max() <= half
        n_eff = np.expm1((support[k][known] - 1.0) / 254 * payload["logSupport"])
        np.testing.assert_allclose(n_eff, field.effective_size[known], rtol=0.03, atol=0.05)
    assert [item["exact"] for item in payload["pictures"]][:2] == [False, True]


def test_a_bins_field_is_exact(slider, dataset, embedding):
    rows = dataset.evaluation
    z = embedding.coordinates[dataset.in_split("evaluation")]
    table = lore.reliability_table(rows.confidence, rows.outcome, n_bins=5)
    worst = table.worst_bin(30)
    picture = next(item for item in slider.pictures if "worst" in item.name)
    assert picture.n_rows == table.count[worst]
    inside = table.bins.assign(rows.confidence) == worst
    field = lore.error_field(
        rows.confidence, rows.outcome, z, gamma=0.4, rows=inside, resolution=128
    )
    known = np.isfinite(field.signed)
    shown = picture.signed(slider.start)
    np.testing.assert_allclose(
        shown[known], field.signed[known], atol=picture.scale[slider.start] / 254 + 1e-9
    )


def test_lines_around_a_disc():
    x = np.linspace(-2, 2, 81)
    y = np.linspace(-3, 3, 121)
    height = 1.5 - np.hypot(*np.meshgrid(x, y))  # 0.5 at distance 1
    lines = segments(x, y, height)
    for ends in (lines[:, :2], lines[:, 2:]):
        np.testing.assert_allclose(np.hypot(*ends.T), 1.0, atol=2e-3)
    length = np.hypot(lines[:, 2] - lines[:, 0], lines[:, 3] - lines[:, 1]).sum()
    assert length == pytest.approx(2 * np.pi, rel=1e-3)


def test_lines_close_at_the_edge_and_of_nothing_there_are_none():
    x = np.array([0.0, 1.0, 2.0])
    lines = segments(x, x, np.ones((3, 3)))
    ends = np.round(np.concatenate([lines[:, :2], lines[:, 2:]]), 9)
    _, count = np.unique(ends, axis=0, return_counts=True)
    assert (count == 2).all()  # every end is where another piece goes on
    assert segments(x, x, np.zeros((3, 3))).shape == (0, 4)
    saddle = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert len(segments(x[:2], x[:2], saddle)) >= 4


@pytest.mark.parametrize("shape", [(5, 7), (5, 7, 3), (4, 2, 4)])
def test_png(shape):
    pixels = np.random.default_rng(0).integers(0, 255, shape, dtype=np.uint8)
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(png(pixels)))), pixels)
