"""docs/architecture.md: nothing imports upwards, and there is no circle of files or of rooms."""

import ast
from collections import defaultdict
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: They hand names on when these are asked for, and have every room below them.
LAZY = {"lore_core", "lore_core._lazy"}


def name_of(file):
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports():
    files = {name_of(file): file for file in (ROOT / "lore_core").rglob("*.py")}
    lazy = {name for name, file in files.items() if file.with_suffix(".pyi").exists()}
    found = {}
    for name in files.keys() - LAZY:
        asked = found[name] = set()
        nodes = list(ast.walk(ast.parse(files[name].read_text(encoding="utf-8"))))
        for node in nodes:  # what is only there for types is not imported
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                typed = set(ast.walk(node))
                nodes = [other for other in nodes if other not in typed]
        for node in nodes:
            if isinstance(node, ast.Import):
                asked.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                asked.update(
                    full if (full := f"{node.module}.{alias.name}") in files else node.module
                    for alias in node.names
                )
        asked &= files.keys() - LAZY
    return found, lazy


def test_no_circle_of_files_or_rooms():
    files, lazy = imports()
    assert list(TopologicalSorter({name: files[name] - lazy for name in files}).static_order())
    rooms = defaultdict(set)
    for name, asked in files.items():
        room = name.split(".")[1]
        rooms[room] |= {other.split(".")[1] for other in asked} - {room}
    assert list(TopologicalSorter(rooms).static_order())
    assert len(rooms) <= 17
    table = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    assert [room for room in sorted(rooms) if f"| `{room}/`" not in table] == ["dashboard"]


def test_only_the_dashboard_knows_streamlit_and_only_figures_plotly():
    knows = defaultdict(set)
    for file in (ROOT / "lore_core").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                of = node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
                knows[str(of).split(".")[0]].add(file.relative_to(ROOT).parts[1])
    assert knows["streamlit"] <= {"dashboard"}
    assert knows["plotly"] <= {"figures"}
