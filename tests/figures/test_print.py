import base64
import io
import re
import subprocess
import sys
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from pypdf import PdfReader

from lore_core import InputError
from lore_core.figures import cdf_figure, exported, reliability_figure, side_by_side
from lore_core.figures.chart import Seen
from lore_core.figures.drawing import (
    Area,
    Disc,
    Drawing,
    Part,
    Pixels,
    Stroke,
    Words,
    beside,
    page_rules,
    png_url,
    text_width,
)
from lore_core.figures.export import latex, markdown
from lore_core.figures.pictures.landscape_picture import Camera
from lore_core.figures.pictures.picture import Axis, Band, Bars, Dots, Line, Panel, Rule, Tint
from lore_core.figures.style import palette

ON_MAPS = ["landscape", "rows", "3-D", "surface"]
OVER_AXES = ["reliability", "cdf", "bandwidth", "suggestion", "groups", "rewards", "runs"]
KINDS = [*ON_MAPS, *OVER_AXES, "scatter", "number", "names", "grid"]
WIDTHS = [84.0, 174.0]
RAMP = np.array([0.0, 5.0, 10.0])


def every(items, right=0.0, down=0.0):
    """Items and those of parts, with words where they stand."""
    for item in items:
        if isinstance(item, Part):
            yield from every(item.items, right + item.x, down + item.y)
        elif isinstance(item, Words):
            yield replace(item, x=item.x + right, y=item.y + down)
        else:
            yield item


def of_kind(drawing, kind):
    return [item for item in every(drawing.items) if isinstance(item, kind)]


def box_of(words, drawing):
    """Left, top, right and bottom of a text."""
    size, wide = drawing.type_size, drawing.text_width(words.text, bold=words.bold)
    start = {"start": 0.0, "middle": -wide / 2, "end": -wide}[words.anchor]
    if words.upright:
        return words.x - size, words.y - start - wide, words.x, words.y - start
    left = words.x + start
    return left, words.y - 0.75 * size, left + wide, words.y + 0.2 * size


@pytest.fixture
def plain(table):
    x, y = Axis(span=(0.0, 10.0)), Axis(span=(0.0, 1.0))

    def of(*marks, x=x, y=y):
        return replace(reliability_figure(table, rows=""), panels=(Panel(x, y, marks),))

    return of


def framed(drawing):
    """Turn places of a drawing into shares of its frame, by the grid lines at both ends."""
    grid = np.concatenate(
        [
            piece
            for item in of_kind(drawing, Stroke)
            if item.color == "line"
            for piece in item.pieces
        ]
    )
    (left, top), (right, bottom) = grid.min(axis=0), grid.max(axis=0)
    return lambda points: (np.asarray(points) - [left, bottom]) / [right - left, top - bottom]


def own(drawing, kind):
    return [item for item in of_kind(drawing, kind) if item.color != "line"]


