"""The commands print what docs/cli.md, and printed.txt beside this file, show of them."""

import re
from pathlib import Path

import pytest

from lore_core import demo
from lore_core.cli import COMMANDS

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
EXPECTED = PAGE + Path(__file__).with_name("printed.txt").read_text(encoding="utf-8")
SHOWN = re.findall(r"```console\n\$ lore (.+)\n((?s:.*?))```", EXPECTED)
NUMBER = re.compile(r"(?<![\w.])[−-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")


@pytest.fixture(scope="module")
def digits():
    return demo.digits()


@pytest.fixture
def the_demo(digits, monkeypatch):
    """The demo's network is trained once for all commands."""
    monkeypatch.setattr(demo, "digits", lambda: digits)


def numbers(text):
    return [float(number.replace(",", "").replace("−", "-")) for number in NUMBER.findall(text)]


def words(text):
    return NUMBER.sub("#", text).split()


def without_mce_of_methods(text):
    """Leave out the last column, the MCE: the last bit decides which rows are in its bin."""
    lines, in_table = [], False
    for line in text.splitlines():
        in_table = bool(line) and (in_table or line.endswith("  MCE, points"))
        lines.append(line.rpartition("  ")[0] if in_table else line)
    return "\n".join(lines)


@pytest.mark.parametrize(("arguments", "shown"), SHOWN)
@pytest.mark.usefixtures("the_demo")
def test_output_is_as_shown(run, arguments, shown):
    printed = run(*arguments.split())
    assert words(printed) == words(shown)
    printed, shown = without_mce_of_methods(printed), without_mce_of_methods(shown)
    # The network is trained anew: another BLAS may round otherwise.
    assert numbers(printed) == pytest.approx(numbers(shown), rel=0.02, abs=0.11)


def test_every_command_is_documented_and_every_option_in_the_page_exists():
    assert len(SHOWN) == 10
    for name in COMMANDS:
        assert re.search(rf"^## .*`lore {name}`", PAGE, re.MULTILINE), name
    from lore_core.cli import lore

    found = re.findall(r"^(?:\$ )?lore (\w+)(.*)$", PAGE, re.MULTILINE)
    assert len(found) > 8
    for name, rest in found:
        command = lore.get_command(None, name)
        assert command is not None, name
        known = {option for item in command.params for option in item.opts} | {"--data"}
        assert set(re.findall(r"(?<!\S)--?[a-z][\w-]*", rest.partition("#")[0])) <= known
