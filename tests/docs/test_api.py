"""docs/api.md is what docs/build_api.py writes, and lists every public name."""

import importlib.util
import types

import pytest
from markdown_pages import ROOT

import lore_core as lore


@pytest.fixture(scope="module")
def built():
    spec = importlib.util.spec_from_file_location("build_api", ROOT / "docs" / "build_api.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.page()


def test_is_up_to_date(built):
    stored = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert stored == built, "run `make docs`"


def test_every_public_name_is_there(built):
    packages = {n for n in lore.__all__ if isinstance(getattr(lore, n), types.ModuleType)}
    missing = [n for n in {*lore.__all__} - packages if f"\n- [`{n}`](" not in built]
    for package in packages:
        names = {*getattr(lore, package).__all__} - {*lore.__all__}
        missing += [n for n in names if f"\n- [`{package}.{n}`](" not in built]
    assert missing == []


def test_entries(built):
    assert "`(confidence, outcome, embedding, *, gamma=0.2, n_bins=15," in built
    assert "mean \\|conf(B) − acc(B)\\| weighted by bin size" in built  # no table, no emphasis
    assert "`supported_maximum()`" in built
    assert ":func:" not in built
    assert ":class:" not in built
    assert "``" not in built