class TestPlaces:
    def test_lines_have_their_points_steps_and_gaps(self, plain):
        drawing = plain(Line(RAMP, np.array([0.0, 0.5, 1.0]), Tint("m3"))).drawing()
        (line,) = own(drawing, Stroke)
        (piece,) = line.pieces
        np.testing.assert_allclose(framed(drawing)(piece), [[0, 0], [0.5, 0.5], [1, 1]], atol=1e-9)
        x = np.array([0.0, 5.0, np.nan, 5.0, 10.0, np.nan])
        drawing = plain(Line(x, np.zeros(6), Tint("ink"))).drawing()
        (line,) = own(drawing, Stroke)
        assert [len(piece) for piece in line.pieces] == [2, 2]
        drawing = plain(Line(RAMP, np.array([0.0, 0.5, 1.0]), Tint("m3"), steps=True)).drawing()
        (line,) = own(drawing, Stroke)
        steps = [[0, 0], [0.5, 0], [0.5, 0.5], [1, 0.5], [1, 1]]
        np.testing.assert_allclose(framed(drawing)(line.pieces[0]), steps, atol=1e-9)
        nothing = np.full(3, np.nan)
        drawing = plain(
            Line(nothing, nothing, Tint("ink")), Dots(nothing, nothing, Tint("ink"), 8)
        ).drawing()
        assert not own(drawing, Stroke)
        assert not own(drawing, Disc)

    def test_axes_bands_and_what_is_beyond_them(self, plain):
        x = Axis(span=(0.01, 100.0), log=True)
        dot = Dots(np.array([1.0]), np.array([1.0]), Tint("ink"), 8)
        drawing = plain(dot, x=x).drawing()
        (disc,) = own(drawing, Disc)
        np.testing.assert_allclose(framed(drawing)((disc.x, disc.y)), [0.5, 1], atol=1e-9)
        band = Band(np.array([0.0, 10.0]), np.zeros(2), np.full(2, 7.0), Tint("quiet", 0.3))
        drawing = plain(band).drawing()
        (area,) = own(drawing, Area)
        corners = sorted(np.round(framed(drawing)(area.points), 9).tolist())
        assert corners == [[0, 0], [0, 7], [1, 0], [1, 7]]
        assert area.alpha == 0.3
        (part,) = [item for item in drawing.items if isinstance(item, Part) and area in item.items]
        assert part.box == drawing.frames[0]
        drawing = plain(*(Rule(at, Tint("ink")) for at in (5.0, 11.0))).drawing()
        (rule,) = own(drawing, Stroke)
        np.testing.assert_allclose(framed(drawing)(rule.pieces[0])[:, 0], 0.5)

    @pytest.mark.parametrize("sideways", [False, True])
    def test_bars_reach_from_zero_to_their_value_with_their_interval(self, plain, sideways):
        bars = Bars(
            np.array([2.0, 6.0]),
            2.0,
            np.array([1.0, -1.0]),
            [Tint("over"), Tint("under", 0.5)],
            low=np.array([0.5, np.nan]),
            high=np.array([1.0, np.nan]),
            sideways=sideways,
        )
        along, value = Axis(span=(0.0, 10.0)), Axis(span=(-1.0, 1.0))
        x, y = (value, along) if sideways else (along, value)
        drawing = plain(bars, x=x, y=y).drawing()
        over, under = (framed(drawing)(area.points) for area in own(drawing, Area))
        turned = slice(None, None, -1 if sideways else 1)
        ends = np.array([over.min(axis=0), over.max(axis=0), under.min(axis=0), under.max(axis=0)])
        wanted = [[0.1, 0.5], [0.3, 1.0], [0.5, 0.0], [0.7, 0.5]]
        np.testing.assert_allclose(ends[:, turned], wanted, atol=1e-9)
        (whisker,) = own(drawing, Stroke)
        (piece,) = framed(drawing)(whisker.pieces)
        np.testing.assert_allclose(piece[:, turned], [[0.2, 0.75], [0.2, 1.0]], atol=1e-9)

    def test_hidden_lines_are_left_out_and_ranges_are_as_seen(self, plain):
        line = Line(np.array([0.0, 10.0]), np.zeros(2), Tint("m1"), name="a & b", group="a & b")
        other = replace(line, tint=Tint("m2"), name="c", group="c")
        picture = plain(line, other)
        assert {"m1", "m2"} <= {item.color for item in of_kind(picture.drawing(), Stroke)}
        hidden = [k for k, trace in enumerate(picture.figure.data) if trace.name == "a &amp; b"]
        seen = Seen({"xaxis": (2.0, 4.0)}, frozenset(hidden[:1]))
        drawing = replace(picture, seen=seen).drawing()
        assert "m1" not in {item.color for item in of_kind(drawing, Stroke)}
        ticks = {words.text for words in of_kind(drawing, Words)}
        assert {"2", "4"} <= ticks or {"2.0", "4.0"} <= ticks

    def test_dots_ranges_and_shapes(self, plain):
        dots = Dots(np.array([-2.0, 3.0]), np.zeros(2), Tint("ink"), 8, spread=np.ones(2))
        drawing = plain(dots, Rule(8.0, Tint("ink")), x=Axis()).drawing()
        assert len(own(drawing, Disc)) == 2
        words = {words.text for words in of_kind(drawing, Words)}
        assert words & {"8", "7.5"}
        assert words & {"−2", "−2.5"}
        ring = replace(dots, shape="ring", spread=None)
        assert all(disc.ring for disc in own(plain(ring).drawing(), Disc))

    def test_a_name_is_cut_and_the_count_behind_it_is_not(self, plain):
        line = Line(RAMP, np.zeros(3), Tint("ink"))
        y = Axis(span=(-0.5, 0.5), ticks=((0.0, "a name of many letters (1,234)"),))
        texts = [words.text for words in of_kind(plain(line, y=y).drawing(width_mm=40), Words)]
        (name,) = [text for text in texts if text.startswith("a")]
        assert name.endswith("… (1,234)")

    def test_names_that_would_be_cut_alike_are_fewer(self, plain):
        names = [f"a day of the year {k}" for k in range(12)]
        x = Axis(span=(-0.5, 11.5), ticks=tuple((float(k), name) for k, name in enumerate(names)))
        drawing = plain(Line(RAMP, np.zeros(3), Tint("ink")), x=x).drawing()
        shown = [words.text for words in of_kind(drawing, Words) if words.text.startswith("a")]
        assert len(set(shown)) == len(shown) >= 1

    @pytest.mark.parametrize(("at", "anchor"), [(2.0, "start"), (8.0, "end")])
    def test_words_of_an_upright_rule_stand_where_there_is_room(self, plain, at, anchor):
        drawing = plain(Rule(at, Tint("ink"), text="γ = 0.2")).drawing()
        (words,) = [item for item in of_kind(drawing, Words) if item.text == "γ = 0.2"]
        (rule,) = own(drawing, Stroke)
        assert words.anchor == anchor
        assert words.x - rule.pieces[0][0, 0] == (-4 if anchor == "end" else 4)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_text_is_inside_and_on_no_other_text(charts, kind, width):
    drawing = charts[kind].drawing(width_mm=width)
    words = of_kind(drawing, Words)
    boxes = np.array([box_of(item, drawing) for item in words])
    assert (boxes[:, :2] >= -0.5).all(), [w.text for w in words]
    assert (boxes[:, 2] <= drawing.width + 0.5).all()
    assert (boxes[:, 3] <= drawing.height + 0.5).all()
    free = [k for k, item in enumerate(words) if not item.on]  # (a halo parts names on a map)
    for k in free:
        for other in free[: free.index(k)]:
            (a, b, c, d), (e, f, g, h) = boxes[k], boxes[other]
            apart = c <= e or g <= a or d <= f or h <= b
            assert apart, (words[k].text, words[other].text)


