import dataclasses

import numpy as np
import pandas as pd
import pytest

from lore_core.figures import landscape_3d_figure, landscape_figure, shared_limit, surface_figure
from lore_core.figures.pictures.landscape import row_colors, shifts
from lore_core.figures.pictures.landscape_picture import MapDots, segments
from lore_core.figures.style import (
    METHOD_COLORS,
    NEUTRAL,
    PAPER,
    channels,
    diverging,
    sequential,
    shades,
)
from lore_core.regions import (
    Selection,
    drawn_rows,
    row_table,
    rows_outline,
    smoothed_field,
    worst_rows,
)

COMMON = {"limit": 0.3, "rows": "300 rows", "n_total": 300}


@pytest.fixture
def drawn(dataset, errors):
    worst = worst_rows(errors, n_rows=20)
    return row_table(dataset, drawn_rows(np.ones(len(dataset), bool), worst, 120), errors)


def by_name(chart):
    return {trace.name: trace for trace in chart.figure.data}


def scale(trace):
    return [(pair[0], pair[1]) for pair in trace.colorscale]


class TestRaster:
    def test_shows_the_field(self, field, points):
        chart = landscape_figure(field, points, **COMMON)
        raster = by_name(chart)["field"]
        np.testing.assert_allclose(raster.z, field.signed * 100, rtol=1e-6)
        np.testing.assert_array_equal(raster.x, field.x.astype(np.float32))
        np.testing.assert_array_equal(raster.y, field.y.astype(np.float32))
        np.testing.assert_array_equal(
            raster.customdata, np.round(field.effective_size).astype(np.float32)
        )
        assert np.isnan(raster.z).any(), "the fixture has nodes with too few neighbours"
        for array in (raster.x, raster.y, raster.z, raster.customdata):
            assert array.dtype == np.float32
        assert chart.figure.layout.yaxis.scaleanchor == "x", "both axes have one scale"

    def test_absolute_values(self, field, points, dataset):
        raster = by_name(landscape_figure(field, points, value="absolute", **COMMON))["field"]
        np.testing.assert_allclose(raster.z, np.abs(field.signed) * 100, rtol=1e-6)
        assert (raster.zmin, raster.zmax) == (0.0, 30)
        assert list(raster.colorbar.ticktext) == ["0", "15", "30"]
        assert scale(raster) == sequential("light")
        nothing = np.full(len(dataset), np.nan)
        empty = smoothed_field(nothing, np.zeros(len(dataset)), points, resolution=10)
        limit = shared_limit(nothing)
        chart = landscape_figure(empty, points, limit=limit, rows="", n_total=300)
        assert np.isnan(by_name(chart)["field"].z).all()
        assert chart.table.empty
        chart.figure.to_json()

    def test_the_table_holds_every_pixel(self, field, points):
        table = landscape_figure(field, points, **COMMON).table
        assert len(table) == np.isfinite(field.signed).sum()
        back = np.full(field.signed.shape, np.nan)
        column = np.searchsorted(field.x, table["map_1"])
        row = np.searchsorted(field.y, table["map_2"])
        back[row, column] = table["signed_error"]
        np.testing.assert_array_equal(back, field.signed)
        np.testing.assert_array_equal(table["n_eff"], field.effective_size[row, column])

    @pytest.mark.parametrize("mode", ["light", "dark"])
    def test_zero_is_the_middle_of_a_symmetric_scale(self, field, points, drawn, mode):
        chart = landscape_figure(field, points, points=drawn, **COMMON)
        chart = dataclasses.replace(chart, mode=mode)
        raster, rows = by_name(chart)["field"], by_name(chart)["rows"]
        assert raster.zmin == -raster.zmax == -30
        low, lower, none, upper, high = raster.colorbar.ticktext
        assert (lower, none, upper) == ("−15", "0", "+15")
        assert (low[:3], high[:3]) == ("−30", "+30")
        assert (rows.marker.cmin, rows.marker.cmax) == (raster.zmin, raster.zmax)
        assert scale(raster) == scale(rows.marker) == diverging(mode)
        assert chart.figure.layout.paper_bgcolor == PAPER[mode]
        assert not rows.marker.showscale


class TestSharedLimit:
    @pytest.mark.parametrize(
        ("values", "limit"),
        [
            ([], 0.1),
            ([np.nan, np.inf], 0.1),
            ([0.0], 0.1),
            ([np.nan, 0.33], 0.4),
            ([0.61], 0.8),
            ([-1.0, 1.0], 1.0),
            (np.linspace(-0.4, 0.2, 1001), 0.4),  # nearly all, and no more than needed
        ],
    )
    def test_edges(self, values, limit):
        values = np.array(values)
        assert shared_limit(values) == shared_limit(-values, values / 2) == pytest.approx(limit)


