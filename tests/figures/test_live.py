import json
import re
import sys
from importlib.resources import files
from types import ModuleType

import numpy as np
import plotly.io as pio
import pytest

import lore_core as lore
from lore_core.figures import reliability_figure
from lore_core.figures.browser import landscape_script
from lore_core.figures.browser.landscape import pack, packed_errors, packed_field
from lore_core.regions import Selection


def packed_header(content):
    length = int.from_bytes(content[-4:], "little")
    return json.loads(content[-4 - length : -4])


def test_what_is_packed_comes_back(field):
    header, arrays = packed_field(field)
    near = np.isfinite(field.effective_size)
    np.testing.assert_array_equal(arrays["support"] > 0, near)
    codes = arrays["support"][near] - 1.0
    back = np.expm1(codes / 254 * header["logSupport"])
    np.testing.assert_allclose(back, field.effective_size[near], rtol=0.03, atol=0.05)
    size = np.array([9.999, 10.0, 1.0, 500.0])
    header, arrays = packed_errors(np.zeros(4), size)
    np.testing.assert_array_equal(arrays["rowSupport"] >= header["rowLeast"], size >= 10)
    sent = {"odd": np.array([1, 2, 3], np.uint8), "wide": np.array([0.5, -1.5], np.float32)}
    content = pack({"name": "é"}, sent)
    header = packed_header(content)
    assert header["name"] == "é"
    assert header["arrays"] == {"odd": ["u1", 0, 3], "wide": ["f4", 8, 2]}
    np.testing.assert_array_equal(np.frombuffer(content, "<f4", 2, 8), sent["wide"])


@pytest.mark.parametrize("last", ["page", "notebook"])
def test_the_script_is_one_scope_of_all_files_without_clashes(last):
    script = landscape_script("still", last)
    names = re.findall(r"^(?:async )?(?:function\*?|const|let|class) (\w+)", script, re.M)
    assert len(names) == len(set(names)) > 50
    assert not re.search(r"^import ", script, re.M)
    others = {"page.js", "notebook.js"} - {f"{last}.js"}
    for file in files("lore_core.figures.browser").iterdir():
        if file.name.endswith(".js") and file.name not in others:
            assert file.read_text(encoding="utf-8") in script, file.name


class TestSelection:
    def test_each_part_adds_or_takes_away(self):
        square = lore.Region((0.0, 2.0, 2.0, 0.0), (0.0, 0.0, 2.0, 2.0))
        selection = Selection(((1, square), (-1, lore.Region.box([1, 3], [1, 3]))))
        points = [(0.5, 0.5), (1.5, 1.5), (1.5, 0.5), (2.5, 2.5)]
        assert selection.contains(points).tolist() == [True, False, True, False]
        assert Selection.from_text(selection.text) == selection
        assert Selection.from_text("") == Selection()

    def test_in_space_it_holds_all_that_is_seen_inside(self):
        """Turned so that the region's plane is the floor, rows are those in its square."""
        turn, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))
        rows = np.random.default_rng(2).normal(size=(500, 3))
        right, up = (tuple(axis) for axis in turn[:, :2].T)
        square = lore.Region((-1.0, 0.5, 0.5, -1.0), (-0.5, -0.5, 1.0, 1.0), (right, up))
        selection = Selection(((1, square),))
        flat = (rows @ turn)[:, :2]
        inside = ((flat > [-1, -0.5]) & (flat < [0.5, 1])).all(axis=1)
        np.testing.assert_array_equal(selection.contains(rows), inside)
        assert 50 < inside.sum() < 450
        assert selection.fits(3)
        assert not selection.fits(2)
        with pytest.raises(lore.InputError, match="3-D map; got 2"):
            selection.contains(flat)
        kept = Selection.from_text(selection.text)
        np.testing.assert_allclose(kept.parts[0][1].axes, square.axes, rtol=1e-5)
        assert Selection.from_text(kept.text) == kept

    @pytest.mark.parametrize(
        "text", ["+1,2~1,2_3,4_5,6", "+1,2", "+1,2_3_4,5", "+a,b_c,d_e,f", "1"]
    )
    def test_other_text_is_none(self, text):
        with pytest.raises(lore.InputError, match="selection|region"):
            Selection.from_text(text)


def test_in_a_notebook_or_as_html(table, monkeypatch):
    displayed = []
    display = ModuleType("IPython.display")
    display.display = lambda data, raw: displayed.append(data if raw else None)
    shell = ModuleType("IPython")
    shell.get_ipython = lambda: None
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    chart = reliability_figure(table, rows="300 rows")
    plotly = "application/vnd.plotly.v1+json"
    monkeypatch.setattr(pio.renderers, "default", "plotly_mimetype")
    chart._ipython_display_()
    shown, caption = displayed
    assert len(shown[plotly]["data"]) == len(chart.figure.data)
    assert "image/png" not in shown, "it takes a tenth of a second and more"
    assert chart.drawing()._repr_png_().startswith(b"\x89PNG")
    assert shown["text/plain"] == chart.alt
    assert caption["text/markdown"] == chart.how_to_read
    monkeypatch.setattr(pio.renderers, "default", "")
    chart._ipython_display_()
    assert "Plotly.newPlot(" in displayed[2]["text/html"]
    html = chart._repr_html_()
    assert "Plotly.newPlot(" in html
    assert "<script src=" not in html
    assert html.endswith(f"<p>{chart.how_to_read}</p>")
    assert "<" not in chart.how_to_read  # else the line above would be another test


@pytest.fixture(scope="module")
def data():
    pytest.importorskip("anywidget")
    return lore.demo.synthetic(600).dataset


def test_the_widget_holds_every_row_and_selects_them(data):
    widget = lore.landscape(data, lore.embed(data.features, "identity"), gamma=0.4)
    (layer,) = widget.layers
    assert layer["name"] == "all confidences together"
    assert widget.gamma == 0.4
    places = np.frombuffer(widget.rows, "<f4", len(data.evaluation))
    z = lore.embed(data.features, "identity").coordinates[data.in_split("evaluation")]
    np.testing.assert_array_equal(places, z[:, 0].astype(np.float32))
    assert len(widget.selected_rows) == 0
    widget.selection = [{"sign": 1, "x": [0, 90, 90, 0], "y": [-90, -90, 90, 90]}]
    z = lore.embed(data.features, "identity").coordinates[data.in_split("evaluation")]
    np.testing.assert_array_equal(widget.selected_rows, np.flatnonzero(z[:, 0] > 0))
    with pytest.raises(lore.InputError, match="2 dimensions"):
        lore.landscape(data, lore.embed(data.features, "pca", 1))