@pytest.mark.parametrize("kind", KINDS)
def test_files_are_whole_load_nothing_and_hold_their_text(charts, kind):
    chart = charts[kind]
    svg = exported(chart, "svg")
    root = ElementTree.fromstring(svg)
    assert root.get("aria-label") == chart.alt
    assert root.get("width") == "84mm"
    text = svg.decode()
    assert set(re.findall(r"https?://[^\"' <]+", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r'href="(?!data:)|var\(', text)
    assert exported(chart, "svg") == svg
    pdf = exported(chart, "pdf")
    assert exported(chart, "pdf") == pdf
    assert len(pdf) < 300_000
    image = Image.open(io.BytesIO(exported(chart, "png", dpi=150)))
    assert image.width == pytest.approx(84 / 25.4 * 150, abs=1)
    assert len(image.convert("L").getcolors()) > 20


def test_dark_charts_are_printed_as_light_ones(charts):
    for chart in charts.values():
        assert exported(replace(chart, mode="dark"), "svg") == exported(chart, "svg")


def test_html_of_a_page_takes_its_colours(charts):
    text = charts["cdf"].drawing().__html__()
    named = set(re.findall(r"var\(--([\w-]+)\)", text))
    assert named
    assert named <= set(palette("light"))
    for mode in ("light", "dark"):
        assert all(f"--{name}: {palette(mode)[name]};" in page_rules() for name in named)


def test_a_map_in_the_frame_that_is_seen(field, points):
    from lore_core.figures import landscape_figure

    known = {"n_total": 300, "limit": 0.3, "rows": ""}
    whole, part = (
        landscape_figure(field, points, seen=seen, **known) for seen in (None, (0.0, 0.0, 4.0))
    )
    drawings = [picture.drawing() for picture in (whole, part)]
    (raster, *_), (near, *_) = (of_kind(drawing, Pixels) for drawing in drawings)
    assert raster.values.shape[2] == 4
    dpi = raster.values.shape[1] / raster.width * 96
    assert dpi == pytest.approx(300, rel=0.01)
    # The middle is the same node of the field, drawn four times as large.
    middle = tuple(side // 2 for side in raster.values.shape[:2])
    row, column = (
        int(np.argmin(np.abs(nodes - np.mean(ends))))
        for nodes, ends in ((field.y, whole.extent[1]), (field.x, whole.extent[0]))
    )
    known = np.isfinite(field.signed[row, column])
    assert bool(raster.values[(*middle, 3)]) == bool(near.values[(*middle, 3)]) == known
    edges = [
        np.count_nonzero(np.diff(item.values[middle[0], :, 0].astype(int)))
        for item in (raster, near)
    ]
    assert edges[1] < edges[0]


def test_what_is_outside_significant_subgroups_is_paler(field, points):
    from lore_core.figures import landscape_figure
    from lore_core.regions.field import Outline

    picture = landscape_figure(field, points, n_total=300, limit=0.3, rows="")
    left = np.tile(field.x < np.median(field.x), (len(field.y), 1)).astype(float)
    pale = replace(picture, vivid=Outline(field.x, field.y, left))
    before, after = (of_kind(item.drawing(), Pixels)[0].values[..., 3] for item in (picture, pale))
    is_left = np.arange(before.shape[1]) < before.shape[1] * 0.3
    np.testing.assert_array_equal(after[:, is_left], before[:, is_left])
    is_right = np.arange(before.shape[1]) > before.shape[1] * 0.7
    assert (before[:, is_right] == 255).any()
    assert set(np.unique(after[:, is_right])) <= {0, round(255 * 0.38), int(255 * 0.38)}


def test_space_is_seen_by_the_camera(charts):
    chart = charts["3-D"]
    drawings = {}
    for name, camera in {"top": Camera(-90, 90), "front": Camera(-90, 0)}.items():
        drawings[name] = replace(chart, camera=camera).drawing()
    assert len({drawing.svg() for drawing in drawings.values()}) == 2
    eye = {"eye": {"x": 0.0, "y": -2.0, "z": 0.0}, "center": {"x": 0.0, "y": 0.0, "z": 0.0}}
    seen = Camera.of_plotly(eye)
    np.testing.assert_allclose([seen.round, seen.above], [-90, 0], atol=1e-9)
    np.testing.assert_allclose(seen.axes[2], [0, -1, 0], atol=1e-12)


def test_panels_beside_each_other_have_letters(charts):
    one, two = charts["cdf"].drawing(width_mm=60), charts["reliability"].drawing(width_mm=60)
    both = beside([one, two], 2, "both")
    assert both.width == pytest.approx(2 * one.width + one.type_size)
    letters = [words for words in of_kind(both, Words) if words.bold]
    assert [words.text for words in letters] == ["(a)", "(b)"]
    assert letters[1].x == pytest.approx(one.width + one.type_size)
    assert len([*every(both.items)]) == sum(len([*every(of.items)]) for of in (one, two)) + 2


def test_charts_side_by_side_are_as_tall_and_have_their_names(charts, tmp_path):
    shown = {"before": charts["cdf"], "after": charts["landscape"]}
    drawing = side_by_side(shown, width_mm=174)
    assert drawing.width == pytest.approx(174 / 25.4 * 96)
    bold = [words.text for words in of_kind(drawing, Words) if words.bold]
    assert bold[:2] == ["(a)", "(b)"] or {"(a)", "(b)"} <= set(bold)
    assert {"before", "after"} <= {words.text for words in of_kind(drawing, Words)}
    for ending, start in (("svg", b"<svg"), ("pdf", b"%PDF"), ("png", b"\x89PNG")):
        drawing.save(tmp_path / f"x.{ending}")
        assert (tmp_path / f"x.{ending}").read_bytes().startswith(start)
    assert side_by_side([*shown.values()] * 2, n_columns=2).height > 1.9 * drawing.height
    with pytest.raises(InputError, match="'charts' must be 1 to 26 charts; got 0"):
        side_by_side([])
    with pytest.raises(InputError, match="a drawing is written as svg, pdf, png; got 'bmp'"):
        drawing.save(tmp_path / "x.bmp")


def test_signs_differ_without_colours(charts):
    """Contours stand on the map and on its scale, those of one sign broken."""
    chart = charts["landscape"]
    (over, is_whole), (under, is_broken) = chart.scale.contours
    assert over == -under == chart.scale.limit / 4
    assert is_whole
    assert not is_broken
    assert len(chart.contour(over)) > 0
    marks = [item for item in of_kind(chart.drawing(), Stroke) if item.width == 0.8]
    assert {"solid", "dot"} <= {item.dash for item in marks}


def test_several_methods_differ_without_colours(plain):
    """Each has dashes of its own, two only their shades of grey; a solid one is the first."""
    lines = [Line(RAMP, RAMP / 10, Tint(f"m{k}"), name=f"{k}") for k in range(17)]
    drawn = [item.dashes for item in own(plain(*lines).drawing(), Stroke)]
    assert drawn[0] == []
    assert len({tuple(dashes) for dashes in drawn}) == len(drawn) == 17
    assert all(not item.dashes for item in own(plain(*lines[:2]).drawing(), Stroke))


def test_text_is_as_wide_as_its_letters():
    assert text_width("", 10) == 0
    assert text_width("aa", 10) == pytest.approx(2 * text_width("a", 10), rel=0.01)
    assert text_width("a", 20) == pytest.approx(2 * text_width("a", 10))
    assert text_width("a", 10, bold=True) > text_width("a", 10)
    # The width of an em in Source Sans 3: "m" has 829 of 1000 units.
    assert text_width("m", 1000) == pytest.approx(829, abs=15)


def test_saving_by_the_ending(charts, tmp_path):
    chart = charts["cdf"]
    for ending, start in (
        ("svg", b"<svg"),
        ("pdf", b"%PDF"),
        ("png", b"\x89PNG"),
        ("csv", b"method"),
    ):
        chart.save(tmp_path / f"x.{ending}", width_mm=100)
        assert (tmp_path / f"x.{ending}").read_bytes().startswith(start)
    assert ElementTree.fromstring((tmp_path / "x.svg").read_bytes()).get("width") == "100mm"
    with pytest.raises(InputError, match=r"written as svg, pdf, png.*; got 'bmp'"):
        chart.save(tmp_path / "x.bmp")


def test_sizes_are_those_asked_for(table):
    chart = reliability_figure(table, rows="x")
    drawing = chart.drawing(width_mm=84, height_mm=100, font_pt=9)
    assert drawing.width == pytest.approx(84 / 25.4 * 96)
    assert drawing.height == pytest.approx(100 / 25.4 * 96, rel=0.01)
    assert drawing.type_size == pytest.approx(12)
    for options, message in (
        ({"width_mm": 5}, "'width_mm' must lie between 30 and 500 mm"),
        ({"height_mm": 900}, "'height_mm' must lie between 20 and 500 mm"),
        ({"font_pt": 40}, "'font_pt' must lie between 4 and 24 points"),
    ):
        with pytest.raises(InputError, match=message):
            chart.drawing(**options)


def test_captions_for_latex_and_markdown(errors):
    chart = cdf_figure({"a_b & 5 %": errors.absolute}, rows="300 rows, γ = 0.2")
    tex = latex(chart, "x.pdf", 84)
    assert r"\includegraphics[width=84mm]{x.pdf}" in tex
    assert r"$\gamma$ = 0.2" in tex
    assert not re.search(r"(?<!\\)[%&#_]", tex.split("\\caption")[1])
    assert chart.caption in markdown(chart, "x.svg")
    assert "300 rows" in chart.caption


def test_pictures_and_drawings_need_no_plotly_and_no_browser():
    code = """
import sys
for name in ("plotly", "kaleido", "playwright"):
    sys.modules[name] = None
from lore_core import reliability_table
from lore_core.figures import exported, reliability_figure
chart = reliability_figure(reliability_table([0.9, 0.6], [1, 0]), rows="2 rows")
for kind in ("svg", "pdf", "png", "csv"):
    assert len(exported(chart, kind)) > 50
assert chart.alt and chart.how_to_read
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("shape", [(5, 7), (5, 7, 3), (4, 2, 4)])
@pytest.mark.parametrize("step", [1, 2])
def test_pixels_come_back(shape, step):
    pixels = np.random.default_rng(0).integers(0, 255, shape, dtype=np.uint8)[::step]
    content = base64.b64decode(png_url(pixels).partition(",")[2])
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(content))), pixels)


def test_a_png_shows_what_is_drawn_and_no_more_of_a_part_than_its_box():
    drawing = Drawing(96, 48, "boxes", type_size=10)
    left = np.array([[0, 0], [48, 0], [48, 48], [0, 48]], dtype=float)
    drawing.add(Area(left, "over"), Area(left + np.array([48, 0]), "under"))
    outer = Drawing(192, 48, "two", type_size=10)
    outer.add_inside((24.0, 12.0, 36.0, 36.0), Area(left, "ink"))
    outer.place(drawing, 96, 0)
    picture = Image.open(io.BytesIO(outer.png(96)))
    assert picture.info["dpi"] == pytest.approx((96, 96), abs=0.02)
    image = np.asarray(picture)
    assert image.shape == (48, 192, 3)
    shown = (106, 20, "over"), (176, 20, "under"), (26, 14, "ink"), (34, 34, "ink")
    for x, y, name in (*shown, (22, 20, "paper"), (30, 10, "paper"), (38, 20, "paper")):
        assert "#" + image[y, x].tobytes().hex() == palette("light")[name]


@pytest.mark.parametrize(
    ("text", "font"), [("置信度 80 %", "STSong"), ("しんらい", "Heisei"), ("신뢰도", "HYGothic")]
)
def test_letters_of_asia_are_in_fonts_of_the_reader(text, font):
    drawing = Drawing(96, 48, "words", type_size=10)
    drawing.add(Words(text, 5, 20), Words("γ = 0.2", 5, 40))
    (page,) = PdfReader(io.BytesIO(drawing.pdf())).pages
    names = {str(of["/BaseFont"]) for of in page["/Resources"]["/Font"].values()}
    assert any(font in name for name in names)
    assert any("SourceSans3" in name for name in names)


@pytest.mark.parametrize("kind", KINDS)
def test_a_pdf_holds_its_text_as_text_in_fonts_of_its_own(charts, kind):
    drawing = charts[kind].drawing(width_mm=120)
    (page,) = PdfReader(io.BytesIO(drawing.pdf())).pages
    text = re.sub(r"\s", "", page.extract_text())
    for words in of_kind(drawing, Words):
        assert re.sub(r"\s", "", words.text) in text
    fonts = page["/Resources"]["/Font"].values()
    assert all("/FontFile2" in font["/FontDescriptor"] for font in fonts)
    assert page["/MediaBox"][2] == pytest.approx(120 / 25.4 * 72, abs=0.01)
    assert page["/MediaBox"][3] == pytest.approx(drawing.height * 0.75, abs=0.01)
