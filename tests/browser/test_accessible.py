"""No page breaks a rule of axe-core: names, roles, contrast, order."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

PAGES = (
    *("data", "overview", "landscape", "variables", "bandwidth", "recalibrate", "fairness"),
    *("runs", "decisions", "report"),
)


#: Streamlit's own: a section without a role of its own that has a name.
NOT_OURS = {"exclude": [["[data-testid=stFileUploaderDropzone]"]]}


@pytest.mark.parametrize("name", PAGES)
def test_page(open_app, name):
    app = open_app()
    app.go(name.title())
    for theme in ("light", "dark"):
        app.page.emulate_media(color_scheme=theme)
        app.settle()
        app.page.wait_for_load_state("networkidle")
        # (A theme comes bit by bit, and what is out of date is pale: the page at rest counts.)
        app.until(
            lambda: not look(app).violations_count,
            lambda theme=theme: f"{name}, {theme}, without {look(app).generate_report()}",
        )


def look(app):
    return Axe().run(app.page, context=NOT_OURS)
