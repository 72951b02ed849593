import importlib.util
import re
import types
from urllib.parse import unquote

import pytest
from markdown_pages import ROOT, anchors, links
from page_names import PAGES, TITLES

import lore_core as lore
from lore_core.metrics.glossary import GLOSSARY
from lore_core.recalibration.registry import METHODS, which_for_which_case

DOCS = ROOT / "docs"


def text_of(path):
    return path.read_text(encoding="utf-8")


README, GUIDE = text_of(ROOT / "README.md"), text_of(DOCS / "guide.md")


def test_the_api_is_up_to_date_and_has_every_public_name():
    spec = importlib.util.spec_from_file_location("build_api", DOCS / "build_api.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    built = module.page()
    assert text_of(DOCS / "api.md") == built, "run `make docs`"
    packages = {n for n in lore.__all__ if isinstance(getattr(lore, n), types.ModuleType)}
    names = {*lore.__all__} - packages
    for package in packages:
        own = {*getattr(lore, package).__all__} - {*lore.__all__}
        names |= {f"{package}.{name}" for name in own}
    assert [name for name in names if f"\n- [`{name}`](" not in built] == []
    assert "`(confidence, outcome, embedding, *, gamma=0.2, n_bins=15," in built
    assert "mean \\|conf(B) − acc(B)\\| weighted by bin size" in built  # no table, no emphasis
    assert "`supported_maximum()`" in built
    assert not re.search(r":func:|:class:|``", built)


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
            known = anchors(text if target == page else text_of(target))
            if unquote(anchor) not in known:
                wrong.append(link)
    return wrong


def test_every_link_leads_somewhere_and_wrong_links_are_found():
    pages = [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
    assert {page: found for page in pages if (found := broken(page, text_of(page)))} == {}
    text = (
        "# One `two`, three!\n\n## Twice\n\n## Twice\n\n[a](#one-two-three) [b](#twice-1) "
        "[c](README.md#start) ![d](docs/images/overview-light.png) `[e](code.md)`\n\n"
        "```\n[f](code.md)\n# Not a heading\n```\n"
        "[g](missing.md) [h](#not-a-heading) [i](README.md#nowhere) ![j](docs/no.png) [k](#twice-2)"
    )
    assert broken(ROOT / "CHANGELOG.md", text) == [
        "missing.md", "#not-a-heading", "README.md#nowhere", "docs/no.png", "#twice-2",
    ]  # fmt: skip


def test_every_page_is_in_the_readme_and_has_its_part_of_the_guide():
    assert set(PAGES) == {path.parent.name for path in (ROOT / "pages").glob("*/page.py")}
    counted = {9: "Nine", 10: "Ten", 11: "Eleven", 12: "Twelve", 13: "Thirteen"}
    assert f"\n{counted[len(PAGES)]} pages, one question each" in README
    for name in TITLES.values():
        assert re.search(rf"^\| {name} \|", README, re.MULTILINE), name
        assert f"\n## {name}\n" in GUIDE
        assert f"](#{name.lower()})" in GUIDE


@pytest.mark.parametrize("term", GLOSSARY)
def test_the_guide_has_every_word_of_pages_and_reports(term):
    meaning = GLOSSARY[term].replace("|", "\\|")
    assert f"| {term} | {meaning} |\n" in GUIDE


def test_every_method_is_in_the_table_in_its_order():
    rows = [
        f"| {f'**{label}**' if method.standard else label} | `{name}` | {group} | {when} |"
        for (name, method), label, group, when in zip(
            METHODS.items(), *which_for_which_case().values(), strict=True
        )
    ]
    assert "\n".join(rows) in text_of(DOCS / "recalibrators.md")
