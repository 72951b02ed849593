import re
import sys
from types import ModuleType

import plotly.graph_objects as go
import pytest

from lore_core.figures import chart as charts, reliability_figure


@pytest.fixture
def chart(table):
    return reliability_figure(table, rows="300 rows")


@pytest.fixture
def displayed(monkeypatch):
    shown = []
    display = ModuleType("IPython.display")
    display.display = lambda data, raw: shown.append(data if raw else None)
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setattr(go.Figure, "show", lambda figure, **rest: shown.append(figure))
    return shown


def test_in_a_notebook(chart, displayed, monkeypatch):
    monkeypatch.setattr(charts, "find_spec", lambda name: object())
    chart._ipython_display_()
    figure, caption = displayed
    assert figure is chart.figure
    assert caption["text/markdown"] == chart.how_to_read


def test_where_plotly_cannot_show_it_there_is_html(chart, displayed, monkeypatch):
    monkeypatch.setattr(charts, "find_spec", lambda name: None)
    chart._ipython_display_()
    (shown,) = displayed
    assert _without_ids(shown["text/html"]) == _without_ids(chart._repr_html_())
    assert shown["text/plain"] == chart.alt


def test_html_needs_no_network(chart):
    html = chart._repr_html_()
    assert "Plotly.newPlot(" in html
    assert "<script src=" not in html
    assert html.endswith(f"<p>{chart.how_to_read}</p>")
    assert "<" not in chart.how_to_read  # else the line above would be another test


def _without_ids(html: str) -> str:
    # Plotly numbers each drawing afresh, so that one figure shown twice on a page is two.
    return re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "id", html)
