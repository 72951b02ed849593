import io
import json
import os
import re
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lore_core import InputError
from lore_core.figures import cdf_figure, export, reliability_figure
from lore_core.figures.export import (
    chart_csv,
    chart_html,
    chart_image,
    chart_parquet,
    paper_chart,
    paper_scale,
    plot_config,
)
from lore_core.figures.style import PAPER

ON_MAPS = ["landscape", "rows", "3-D", "surface"]
OVER_AXES = ["reliability", "cdf", "bandwidth", "suggestion", "groups", "rewards", "runs"]
KINDS = [*ON_MAPS, *OVER_AXES, "scatter", "number", "names", "grid"]


@pytest.fixture(scope="module", autouse=True)
def close_the_browser():
    yield
    if find_spec("kaleido") is not None:
        import kaleido

        kaleido.stop_sync_server(silence_warnings=True)


@pytest.mark.parametrize("kind", KINDS)
def test_names_are_not_markup(charts, kind, strings):
    shown = "\n".join(strings(charts[kind].figure))
    assert not re.search(r"<script|<b>(x|LoRe<)|<i>|<u>", shown)
    assert "&lt;" in shown


@pytest.mark.parametrize("kind", KINDS)
def test_csv_and_parquet_hold_the_same_numbers(charts, kind):
    table = charts[kind].table
    back = pd.read_csv(io.BytesIO(chart_csv(charts[kind])))
    assert len(back) > 0
    alike = {"check_dtype": False, "check_names": False, "rtol": 1e-14, "atol": 0}
    pd.testing.assert_frame_equal(back, table, **alike)
    back = pd.read_parquet(io.BytesIO(chart_parquet(charts[kind])))
    assert list(back.columns) == list(table.columns)
    numbers = list(table.select_dtypes("number"))
    np.testing.assert_array_equal(back[numbers], table[numbers])


@pytest.mark.parametrize("kind", KINDS)
def test_html_opens_without_a_network_says_how_to_read_it_and_never_uploads(charts, kind):
    chart = charts[kind]
    page = chart_html(chart).decode()
    call = page.split("Plotly.newPlot")[-1]
    assert len(page) > 1_000_000 > len(call), "the library itself is inside"
    assert not re.findall(r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=", page)
    assert "https://cdn" not in call
    assert "https://cdn.plot" not in page.replace("https://cdn.plot.ly/un/", "")
    sentence = chart.how_to_read
    written = {text.replace("/", r"\u002f") for text in (sentence, json.dumps(sentence)[1:-1])}
    assert any(text in call for text in written)
    assert re.search(r'"showSendToCloud":\s*false', call)
    assert not re.search(r"<script>alert|\\u003cb\\u003ex|<b>(x|first)", call)
    settings = plot_config(chart)
    assert settings["displaylogo"] is settings["showSendToCloud"] is False
    assert settings["toImageButtonOptions"] == {"format": "svg", "filename": chart.name}


# Plotly hands Kaleido options for a browser of its own; here one browser serves all images.
@pytest.mark.filterwarnings("ignore:The kopts argument is ignored:UserWarning")
class TestStaticImages:
    @pytest.fixture(autouse=True)
    def can_render(self):
        missing = export.why_no_static_images()
        if missing is not None:
            pytest.skip(missing)

    @pytest.mark.parametrize(
        ("image_format", "start"), [("png", b"\x89PNG\r\n"), ("svg", b"<svg"), ("pdf", b"%PDF-")]
    )
    def test_each_format(self, charts, image_format, start):
        image = chart_image(charts["reliability"], image_format)
        assert image.startswith(start)
        assert len(image) > 2_000

    @pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs a list of processes")
    def test_the_browser_asks_nobody(self, charts):
        """Left to itself it looks for updates as it starts; what it is told to ask is not there."""
        chart_image(charts["reliability"], "svg")
        ours = f"PPid:\t{os.getpid()}\n"
        started = [path.parent for path in Path("/proc").glob("*/status") if ours in _text(path)]
        told = "--proxy-server=http://127.0.0.1:9"
        assert any(told in _text(process / "cmdline").split("\0") for process in started)

    def test_the_size_is_the_one_asked_for(self, charts, errors):
        image = chart_image(charts["cdf"], "png", width=500, height=300, scale=2)
        assert int.from_bytes(image[16:20]) == 1000
        assert int.from_bytes(image[20:24]) == 600
        methods = {"a & b": errors.absolute, "none": errors.absolute / 2}
        image = chart_image(cdf_figure(methods, rows=""), "svg").decode()
        assert "a &amp; b" in image
        assert "a &amp;amp; b" not in image


def _text(path):
    try:
        return path.read_text()
    except OSError:  # it has ended
        return ""


def test_unknown_format_and_what_is_missing(charts, monkeypatch):
    with pytest.raises(InputError, match=r"'image_format' must be one of .*'pdf'.*; got 'bmp'"):
        chart_image(charts["cdf"], "bmp")
    monkeypatch.delenv("BROWSER_PATH", raising=False)
    monkeypatch.setattr(export.shutil, "which", lambda name: None)
    sentence = "need Chrome or Chromium on this machine; none was found"
    assert sentence in export.why_no_static_images()
    with pytest.raises(InputError, match=sentence):
        chart_image(charts["cdf"], "png")
    monkeypatch.setattr(export, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install kaleido"):
        chart_image(charts["cdf"], "png")


def test_rendering_that_hangs_is_given_up(charts, monkeypatch):
    if (missing := export.why_no_static_images()) is not None:
        pytest.skip(missing)
    monkeypatch.setattr(export, "TIMEOUT_SECONDS", 0.0)
    with pytest.raises(InputError, match="took over 0 s and was given up"):
        chart_image(charts["cdf"], "png")


def test_size_is_in_millimetres_and_points(table):
    chart = paper_chart(reliability_figure(table, rows="x"), width_mm=84, font_pt=8)
    layout = chart.figure.layout
    assert layout.width == round(84 / 25.4 * 96)
    assert layout.height == round(0.75 * 84 / 25.4 * 96)
    assert layout.font.size == pytest.approx(8 / 72 * 96)
    assert layout.title.text is None
    tall = paper_chart(reliability_figure(table, rows="x"), height_mm=100, title=True)
    assert tall.figure.layout.height == round(100 / 25.4 * 96)
    assert "Reliability" in tall.figure.layout.title.text
    assert paper_scale(300) == pytest.approx(3.125)


@pytest.mark.parametrize("kind", KINDS)
def test_dark_charts_become_what_light_ones_are(charts, kind):
    in_modes = {mode: replace(charts[kind], mode=mode) for mode in ("light", "dark")}
    for mode, chart in in_modes.items():
        assert chart.figure.layout.paper_bgcolor == PAPER[mode]
    one, two = (paper_chart(chart).figure for chart in in_modes.values())
    assert one.layout.paper_bgcolor == PAPER["light"]
    assert json.loads(one.to_json()) == json.loads(two.to_json())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width_mm": 5}, "'width_mm' must lie between 30 and 500 mm"),
        ({"height_mm": 900}, "'height_mm' must lie between 20 and 500 mm"),
        ({"font_pt": 40}, "'font_pt' must lie between 4 and 24 points"),
    ],
)
def test_sizes_that_cannot_be(table, options, message):
    with pytest.raises(InputError, match=message):
        paper_chart(reliability_figure(table, rows="x"), **options)
