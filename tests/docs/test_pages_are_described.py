"""Every page of the dashboard is in README.md and has its part of the guide."""

from __future__ import annotations

import re

import pytest
from markdown_pages import ROOT

APP = (ROOT / "app.py").read_text(encoding="utf-8")
NAMES = re.findall(r"^    \"\w+\": \(\s*\"(\w+)\",", APP, re.MULTILINE)


def test_the_pages_were_found():
    folders = {path.parent.name for path in (ROOT / "pages").glob("*/page.py")}
    assert {name.lower() for name in NAMES} <= folders
    assert len(NAMES) >= 9


@pytest.mark.parametrize("name", NAMES)
def test_page(name):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    guide = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    assert re.search(rf"^\| {name} \|", readme, re.MULTILINE)
    assert f"\n## {name}\n" in guide
    assert f"](#{name.lower()})" in guide
