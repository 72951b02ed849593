import base64
import io
import re
import subprocess
import sys
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from lore_core.comparison import group_report
from lore_core.figures import (
    bandwidth_figure,
    cdf_figure,
    group_figure,
    landscape_figure,
    reliability_figure,
    reward_figure,
)
from lore_core.figures.pictures.dot_plots import ranking_picture
from lore_core.figures.pictures.picture import Axis, Band, Bars, Dots, Line, Panel, Rule, Tint
from lore_core.figures.pictures.reliability import reliability_points
from lore_core.figures.style import palette
from lore_core.figures.svg import WIDTH, drawing, png_url
from lore_core.inference import null_band
from lore_core.metrics import reward_curve
from lore_core.metrics.catalogue import CATALOGUE
from lore_core.regions import rows_outline

NAME = "{http://www.w3.org/2000/svg}"


def elements(picture, tag):
    return list(root(picture).iter(f"{NAME}{tag}"))


def root(picture):
    return ElementTree.fromstring(drawing(picture).file())


def kinds(picture):
    return [item.get("class") for item in root(picture).iter() if item.get("class")]


@pytest.fixture
def plain(table):
    x, y = Axis(span=(0.0, 10.0)), Axis(span=(0.0, 1.0))

    def of(*marks, x=x, y=y):
        return replace(reliability_figure(table, rows=""), panels=(Panel(x, y, marks),))

    return of


class TestPlaces:
    # The frame reaches from x = 38 to 302 and from y = 8 (top) to 188 (bottom).
    def test_lines_have_their_points_and_gaps(self, plain):
        line = Line(x=np.array([0.0, 5.0, 10.0]), y=np.array([0.0, 0.5, 1.0]), tint=Tint("m3"))
        (path,) = elements(plain(line), "path")
        assert path.get("d") == "M38.00,188.00 170.00,98.00 302.00,8.00"
        assert path.get("class") == "s-m3"
        x = np.array([0.0, 5.0, np.nan, 5.0, 10.0, np.nan])
        (path,) = elements(plain(Line(x=x, y=np.zeros(6), tint=Tint("ink"))), "path")
        assert path.get("d") == "M38.00,188.00 170.00,188.00M170.00,188.00 302.00,188.00"
        nothing = np.full(3, np.nan)
        picture = plain(
            Line(x=nothing, y=nothing, tint=Tint("ink")),
            Dots(x=nothing, y=nothing, tints=Tint("ink"), size=8),
        )
        assert not elements(picture, "path")
        assert not elements(picture, "circle")

    def test_axes_and_what_is_beyond_them(self, plain):
        x = Axis(span=(0.01, 100.0), log=True)
        dot = Dots(x=np.array([1.0]), y=np.array([1.0]), tints=Tint("ink"), size=8)
        (circle,) = elements(plain(dot, x=x), "circle")
        assert (circle.get("cx"), circle.get("cy"), circle.get("r")) == ("170", "8", "3")
        band = Band(
            at=np.array([0.0, 10.0]), low=np.zeros(2), high=np.full(2, 7.0), tint=Tint("quiet", 0.3)
        )
        (shape,) = elements(plain(band), "polygon")
        assert shape.get("points") == "38.00,8.00 302.00,8.00 302.00,188.00 38.00,188.00"
        assert shape.get("fill-opacity") == "0.3"
        rules = [Rule(at=value, tint=Tint("ink")) for value in (5.0, 11.0)]
        drawn = [line for line in elements(plain(*rules), "line") if line.get("class") != "grid"]
        assert [line.get("x1") for line in drawn] == ["170"]

    @pytest.mark.parametrize("sideways", [False, True])
    def test_bars_reach_from_zero_to_their_value(self, plain, sideways):
        place, length = np.array([2.0, 6.0]), np.array([1.0, -1.0])
        tints = [Tint("over"), Tint("under", 0.5)]
        bars = Bars(center=place, width=2.0, length=length, tints=tints, sideways=sideways)
        along, value = Axis(span=(0.0, 10.0)), Axis(span=(-1.0, 1.0))
        x, y = (value, along) if sideways else (along, value)
        over, under = elements(plain(bars, x=x, y=y), "rect")
        wanted = [("64.4", "8", "52.8", "90"), ("170", "98", "52.8", "90")]
        if sideways:
            wanted = [("170", "134", "132", "36"), ("38", "62", "132", "36")]
        sides = ("x", "y", "width", "height")
        assert [tuple(map(bar.get, sides)) for bar in (over, under)] == wanted
        assert under.get("fill-opacity") == "0.5"

    def test_details_are_left_out(self, plain):
        line = Line(x=np.zeros(2), y=np.zeros(2), tint=Tint("m1"))
        picture = plain(line, replace(line, tint=Tint("m2"), detail=True))
        assert "s-m1" in kinds(picture)
        assert "s-m2" not in kinds(picture)
        dots = Dots(x=np.array([-2.0, 3.0]), y=np.zeros(2), tints=Tint("ink"), size=8)
        picture = plain(dots, Rule(at=8.0, tint=Tint("ink")), x=Axis())
        places = [float(item.get("cx")) for item in elements(picture, "circle")]
        assert 38 < places[0] < places[1] < 302
        said = [item.text for item in elements(picture, "text")]
        assert "8" in said or "7.5" in said
        assert "−2" in said or "−2.5" in said


