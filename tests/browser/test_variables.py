"""Variables and selections: click a row of the ranking, draw a lasso and read what is inside."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import expect

import lore_core as lore

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


def test_a_variable_and_another(open_app, dataset):
    app = open_app("variables")
    app.drawn("along")
    ranking = lore.rank_variables(dataset.evaluation)
    first = ranking["variable"].iloc[0]
    assert app.chosen("Variable") == first == "f_0", "the side it was fooled on"
    app.sees("a difference beyond chance")
    assert app.read("along", "gd => gd._fullLayout.title.text").endswith("f_0</b>")
    app.choose("Variable", "site")
    app.until_query("variable", "site")
    bars = "gd => (gd._fullData || []).map(t => t.orientation)"
    app.until(lambda: app.chart("along").evaluate(bars) == ["h"], "one bar a name")
    gap = lore.gap_along(
        dataset.evaluation.confidence,
        dataset.evaluation.outcome,
        dataset.evaluation.groups["site"],
    )["gap"]
    np.testing.assert_allclose(app.trace("along", "gap")["x"], 100 * gap, rtol=1e-6)
    app.choose("Together with", "none")
    app.until_query("second", "none")
    expect(app.chart("grid")).to_have_count(0)


def test_a_lasso_says_what_is_inside(open_app, dataset, points):
    app = open_app("landscape", gamma=0.5)
    app.drawn("landscape")
    # The right-hand side, where the classifier was fooled.
    (x0, x1), (y0, y1) = (
        np.quantile(points[:, k], q) for k, q in ((0, [0.62, 0.995]), (1, [0.02, 0.98]))
    )
    corners = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
    app.lasso(corners)
    app.sees("Selected region")
    app.drawn("inside")
    app.sees("What it is made of, against the rest")
    app.sees("values looked at")
    mend = app.page.get_by_role("tab", name="Recalibrate just this")
    mend.click()
    app.sees("calibration rows inside, measured on the")
    app.page.get_by_role("tab", name="Worst rows").click()
    app.sees("What speaks for row")
    app.page.get_by_text("LoRe's answer", exact=True).click()
    app.sees("LoRe would say")
