"""Print the lowest versions that pyproject.toml allows, one ``name==version`` a line.

Usage: ``python .ci/lowest.py > lowest.txt`` and ``pip install -r lowest.txt``; see `make versions`.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

_EXTRAS = ("figures", "app", "maps", "notebook", "image", "excel", "duckdb")
_BOUND = re.compile(r"([\w.-]+)\s*>=\s*([\d.]+)")


def lowest() -> list[str]:
    """Return the core's dependencies and those of the extras, but for the benchmark's rivals."""
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(w for e in _EXTRAS for w in extras[e])]
    found = [_BOUND.match(item) for item in wanted if not item.startswith(project["name"])]
    return [f"{bound[1]}=={bound[2]}" for bound in found if bound is not None]


if __name__ == "__main__":
    sys.stdout.write("\n".join(lowest()) + "\n")
