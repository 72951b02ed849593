"""Charts in millimetres and points, on white."""

from __future__ import annotations

import json

import pytest

from lore_core import InputError
from lore_core.figures import bandwidth_figure, cdf_figure, landscape_figure, reliability_figure
from lore_core.figures.export import paper_chart, paper_scale
from lore_core.figures.style import PAPER


def _charts(mode, table, errors, field, curves, points):
    return [
        reliability_figure(table, rows="x", mode=mode),
        landscape_figure(field, points, n_total=300, limit=0.3, rows="x", mode=mode),
        cdf_figure({"a": errors.absolute, "b": errors.absolute}, rows="x", mode=mode),
        bandwidth_figure(curves, rows="x", gamma=0.2, mode=mode),
    ]


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


def test_dark_charts_become_what_light_ones_are(table, errors, field, curves, points):
    inputs = (table, errors, field, curves, points)
    for light, dark in zip(_charts("light", *inputs), _charts("dark", *inputs), strict=True):
        one, two = paper_chart(light).figure, paper_chart(dark).figure
        assert one.layout.paper_bgcolor == PAPER["light"]
        assert json.loads(one.to_json()) == json.loads(two.to_json())


def test_numbers_and_the_original_stay(table):
    chart = reliability_figure(table, rows="x")
    before = chart.figure.to_json()
    printed = paper_chart(chart)
    assert chart.figure.to_json() == before
    assert printed.table is chart.table
    for one, two in zip(
        *(json.loads(item.figure.to_json())["data"] for item in (printed, chart)), strict=True
    ):
        assert one["y"] == two["y"]
    dots = [
        [trace for trace in item.figure.data if trace.type == "scatter" and trace.mode == "markers"]
        for item in (printed, chart)
    ]
    sizes = [[trace.marker.size for trace in traces] for traces in dots]
    assert sizes[1]
    assert all(0.5 < small / large < 1 for small, large in zip(*sizes, strict=True))


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
