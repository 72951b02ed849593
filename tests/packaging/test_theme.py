import ast
import subprocess
import sys
import tomllib

import pytest
from streamlit.runtime.scriptrunner.script_cache import ScriptCache

from lore_core.dashboard.server import find_app
from lore_core.figures import style
from lore_core.recalibration.registry import METHODS, color_numbers

CONFIG = find_app().parent / ".streamlit" / "config.toml"


@pytest.fixture
def config():
    return tomllib.loads(CONFIG.read_text(encoding="utf-8"))


def luminance(color):
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_text_meets_wcag_aa_and_figures_have_the_page_s_own_colours(config, mode):
    theme = config["theme"][mode]
    assert (theme["backgroundColor"], theme["textColor"]) == (style.PAPER[mode], style.INK[mode])
    surfaces = [theme["backgroundColor"], theme["secondaryBackgroundColor"]]
    surfaces += list(theme["sidebar"].values())
    for surface in surfaces:
        assert contrast(theme["textColor"], surface) >= 7
        assert contrast(theme["linkColor"], surface) >= 4.5
    assert contrast("#ffffff", theme["primaryColor"]) >= 4.5  # labels of primary buttons
    assert contrast(theme["primaryColor"], theme["backgroundColor"]) >= 3
    header = theme["dataframeHeaderTextColor"], theme["dataframeHeaderBackgroundColor"]
    assert contrast(*header) >= 4.5


def test_every_method_has_a_colour_of_its_own():
    numbers = color_numbers()
    assert len(numbers) == len(set(numbers.values())) == len(METHODS)
    assert len(set(style.METHOD_COLORS["light"])) == len(style.METHOD_COLORS["dark"])
    assert max(numbers.values()) < len(style.METHOD_COLORS["light"])
    assert style.method_color("LoRe", 9) == "m3"
    assert style.method_color("of a reader's own", 9) == "m10"


def test_streamlit_knows_every_option():
    command = [sys.executable, "-m", "streamlit", "config", "show"]
    options = {"cwd": CONFIG.parent.parent, "capture_output": True, "text": True}
    shown = subprocess.run(command, check=True, **options)
    assert "not a valid config option" not in shown.stdout + shown.stderr


def test_only_this_machine_is_served_and_nothing_is_sent_out(config):
    assert config["server"]["address"] == "127.0.0.1"
    assert config["browser"]["gatherUsageStats"] is False
    assert config["server"]["enableCORS"]
    assert config["server"]["enableXsrfProtection"]
    assert "http" not in CONFIG.read_text(encoding="utf-8")


def test_scripts_are_compiled_without_syntax_tree_objects(config, monkeypatch):
    """Python 3.11 confuses those of two threads: "AST constructor recursion depth mismatch"."""
    assert config["runner"]["magicEnabled"] is False

    def refuse(*args, **kwargs):
        raise AssertionError("compiled by way of ast")

    monkeypatch.setattr(ast, "parse", refuse)
    for script in (CONFIG.parent.parent / "pages").rglob("page.py"):
        assert ScriptCache().get_bytecode(str(script)).co_filename == str(script)
