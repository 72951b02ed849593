import io
import json
import re
from dataclasses import replace

import pandas as pd
import pytest
from plotly.offline import get_plotlyjs_version

from lore_core.figures.export import chart_csv, chart_html, plot_config
from lore_core.figures.style import PAPER, escape
from tests.figures.test_print import KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_names_are_not_markup_and_csv_holds_the_numbers(charts, kind):
    strings = re.findall(r'"(?:[^"\\]|\\.)*"', charts[kind].figure.to_json())
    shown = "\n".join(map(json.loads, strings))
    assert not re.search(r"<script|<b>(x|LoRe<)|<i>|<u>", shown)
    assert "&lt;" in shown
    back = pd.read_csv(io.BytesIO(chart_csv(charts[kind])))
    assert len(back) > 0
    alike = {"check_dtype": False, "check_names": False, "rtol": 1e-14, "atol": 0}
    pd.testing.assert_frame_equal(back, charts[kind].table, **alike)


@pytest.mark.parametrize("kind", KINDS)
def test_html_opens_without_a_network_says_how_to_read_it_and_never_uploads(charts, kind):
    chart = charts[kind]
    page = chart_html(chart).decode()
    call = page.split("Plotly.newPlot")[-1]
    assert len(page) > 1_000_000 > len(call), "the library itself is inside"
    assert f"v{get_plotlyjs_version()}\n" in page, "of Plotly's own version"
    in_space = {trace.type for trace in chart.figure.data} & {"surface", "scatter3d"}
    assert (len(page) > 4_000_000) == bool(in_space), "the whole of it where it is needed"
    assert not re.findall(r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=", page)
    assert "https://cdn" not in call
    assert "https://cdn.plot" not in page.replace("https://cdn.plot.ly/un/", "")
    assert page.count("</body>") == 1
    assert f">{escape(chart.how_to_read)}</p></body>" in page  # (where a browser wraps it)
    assert re.search(r'"showSendToCloud":\s*false', call)
    assert not re.search(r"<script>alert|\\u003cb\\u003ex|<b>(x|first)", call)
    settings = plot_config(chart)
    assert settings["displaylogo"] is settings["showSendToCloud"] is False
    assert "toImage" in settings["modeBarButtonsToRemove"]
    for mode in ("light", "dark"):
        assert replace(chart, mode=mode).figure.layout.paper_bgcolor == PAPER[mode]
