"""The guide explains the words that pages and reports explain, in the same words."""

from markdown_pages import ROOT

from lore_core.metrics.glossary import GLOSSARY


def test_the_guide_has_every_word():
    guide = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    for term, said in GLOSSARY.items():
        meaning = said.replace("|", "\\|")
        assert f"| {term} | {meaning} |\n" in guide
