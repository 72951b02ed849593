"""Fail unless the browser tests ran: at least one passed and none was skipped.

Silent when all is well. Usage: ``python .ci/browser_tests_ran.py junit.xml``
"""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterable


def problem(collected: Iterable[str], junit: ET.Element) -> str | None:
    """Say what is wrong, or None.

    Parameters
    ----------
    collected : iterable of str
        Node ids of the tests marked ``browser``, ``tests/browser/test_a.py::test_b[chromium]``.
    junit : Element
        Root of pytest's JUnit report, which does not tell marks.
    """
    browser = {_junit_name(node) for node in collected}
    cases = [case for case in junit.iter("testcase") if _names(case) & browser]
    skipped = [case for case in cases if case.find("skipped") is not None]
    passed = [case for case in cases if len(case.findall("*[@message]")) == 0]
    if not browser:
        return "no test is marked 'browser'"
    if skipped:
        reason = skipped[0].find("skipped").get("message")  # type: ignore[union-attr]
        return f"{len(skipped)} of {len(browser)} browser tests were skipped ({reason})"
    if not passed:
        return f"none of the {len(browser)} browser tests passed"
    return None


def _junit_name(node: str) -> tuple[str, str]:
    node, bracket, parameters = node.partition("[")
    *path, name = node.split("::")
    return ".".join(path).removesuffix(".py").replace(".py.", ".").replace("/", "."), (
        name + bracket + parameters
    )


def _names(case: ET.Element) -> set[tuple[str, str]]:
    folder, name = case.get("classname", ""), case.get("name", "")
    # xdist appends "@group" to the names of tests that share a worker.
    return {(folder, name), (folder, name.rpartition("@")[0])}


def main() -> int:
    """Compare what pytest collects with what it reported."""
    listing = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "browser", "tests"],
        capture_output=True,
        text=True,
        check=False,
    )
    collected = [line for line in listing.stdout.splitlines() if "::" in line]
    wrong = problem(collected, ET.parse(sys.argv[1]).getroot())
    if wrong:
        sys.stderr.write(f"The browser tests did not do their work: {wrong}.\n")
    return int(wrong is not None)


if __name__ == "__main__":
    sys.exit(main())
