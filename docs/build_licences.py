"""Write docs/licences.md: what `pip install ".[all]"` brings, and under which licences.

Run it in an environment that holds nothing else: ``python docs/build_licences.py``.
"""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path

_PAGE = Path(__file__).parent / "licences.md"
_OURS = ("lore-lens", "pip", "setuptools")
_CLASSIFIER = "License :: OSI Approved :: "
_HEAD = """# Licences

What `pip install ".[all]"` brings, and what each package says of its licence. Written by
`docs/build_licences.py`; do not edit. LoRe Lens itself is under the MIT licence. All of these allow
use and distribution, commercial too. Extras `image` and `notebook`, and what tests and benchmarks
need beside, are not listed.

| package | version | licence |
|---|---|---|
"""


def licence(package: importlib.metadata.Distribution) -> str:
    """Return a package's licence: as an expression, a classifier, or in words."""
    said = package.metadata
    classes = said.get_all("Classifier") or []
    named = [item.removeprefix(_CLASSIFIER) for item in classes if item.startswith(_CLASSIFIER)]
    words = (said.get("License") or "").strip().partition("\n")[0]
    return str(said.get("License-Expression") or ", ".join(named) or words or "not said")


def main() -> None:
    """Write the page."""
    packages = {item.metadata["Name"].lower(): item for item in importlib.metadata.distributions()}
    lines = [
        f"| {item.metadata['Name']} | {item.version} | {licence(item).replace('|', '/')} |"
        for name, item in sorted(packages.items())
        if name not in _OURS
    ]
    _PAGE.write_text(_HEAD + "\n".join(lines) + "\n", encoding="utf-8")
    sys.stdout.write(f"{len(lines)} packages\n")


if __name__ == "__main__":
    main()
