from __future__ import annotations

import importlib.util
import types

import pytest
from markdown_pages import ROOT

import lore_core as lore

FOLDER = ROOT / "docs" / "api"


@pytest.fixture(scope="module")
def built():
    spec = importlib.util.spec_from_file_location("build_api", ROOT / "docs" / "build_api.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.pages()


def test_is_up_to_date(built):
    stored = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    stale = sorted(name for name in {*built, *stored} if built.get(name) != stored.get(name))
    assert stale == [], "run `make docs`"


def test_every_public_name_is_there(built):
    text = "".join(built.values())
    rooms = {name for name in lore.__all__ if isinstance(getattr(lore, name), types.ModuleType)}
    assert [name for name in lore.__all__ if f"\n## `{name}`\n" not in text] == sorted(rooms)
    for room in sorted(rooms):
        for name in {*getattr(lore, room).__all__} - {*lore.__all__}:
            assert f"\n## `{room}.{name}`\n" in text


def test_an_entry(built):
    page = built["metrics.md"]
    entry = page[page.index("## `local_errors`") : page.index("## `maximum_calibration_error`")]
    assert "    gamma=0.2,\n" in entry
    assert "- `confidence` (*array-like of shape (n,)*): Confidences c in [0, 1]." in entry
    assert "- `gamma` (*float*): Bandwidth γ > 0" in entry
    assert "- *LocalErrors*" in entry
    assert "S\\_γ(i) = Σ\\_{j∈β(i)}" in entry  # not taken for emphasis
    assert "### `LocalErrors.supported_maximum`" in page


def test_nothing_is_left_of_the_docstrings_markup(built):
    for name, text in built.items():
        assert ":func:" not in text, name
        assert ":class:" not in text, name
        assert ":math:" not in text, name
        assert "array - like" not in text, name
        assert "``" not in text.replace("```", ""), name