class TestRows:
    def test_points_carry_their_row_and_error(self, points, drawn, errors):
        chart = landscape_figure(None, points, points=drawn, **COMMON)
        trace = by_name(chart)["rows"]
        rows = drawn["row"].to_numpy()
        np.testing.assert_array_equal(trace.customdata, rows)
        np.testing.assert_array_equal(trace.x, points[rows, 0].astype(np.float32))
        np.testing.assert_array_equal(trace.y, points[rows, 1].astype(np.float32))
        np.testing.assert_allclose(trace.marker.color, errors.signed[rows] * 100, rtol=1e-6)
        assert trace.marker.showscale
        assert "field" not in by_name(chart)
        expected = drawn.assign(map_1=points[rows, 0], map_2=points[rows, 1])
        pd.testing.assert_frame_equal(chart.table, expected)

    def test_rings_are_the_worst_rows(self, field, points, dataset, errors, drawn):
        worst = worst_rows(errors, n_rows=7, min_effective_size=5.0)
        table = row_table(dataset, worst, errors)
        chart = landscape_figure(field, points, worst=table, **COMMON)
        ring = by_name(chart)["worst rows"]
        np.testing.assert_array_equal(ring.customdata, worst)
        np.testing.assert_array_equal(ring.x, points[worst, 0].astype(np.float32))
        subtitle = landscape_figure(field, points, points=drawn, **COMMON).figure.layout.title
        assert "120 of 300 rows drawn" in subtitle.subtitle.text
        subtitle = landscape_figure(field, points, **COMMON).figure.layout.title
        assert subtitle.subtitle.text == "300 rows"

    def test_what_print_makes_pale_or_rings_is_so_in_html(self, field, points, drawn):
        chart = landscape_figure(field, points, points=drawn, **COMMON)
        inside = rows_outline(points, points[:, 0] > 0)
        dots = (MapDots("#123456", points[:9]),)
        look = {"vivid": inside, "dots": dots, "picked": tuple(points[5]), "strength": 0.5}
        chart = dataclasses.replace(chart, highlighted=chart.points, **look)
        traces = by_name(chart)
        veil = traces["in no significant subgroup"]
        np.testing.assert_array_equal(np.isnan(veil.z), inside.inside > 0.5)
        assert (traces["field"].opacity, veil.opacity) == (0.5, 1 - 0.38)
        assert len(traces["selected rows"].x) == len(drawn)
        rings = [trace for trace in chart.figure.data if trace.name is None]
        assert [len(ring.x) for ring in rings] == [9, 1]
        assert rings[0].marker.line.color == "#123456"

    def test_hover_says_what_was_promised_and_what_came(self, points, drawn, dataset, errors):
        texts = by_name(landscape_figure(None, points, points=drawn, **COMMON))["rows"].hovertext
        for text, record in zip(texts, drawn.to_dict("records"), strict=True):
            assert f"row {record['row']}</b>" in text
            assert f"confidence {record['confidence'] * 100:.1f} %" in text
            assert f"{record['signed_error'] * 100:+.1f} points".replace("-", "−") in text
            assert f"{record['n_eff']:.0f} effective neighbour" in text
            assert ("wrong" in text) != record["right"]
        table = row_table(dataset, np.arange(2), errors).assign(note="<" * 100)
        text = by_name(landscape_figure(None, points, points=table, **COMMON))["rows"].hovertext[0]
        assert f"note: {'&lt;' * 39}…" in text


def test_a_region_is_outlined_by_its_corners(field, points, dataset):
    drawn = Selection.from_text("+0,0_1,0_0.5,2;-0,0_1,0_0,1")
    shapes = landscape_figure(field, points, region=drawn, **COMMON).figure.layout.shapes
    assert [s.path for s in shapes] == ["M 0,0 L 1,0 L 0.5,2 Z", "M 0,0 L 1,0 L 0,1 Z"]
    assert [s.line.dash for s in shapes] == ["dash", "dot"]
    inside = points[:, 0] < np.median(points[:, 0])
    outline = rows_outline(points, inside)
    chart = landscape_figure(
        None, points, n_total=len(points), limit=0.2, rows="x", found=[("1", outline)]
    )
    (line,) = [trace for trace in chart.figure.data if trace.name == "region 1"]
    np.testing.assert_allclose(line.z, outline.inside, rtol=1e-6)
    (note,) = [note for note in chart.figure.layout.annotations if note.text == "1"]
    assert note.x <= np.median(points[:, 0]) + 0.3


