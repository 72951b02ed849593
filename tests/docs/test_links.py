from urllib.parse import unquote

import pytest
from markdown_pages import ROOT, anchors, links

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def broken(page, text):
    """Links of a page to files or headings that do not exist. Other sites are not asked."""
    wrong = []
    for link in links(text):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, anchor = link.partition("#")
        target = page if not path else (page.parent / unquote(path)).resolve()
        if not target.exists() or ROOT not in (target, *target.parents):
            wrong.append(link)
        elif anchor and target.suffix == ".md":
            known = anchors(text if target == page else target.read_text(encoding="utf-8"))
            if unquote(anchor) not in known:
                wrong.append(link)
    return wrong


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(path):
    assert broken(path, path.read_text(encoding="utf-8")) == []


def test_wrong_links_are_found():
    text = (
        "# One `two`, three!\n\n## Twice\n\n## Twice\n\n[a](#one-two-three) [b](#twice-1) "
        "[c](README.md#start) ![d](docs/images/overview-light.png) `[e](code.md)`\n\n"
        "```\n[f](code.md)\n# Not a heading\n```\n"
        "[g](missing.md) [h](#not-a-heading) [i](README.md#nowhere) ![j](docs/no.png) [k](#twice-2)"
    )
    assert broken(ROOT / "CHANGELOG.md", text) == [
        "missing.md", "#not-a-heading", "README.md#nowhere", "docs/no.png", "#twice-2",
    ]  # fmt: skip
