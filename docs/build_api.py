"""Write docs/api.md: every public name, its signature and the first sentence of its docstring.

Run it with ``make docs``. Which names are public is what the stubs say (``__init__.pyi``), or
``__all__`` where there is none. The source is read, not imported, by griffe.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import griffe

from lore_core.data import defaults

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "api.md"
PACKAGE = "lore_core"

#: Heading, and the packages whose public names are listed under it.
SECTIONS: dict[str, tuple[str, ...]] = {
    "Data": ("data", "reading", "demo"),
    "Feature maps": ("embedding",),
    "Metrics": ("metrics",),
    "Tests and intervals": ("inference",),
    "Summaries and comparisons": ("comparison",),
    "Subgroups, regions and columns": ("regions",),
    "Recalibration": ("recalibration",),
    "Shipping": ("shipping",),
    "Views": ("view",),
    "Figures": ("figures",),
    "Report and dashboard": ("report", "dashboard"),
    "More rows than memory holds": ("mergeable",),
    "Kernel sums": ("kernel_sums",),
}
_HEAD = """# API reference

Every public name, written by `make docs` from signatures and docstrings; do not edit.
`help(lore.<name>)` shows parameters, results and examples; a name links to its source. After
`import lore_core as lore` it is `lore.brier_score` or, with a dot, `lore.metrics.wilson_interval`.
An indented line lists what a class offers.
"""
_CITATION = re.compile(r" \(Luo et al[^)]*\)")
_ROLE = re.compile(r":\w+:`~?(?:[^`<]*<)?([^`>]+)>?`")
_SENTENCE = re.compile(r".*?\.(?=\s|$)", re.DOTALL)


def page() -> str:
    """Return the text of docs/api.md."""
    package = griffe.load(PACKAGE, search_paths=[ROOT], docstring_parser="numpy")
    root = dict(_listed(package, ROOT / PACKAGE))
    at_root = {item.path for item in root.values()}
    lines = [_HEAD]
    for heading, folders in SECTIONS.items():
        entries = {name: item for name, item in root.items() if item.path.split(".")[1] in folders}
        for folder in folders:
            for name, item in _listed(package, ROOT / PACKAGE / folder):
                if item.path not in at_root:
                    entries[f"{folder}.{name}"] = item
        lines.append(f"## {heading}\n")
        for name, item in entries.items():
            lines += _entry(name, item)
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _listed(package: Any, folder: Path) -> Iterator[tuple[str, Any]]:
    """Yield the names that a package exports, with their definitions; no subpackages."""
    parts = folder.relative_to(ROOT).parts
    stub = folder / "__init__.pyi"
    if stub.exists():
        found = {
            alias.name: (*parts, node.module, alias.name)
            for node in ast.parse(stub.read_text(encoding="utf-8")).body
            if isinstance(node, ast.ImportFrom) and node.module
            for alias in node.names
        }
    else:
        found = {str(name): (*parts, str(name)) for name in package[parts[1:]].exports or ()}
    for name in sorted(found, key=str.lower):
        yield name, _definition(package, ".".join(found[name][1:]))


def _definition(package: Any, path: str) -> Any:
    item = package[path]
    item = item.final_target if item.is_alias else item
    # `embed` is a function, and the module that defines it.
    return item[item.name] if item.is_module else item


def _entry(name: str, item: Any) -> Iterator[str]:
    """Yield the line of one public name, and for a class one with its public members."""
    source = Path(item.filepath).relative_to(ROOT).as_posix()
    signature = "" if item.is_attribute else f"`{_signature(item)}`"
    sentence = _first_sentence(item)
    yield f"- [`{name}`](../{source}){signature}{sentence and f': {sentence}'}"
    if item.is_class and (members := list(_members(item))):
        yield f"  - {', '.join(members)}"


def _signature(item: Any) -> str:
    shown, last = [], ""
    for parameter in item.parameters:
        kind = parameter.kind.name if parameter.kind else ""
        if parameter.name in ("self", "cls"):
            continue
        if kind == "keyword_only" and last not in ("keyword_only", "var_positional"):
            shown.append("*")
        last = kind
        stars = {"var_positional": "*", "var_keyword": "**"}.get(kind, "")
        name = str(parameter.default)
        value = repr(vars(defaults)[name]) if name in vars(defaults) else parameter.default
        default = "" if stars or value is None else f"={value}"
        shown.append(f"{stars}{parameter.name}{default}")
    return f"({', '.join(shown)})"


def _members(item: Any) -> Iterator[str]:
    """Yield the documented public methods and properties that no base class of ours has."""
    bases = [base for base in item.mro() if base.path.startswith(PACKAGE)]
    inherited = {name for base in bases for name in base.members}
    for name, member in item.members.items():
        if name.startswith("_") or member.is_alias or name in inherited or member.docstring is None:
            continue
        if member.is_function:
            yield f"`{name}()`"
        elif "property" in member.labels:
            yield f"`{name}`"


def _first_sentence(item: Any) -> str:
    """Return the first sentence of a docstring as Markdown."""
    if item.docstring is None:
        return ""
    first = " ".join(item.docstring.value.split("\n\n")[0].split())
    first = _CITATION.sub("", first)
    text = _ROLE.sub(lambda match: f"`{match[1].rsplit('.', 1)[-1]}`", first).replace("``", "`")
    whole = _SENTENCE.match(text)
    pieces = re.split(r"(`[^`]*`)", whole[0] if whole else text)
    pieces[::2] = [re.sub(r"([_<*|])", r"\\\1", piece) for piece in pieces[::2]]
    return "".join(pieces)


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE.relative_to(ROOT)} written.\n")


if __name__ == "__main__":
    main()