def test_the_frame_fits_the_bulk_and_says_what_it_leaves_out(field, points):
    stray = np.vstack([points, [[90.0, 0.0]]])
    picture = landscape_figure(field, stray, **COMMON)
    (low, high), _ = picture.extent
    assert low < points[:, 0].min()
    assert points[:, 0].max() < high < 10
    assert picture.n_outside == 1
    assert "1 outside the frame" in picture.subtitle
    whole = landscape_figure(field, points, **COMMON).extent
    picture = landscape_figure(field, points, seen=(0.1, -0.2, 4.0), **COMMON)
    inside = np.ones(len(points), dtype=bool)
    for k, (share, (low, high)) in enumerate(zip((0.1, -0.2), whole, strict=True)):
        middle, quarter = (low + high) / 2 + share * (high - low), (high - low) / 4
        np.testing.assert_allclose(picture.extent[k], [middle - quarter / 2, middle + quarter / 2])
        inside &= np.abs(points[:, k] - middle) <= quarter / 2
    assert 0 < picture.n_outside == (~inside).sum()
    assert picture.subtitle.endswith(f"{picture.n_outside} outside the frame")


class Test3D:
    @pytest.mark.parametrize("mode", ["light", "dark"])
    @pytest.mark.parametrize("value", ["signed", "absolute"])
    def test_points_carry_their_row_and_error(self, points, drawn, errors, mode, value):
        space = np.column_stack([points, points.sum(axis=1)])
        chart = landscape_3d_figure(drawn, space, value=value, **COMMON)
        chart = dataclasses.replace(chart, mode=mode)
        trace, alone = chart.figure.data
        numbers = drawn["row"].to_numpy()
        known = errors.effective_size[numbers] >= 10
        rows = numbers[known]
        for axis, k in zip("xyz", range(3), strict=True):
            np.testing.assert_array_equal(trace[axis], space[rows, k].astype(np.float32))
        np.testing.assert_array_equal(trace.customdata, rows)
        np.testing.assert_array_equal(alone.customdata, numbers[~known])
        assert alone.marker.color == NEUTRAL[mode]
        signed = errors.signed[rows]
        shown = signed if value == "signed" else np.abs(signed)
        np.testing.assert_allclose(trace.marker.color, shown * 100, rtol=1e-6)
        assert trace.marker.cmax == 30
        assert trace.marker.cmin == (-30 if value == "signed" else 0.0)
        assert chart.figure.layout.scene.bgcolor == PAPER[mode]
        assert list(chart.table.columns[-3:]) == ["map_1", "map_2", "map_3"]


class TestSurface:
    @pytest.mark.parametrize("mode", ["light", "dark"])
    def test_height_and_colour_are_the_signed_error(self, field, mode):
        chart = dataclasses.replace(surface_figure(field, limit=0.3, rows="300 rows"), mode=mode)
        (sheet,) = chart.figure.data
        assert np.isnan(sheet.z).any()
        assert sheet.connectgaps is False
        np.testing.assert_allclose(sheet.z, field.signed * 100, rtol=1e-6)
        np.testing.assert_array_equal(sheet.surfacecolor, sheet.z)
        np.testing.assert_array_equal(sheet.x, field.x.astype(np.float32))
        np.testing.assert_array_equal(sheet.y, field.y.astype(np.float32))
        assert (sheet.cmin, sheet.cmax) == (-30, 30)
        assert scale(sheet) == diverging(mode)
        assert chart.figure.layout.scene.zaxis.range == (-30, 30)
        assert len(chart.table) == np.isfinite(field.signed).sum()
        chart = surface_figure(field, value="absolute", limit=0.3, rows="")
        (sheet,) = chart.figure.data
        np.testing.assert_allclose(sheet.z, np.abs(field.signed) * 100, rtol=1e-6)
        np.testing.assert_array_equal(sheet.surfacecolor, sheet.z)
        assert (sheet.cmin, sheet.cmax) == chart.figure.layout.scene.zaxis.range == (0, 30)


