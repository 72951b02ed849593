import runpy
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "browser_tests_ran.py"
NODE = "tests/browser/test_a.py::TestPage::test_b[chromium-a@b/c.py]"


def report(result="", name="test_b[chromium-a@b/c.py]"):
    return ET.fromstring(
        '<testsuites><testsuite><testcase classname="tests.test_c" name="test_d" />'
        f'<testcase classname="tests.browser.test_a.TestPage" name="{name}">{result}</testcase>'
        "</testsuite></testsuites>"
    )


@pytest.mark.parametrize(
    ("collected", "junit", "said"),
    [
        ([NODE], report(), None),
        ([NODE], report(name="test_b[chromium-a@b/c.py]@browser"), None),
        (
            [NODE],
            report('<skipped message="no Chromium" />'),
            "1 of 1 browser tests were skipped (no Chromium)",
        ),
        ([NODE], report('<failure message="assert" />'), "none of the 1 browser tests passed"),
        ([NODE], ET.fromstring("<testsuites />"), "none of the 1 browser tests passed"),
        ([], report(), "no test is marked 'browser'"),
    ],
)
def test_what_is_said_where_browser_tests_did_not_run(collected, junit, said):
    assert runpy.run_path(str(SCRIPT))["problem"](collected, junit) == said
