import re
from importlib.resources import files

import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

from lore_core.report.rendering import missing, render


def test_text_is_escaped_and_html_is_not():
    assert missing("<b> & co") == '<p class="missing">&lt;b&gt; &amp; co</p>'
    assert missing(Markup("<b>ours</b>")) == '<p class="missing"><b>ours</b></p>'
    assert isinstance(missing("a"), Markup)  # so another template takes it as it is


def test_what_a_template_misses_is_an_error():
    with pytest.raises(UndefinedError, match="'rows' is undefined"):
        render("rows.html")


def test_every_template_is_used():
    folder = files("lore_core.report")
    names = {path.name for path in (folder / "templates").iterdir()}
    sources = [path for path in folder.rglob("*") if path.suffix in (".py", ".html")]
    asked = set(re.findall(r'"(\w+\.(?:html|css))"', "".join(path.read_text() for path in sources)))
    assert asked - {"index.html"} == names