class TestFigures:
    @pytest.fixture
    def pictures(self, dataset, points, table, errors, field, curves):
        c, a = dataset.confidence, dataset.outcome
        groups = pd.Series(np.where(points[:, 0] > 0, "<b>x</b> & co", "y"))
        reports = {"LoRe": group_report(c, a, groups)}
        null = null_band(c, points, n_bins=5, n_draws=10)
        rewards = {
            "a & b": reward_curve(c, a, baseline=c),
            "<i>": reward_curve(c**2, a, baseline=c),
        }
        ranked = pd.DataFrame(
            {"value": [0.3, 0.4], "low": [0.2, np.nan], "high": [0.35, np.nan]}, index=["<i>", "b"]
        )
        outline = rows_outline(points, points[:, 0] > 0.5)
        return {
            "reliability": reliability_figure(table, rows=""),
            "points": reliability_points(table, rows=""),
            "curves": bandwidth_figure(curves, rows="", null=("one & only", null)),
            "cdf": cdf_figure({"a & b": errors.absolute}, rows="", global_error=0.1),
            "rewards": reward_figure(rewards, rows="", baseline="a & b", ratio=10.0),
            "groups": group_figure(reports, rows=""),
            "gaps": group_figure(reports, rows="", by_sign=True),
            "ranking": ranking_picture(ranked, CATALOGUE["NLL"], rows=""),
            "landscape": landscape_figure(
                field, points, n_total=300, limit=0.3, rows="<b>", found=[("1", outline)]
            ),
        }

    def test_are_whole_load_nothing_and_need_no_page(self, pictures):
        for name, picture in pictures.items():
            made = root(picture)
            assert made.get("aria-label") == picture.alt, name
            assert made.get("width") == "84mm"
            assert made.get("viewBox").startswith(f"0 0 {WIDTH} ")
            assert len(list(made)) > 5
        for picture in pictures.values():
            text = drawing(picture).file().decode()
            assert set(re.findall(r"https?://[^\"' <]+", text)) == {"http://www.w3.org/2000/svg"}
            assert not re.search(r'href="(?!data:)', text)
            assert "var(" not in text
            assert drawing(picture).file() == drawing(picture).file()
        known = {f"{side}-{name}" for side in "sf" for name in palette("light")}
        known |= {"mid", "end", "beside", "grid", "drawing", "paper"}
        for picture in pictures.values():
            assert {word for kind in kinds(picture) for word in kind.split()} <= known
        said = [item.text for item in elements(pictures["groups"], "text")]
        assert any(text.startswith("<b>x</b> & co") for text in said)
        assert elements(pictures["ranking"], "text")[-3].text in ("<i>", "b", "NLL, nats")

    def test_points_lie_at_what_was_promised_and_got(self, pictures, table):
        full = np.flatnonzero(table.count)
        circles = elements(pictures["points"], "circle")
        assert len(circles) == len(full)
        left, right = ends = 43, WIDTH - 16
        assert {float(line.get("x1")) for line in elements(pictures["points"], "line")} >= {*ends}
        for circle, k in zip(circles, full, strict=True):
            assert float(circle.get("cx")) == pytest.approx(
                left + (right - left) * table.confidence[k], abs=0.01
            )
            assert float(circle.get("cy")) == pytest.approx(
                188 - 180 / 1.02 * table.accuracy[k], abs=0.01
            )
            over = table.confidence[k] > table.accuracy_high[k]
            under = table.confidence[k] < table.accuracy_low[k]
            side = "over" if over else "under" if under else "quiet"
            assert circle.get("class") == f"f-{side}"
            assert f"{table.count[k]:,} rows" in circle.find(f"{NAME}title").text


def test_pictures_and_drawings_need_no_plotly():
    code = """
import sys
sys.modules["plotly"] = None
from lore_core import reliability_table
from lore_core.figures import reliability_figure
from lore_core.figures.svg import drawing
chart = reliability_figure(reliability_table([0.9, 0.6], [1, 0]), rows="2 rows")
assert b"<svg" in drawing(chart).file()
assert len(chart.table) and chart.alt and chart.how_to_read
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("shape", [(5, 7), (5, 7, 3), (4, 2, 4)])
@pytest.mark.parametrize("step", [1, 2])
def test_pixels_come_back(shape, step):
    pixels = np.random.default_rng(0).integers(0, 255, shape, dtype=np.uint8)[::step]
    content = base64.b64decode(png_url(pixels).partition(",")[2])
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(content))), pixels)
