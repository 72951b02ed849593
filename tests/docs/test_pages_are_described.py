"""Every page of the dashboard is in README.md and has its part of the guide."""

import re

import pytest
from markdown_pages import ROOT
from page_names import PAGES, TITLES

README = (ROOT / "README.md").read_text(encoding="utf-8")
COUNTED = {9: "Nine", 10: "Ten", 11: "Eleven", 12: "Twelve", 13: "Thirteen"}


def test_the_pages_were_found():
    folders = {path.parent.name for path in (ROOT / "pages").glob("*/page.py")}
    assert set(PAGES) == folders
    assert f"\n{COUNTED[len(PAGES)]} pages, one question each" in README


@pytest.mark.parametrize("name", TITLES.values())
def test_page(name):
    guide = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    assert re.search(rf"^\| {name} \|", README, re.MULTILINE)
    assert f"\n## {name}\n" in guide
    assert f"](#{name.lower()})" in guide
