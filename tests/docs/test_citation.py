import re
import tomllib

import pytest
from markdown_pages import ROOT

TEXT = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
SOFTWARE, PAPER = TEXT.split("\npreferred-citation:\n")


def value(text, key, indent=""):
    (found,) = re.findall(rf"^{indent}{key}: *\"?(.*?)\"?$", text, re.MULTILINE)
    return found


@pytest.mark.parametrize("key", ["cff-version", "message", "title", "authors"])
def test_fields_the_schema_requires(key):
    value(SOFTWARE, key)


@pytest.mark.parametrize("key", ["type", "title", "authors"])
def test_fields_the_schema_requires_of_the_paper(key):
    value(PAPER, key, "  ")


def test_says_what_pyproject_says():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert value(SOFTWARE, "version") == project["version"]
    assert value(SOFTWARE, "license") == project["license"]
    assert value(SOFTWARE, "type") == "software"
    assert project["authors"][0]["name"] in SOFTWARE


def test_paper():
    assert value(PAPER, "title", "  ") == "Local Calibration: Metrics and Recalibration"
    assert value(PAPER, "year", "  ") == "2022"
    assert "arXiv:2102.10809" in PAPER
    names = re.findall(r"family-names: (\w+)\n      given-names: \w+", PAPER)
    package = (ROOT / "lore_core" / "__init__.py").read_text(encoding="utf-8")
    assert ", ".join(names) in " ".join(package.split())  # all ten, in order
    assert len(names) == 10


def test_is_plain_yaml():
    assert "\t" not in TEXT
    for line in TEXT.splitlines():
        # A key, a list item or a folded line; ": " inside a value needs quotes.
        assert re.fullmatch(r' *(- )?([\w-]+:( "[^"]*"| [^"]((?!: ).)*)?|((?!: ).)+)', line), line