def test_lines_around_a_disc():
    x = np.linspace(-2, 2, 81)
    y = np.linspace(-3, 3, 121)
    height = 1.5 - np.hypot(*np.meshgrid(x, y))  # 0.5 at distance 1
    lines = segments(x, y, height)
    for ends in (lines[:, :2], lines[:, 2:]):
        np.testing.assert_allclose(np.hypot(*ends.T), 1.0, atol=2e-3)
    length = np.hypot(lines[:, 2] - lines[:, 0], lines[:, 3] - lines[:, 1]).sum()
    assert length == pytest.approx(2 * np.pi, rel=1e-3)
    x = np.array([0.0, 1.0, 2.0])
    lines = segments(x, x, np.ones((3, 3)))
    ends = np.round(np.concatenate([lines[:, :2], lines[:, 2:]]), 9)
    _, count = np.unique(ends, axis=0, return_counts=True)
    assert (count == 2).all()  # every end is where another piece goes on
    assert segments(x, x, np.zeros((3, 3))).shape == (0, 4)
    saddle = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert len(segments(x[:2], x[:2], saddle)) >= 4


def _overlaps(places, names, moved):
    half = [3.4 * len(name) + 4.0 for name in names]
    return [
        (a, b)
        for a in range(len(names))
        for b in range(a)
        if abs(places[a][0] - places[b][0]) < half[a] + half[b]
        and abs(places[a][1] + moved[a] - places[b][1] - moved[b]) < 18
    ]


def test_names_at_one_place_are_stacked():
    names = ["Shirt", "Pullover", "Coat", "T-shirt/top", "Dress"]
    moved = shifts(np.zeros((5, 2)), names)
    assert moved[0] == 0
    assert _overlaps(np.zeros((5, 2)), names, moved) == []
    moved = shifts(np.zeros((3, 2)), ["1", "2", "Bag"], n_fixed=2)
    assert moved.tolist()[:2] == [0, 0]
    assert abs(moved[2]) == 18


@pytest.mark.parametrize("seed", range(5))
def test_a_crowd(seed):
    rng = np.random.default_rng(seed)
    places, names = rng.uniform(0, 330, size=(10, 2)), ["name of it"] * 10
    before = len(_overlaps(places, names, np.zeros(10)))
    moved = shifts(places, names)
    assert len(_overlaps(places, names, moved)) == 0
    assert before or (moved == 0).all()
    assert np.abs(moved).max() <= 72


class TestColoursByAColumn:
    def test_numbers_lie_on_one_scale_and_outliers_at_its_ends(self):
        numbers = pd.Series([0.0, *np.linspace(10, 20, 998), 30.0, np.nan])
        colors = row_colors("age", numbers)
        places = colors.values
        assert np.isnan(places[-1])
        assert (places[0], places[-2]) == (0.0, 1.0)
        low, high = np.quantile(numbers.dropna(), [0.01, 0.99])
        np.testing.assert_allclose(places[1:-2], ((numbers[1:-2] - low) / (high - low)).clip(0, 1))
        assert [words for _, words in colors.ticks] == [
            f"{at:.3g}" for at in (low, (low + high) / 2, high)
        ]
        # Sizes of many orders of magnitude lie there by their logarithm.
        colors = row_colors("n", pd.Series(np.logspace(0, 4, 201)))
        assert colors.values[100] == pytest.approx(0.5)
        assert float(colors.ticks[1][1]) == pytest.approx(100, rel=0.05)

    def test_names_have_a_colour_each_and_the_rarest_share_grey(self):
        few = pd.Series(["b", "a", None, "a"])
        colors = row_colors("site", few)
        assert [words for _, words in colors.ticks] == ["a", "b"]
        np.testing.assert_array_equal(colors.values, [0.75, 0.25, np.nan, 0.25])
        shown = shades(colors.colors("light"), 256)
        at = [shown[round(255 * place)].tolist() for place in (0.25, 0.75)]
        assert at[0] != at[1]
        many = row_colors("id", pd.Series([f"{k:02d}" for k in range(20) for _ in range(20 - k)]))
        assert [words for _, words in many.ticks][-2:] == ["11", "others"]
        assert many.values[-1] == many.ticks[-1][0]
        assert shades(many.colors("dark"), 256)[-1].tolist() == list(
            channels(METHOD_COLORS["dark"][0])
        )

    def test_a_map_says_by_what_it_is_coloured_and_exports_it(self, drawn, points):
        values = np.linspace(0, 1, len(points))
        colors = row_colors("confidence", pd.Series(values))
        chart = landscape_figure(None, points, points=drawn, colors=colors, **COMMON)
        (dots,) = [trace for trace in chart.figure.data if trace.name == "rows"]
        np.testing.assert_allclose(
            dots.marker.color, 100 * colors.values[drawn["row"]], rtol=1e-5, atol=1e-5
        )
        assert chart.title == "confidence"
        assert dots.marker.colorbar.title.text == "confidence"
