import importlib.util
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "browser_tests_ran.py"
NODE = "tests/browser/test_a.py::TestPage::test_b[chromium-a@b/c.py]"


@pytest.fixture(scope="module")
def problem():
    spec = importlib.util.spec_from_file_location("browser_tests_ran", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.problem


def report(result="", name="test_b[chromium-a@b/c.py]"):
    return ET.fromstring(
        '<testsuites><testsuite><testcase classname="tests.test_c" name="test_d" />'
        f'<testcase classname="tests.browser.test_a.TestPage" name="{name}">{result}</testcase>'
        "</testsuite></testsuites>"
    )


@pytest.mark.parametrize("suffix", ["", "@browser"])
def test_quiet_when_they_passed(problem, suffix):
    assert problem([NODE], report(name="test_b[chromium-a@b/c.py]" + suffix)) is None


def test_skipped(problem):
    wrong = problem([NODE], report('<skipped message="no Chromium" />'))
    assert wrong == "1 of 1 browser tests were skipped (no Chromium)"


def test_failed(problem):
    wrong = problem([NODE], report('<failure message="assert" />'))
    assert wrong == "none of the 1 browser tests passed"


def test_left_out(problem):
    assert problem([NODE], ET.fromstring("<testsuites />")) == "none of the 1 browser tests passed"


def test_there_are_none(problem):
    assert problem([], report()) == "no test is marked 'browser'"
