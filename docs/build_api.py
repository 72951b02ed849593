"""Write docs/api/: the public names of the library, room by room, from their docstrings.

Run it with ``make docs``. Which names are public is what the stubs say (``__init__.pyi``), or
``__all__`` where there is none. The source is read, not imported; griffe reads the
docstrings.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import griffe

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "api"
PACKAGE = "lore_core"

#: Page, its title, and the rooms whose public names it lists.
PAGES: dict[str, tuple[str, tuple[str, ...]]] = {
    "data": ("Data", ("data", "reading", "demo")),
    "embedding": ("Feature maps", ("embedding",)),
    "metrics": ("Metrics", ("metrics",)),
    "chance": ("Chance and intervals", ("chance",)),
    "comparison": ("Summaries, comparisons and conclusions", ("comparison",)),
    "regions": ("Places, regions, rows and columns", ("regions",)),
    "recalibration": ("Recalibration", ("recalibration",)),
    "shipping": ("Shipping", ("shipping",)),
    "view": ("Views", ("view",)),
    "figures": ("Figures", ("figures",)),
    "report": ("Report and dashboard", ("report", "dashboard")),
    "mergeable": ("Sums that merge, files of any length", ("mergeable",)),
    "kernel_sums": ("Kernel sums", ("kernel_sums",)),
}

_ROLE = re.compile(r":(?:func|class|meth|mod|attr|data):`([^`]+)`")
_EMPTY_HINTS = ("", "None")
_BEFORE_RETURNS = ("text", "parameters", "other parameters")


class Attribute(NamedTuple):
    """Fields of a class that one comment describes."""

    names: list[str]
    kinds: list[str]
    text: str


class Names:
    """Every listed name: its page, what it is called there, and its definition."""

    def __init__(self) -> None:
        self.package = griffe.load(PACKAGE, search_paths=[ROOT], docstring_parser="numpy")
        self.pages: dict[str, list[tuple[str, Any]]] = {page: [] for page in PAGES}
        self.places: dict[str, str] = {}
        page_of = {room: page for page, (_, rooms) in PAGES.items() for room in rooms}
        for name, item in self._listed(ROOT / PACKAGE):
            self._add(page_of[item.path.split(".")[1]], name, item)
        for room, page in page_of.items():
            for name, item in self._listed(ROOT / PACKAGE / room):
                if item.path not in self.places:
                    self._add(page, f"{room}.{name}", item)

    def _listed(self, folder: Path) -> Iterator[tuple[str, Any]]:
        """Yield the names that a room hands on, and their definitions; no rooms."""
        room = folder.relative_to(ROOT).parts
        stub = folder / "__init__.pyi"
        if stub.exists():
            found = {
                alias.name: (*room, node.module, alias.name)
                for node in ast.parse(stub.read_text(encoding="utf-8")).body
                if isinstance(node, ast.ImportFrom) and node.module
                for alias in node.names
            }
        else:
            found = {str(name): (*room, str(name)) for name in self.package[room[1:]].exports or ()}
        for name in sorted(found, key=str.lower):
            yield name, self._definition(".".join(found[name][1:]))

    def is_class(self, name: str) -> bool:
        """Whether that is what a listed class is called."""
        listed = (item for page in self.pages.values() for _, item in page)
        return any(item.is_class and item.name == name for item in listed)

    def _definition(self, path: str) -> Any:
        item = self.package[path]
        item = item.final_target if item.is_alias else item
        # `embed` is a function, and the module that defines it.
        return item[item.name] if item.is_module else item

    def _add(self, page: str, name: str, item: Any) -> None:
        anchor = _anchor(name)
        # Of headings that differ by case only, the second one gets a number.
        twice = sum(_anchor(other) == anchor for other, _ in self.pages[page])
        self.pages[page].append((name, item))
        self.places[item.path] = f"{page}.md#{anchor}{f'-{twice}' if twice else ''}"

    def link(self, match: re.Match[str]) -> str:
        """Turn a reference of a docstring into a link, or into code where nothing is listed."""
        target = match[1]
        titled = re.fullmatch(r"(.+?)\s*<(.+)>", target)
        shown, path = (titled[1], titled[2]) if titled else (target, target)
        path = path.removeprefix("~")
        if target.startswith("~"):
            shown = path.rsplit(".", 1)[-1]
        owner, _, member = path.rpartition(".")
        name = path.rsplit(".", 1)[-1]
        for known, place in self.places.items():
            if path in (known, known.rsplit(".", 1)[-1]) or (
                known.rsplit(".", 1)[-1] == name and path.startswith(f"{PACKAGE}.")
            ):
                return f"[`{shown}`]({place})"
            if member and owner and known.rsplit(".", 1)[-1] == owner.rsplit(".", 1)[-1]:
                return f"[`{shown}`]({place})"
        return f"`{shown}`"

    def text(self, text: str) -> str:
        """Turn the light reStructuredText of a docstring into Markdown."""
        parts = []
        for line in text.strip().split("\n"):
            if line.startswith("    "):  # code
                parts.append(line)
                continue
            linked = _ROLE.sub(self.link, line).replace("``", "`")
            linked = re.sub(r":math:`([^`]+)`", r"$`\1`$", linked)
            pieces = re.split(r"(`[^`]*`|\]\([^)]*\))", linked)
            pieces[::2] = [
                re.sub(r"(?<!\\)([_<])", r"\\\1", piece).replace("|", "\\|")
                for piece in pieces[::2]
            ]
            parts.append("".join(pieces))
        return "\n".join(parts)


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _signature(item: Any, name: str) -> str:
    given = item.parameters
    shown, last_kind = [], None
    for parameter in given:
        kind = parameter.kind.name if parameter.kind else ""
        if parameter.name in ("self", "cls"):
            continue
        if kind == "keyword_only" and last_kind not in ("keyword_only", "var_positional"):
            shown.append("*")
        last_kind = kind
        stars = {"var_positional": "*", "var_keyword": "**"}.get(kind, "")
        default = "" if stars or parameter.default is None else f"={parameter.default}"
        shown.append(f"{stars}{parameter.name}{default}")
    line = f"{name}({', '.join(shown)})"
    if len(line) <= 88:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in shown) + ")"


def _entries(names: Names, title: str, values: Any, docstring: str) -> Iterator[str]:
    yield f"**{title}**\n"
    waiting: list[str] = []
    # Those that share one description were one entry: `confidence, outcome : ...`.
    for described, alike in groupby(values, key=lambda value: value.description):
        several = list(alike)
        waiting.append(", ".join(getattr(item, "name", "") for item in several))
        if not described and several[-1] is not values[-1] and waiting[-1]:
            continue  # its names go on in the next line
        name, kind = ", ".join(waiting), str(several[0].annotation or "")
        if name:  # as written, which griffe would complete from the signature, or tidy up
            written = re.search(rf"^ *{re.escape(name)} *: *(.+)$", docstring, re.MULTILINE)
            kind = written[1] if written else ""
        elif " : " in kind:
            name, _, kind = kind.partition(" : ")
        waiting = []
        kind = _kind(kind)
        head = " ".join(part for part in (f"`{name}`", kind and f"({kind})") if part)
        said = _indented(names.text(described))
        yield "- " + ": ".join(part for part in (head if name else kind, said) if part)
    yield ""


def _kind(written: str) -> str:
    """Set a numpydoc type, which is prose: `array-like of shape (n,)`."""
    if written in _EMPTY_HINTS:
        return ""
    escaped = re.sub(r"([_*<])", r"\\\1", written.replace(" - like", "-like"))
    return f"*{escaped}*"


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")


def _docstring(names: Names, item: Any) -> Iterator[str]:
    if item.docstring is None:
        return
    kinds = [section.kind.value for section in item.docstring.parsed]
    # A class that is returned says what it is itself; the docstring need not name it.
    result = str(getattr(item, "returns", None) or "").strip("'").split(".")[-1]
    untold = item.is_function and "returns" not in kinds and names.is_class(result)
    told_after = max((k for k, kind in enumerate(kinds) if kind in _BEFORE_RETURNS), default=-1)
    for position, section in enumerate(item.docstring.parsed):
        kind, value = section.kind.value, section.value
        if kind == "text":
            yield names.text(value) + "\n"
        elif kind in ("parameters", "other parameters"):
            yield from _entries(names, "Parameters", value, item.docstring.value)
        elif kind == "attributes":
            yield from _entries(names, "Attributes", value, item.docstring.value)
        elif kind == "returns":
            yield from _entries(names, "Returns", value, item.docstring.value)
        elif kind == "raises":
            yield from _entries(names, "Raises", value, item.docstring.value)
        elif kind == "examples":
            yield "**Examples**\n"
            for part, text in value:
                yield (
                    f"```pycon\n{text}\n```\n"
                    if part.value == "examples"
                    else names.text(text) + "\n"
                )
        elif kind == "admonition":
            yield f"**{section.title}**\n\n{names.text(value.contents)}\n"
        if untold and position == told_after:
            yield f"**Returns**\n\n- *{result}*\n"


def _fields(item: Any) -> list[Attribute]:
    """Take the fields of a class by the ``#:`` comments above them or behind them.

    Fields that follow one with a comment above, without one of their own, share it.
    """
    lines = Path(item.filepath).read_text(encoding="utf-8").splitlines()
    body = ast.parse("\n".join(lines[: item.endlineno])).body
    (definition,) = (n for n in body if isinstance(n, ast.ClassDef) and n.name == item.name)
    found: list[Attribute] = []
    shared = False
    for field in definition.body:
        name = ast.unparse(field.target) if isinstance(field, ast.AnnAssign) else "_"
        if not isinstance(field, ast.AnnAssign) or name.startswith("_"):
            continue
        above, line = [], field.lineno - 2
        while (comment := lines[line].strip()).startswith("#:"):
            above.insert(0, comment[2:].strip())
            line -= 1
        _, behind, text = lines[(field.end_lineno or field.lineno) - 1].partition("  #: ")
        kind = ast.unparse(field.annotation)
        if above or behind:
            found.append(Attribute([name], [kind], text.strip() or " ".join(above)))
        elif shared:
            found[-1].names.append(name)
            if kind not in found[-1].kinds:
                found[-1].kinds.append(kind)
        shared = bool(above) or (shared and not behind)
    return found


def _plain(kind: str) -> str:
    """Say what an alias of lore_core.data.arrays is."""
    known = {"Floats": "numbers", "Ints": "whole numbers", "Mask": "truth values"}
    return f"array of {known[kind]}" if kind in known else kind


def _attributes(names: Names, fields: list[Attribute]) -> Iterator[str]:
    yield "**Attributes**\n"
    for field in fields:
        shape = re.match(r"(\([^)]*\))(?:; |$)", field.text)
        kind = f"array of shape {shape[1]}" if shape else ", ".join(map(_plain, field.kinds))
        said = field.text[shape.end() :] if shape else field.text
        said = re.sub(r"^[a-z](?=[a-z-]*[ .;])", lambda match: match[0].upper(), said)
        said = names.text(said if said.endswith(".") or not said else f"{said}.")
        yield f"- `{', '.join(field.names)}` ({_kind(kind)}){f': {said}' if said else ''}"
    yield ""


def _members(item: Any) -> Iterator[tuple[str, Any]]:
    # What a class does its own way is described once, where it is first promised.
    promised = {
        name for base in item.mro() if base.path.startswith(PACKAGE) for name in base.members
    }
    for name, member in item.members.items():
        public = not name.startswith("_") and not member.is_alias and name not in promised
        if public and member.docstring is not None and (member.is_function or member.is_attribute):
            yield name, member


def _entry(names: Names, shown: str, item: Any) -> Iterator[str]:
    yield f"## `{shown}`\n"
    if item.is_attribute:
        yield f"```python\n{shown} = {item.value}\n```\n"
    else:
        yield f"```python\n{_signature(item, shown)}\n```\n"
    yield from _docstring(names, item)
    if item.is_class:
        fields = _fields(item)
        if fields:
            yield from _attributes(names, fields)
        documented = {
            part.strip()
            for section in (item.docstring.parsed if item.docstring else ())
            if section.kind.value == "attributes"
            for value in section.value
            for part in value.name.split(",")
        }
        short = shown.rsplit(".", 1)[-1]
        for name, member in _members(item):
            if member.is_function:
                yield f"### `{short}.{name}`\n"
                yield f"```python\n{_signature(member, f'{short}.{name}')}\n```\n"
                yield from _docstring(names, member)
            elif name not in documented and "property" in member.labels:
                yield f"### `{short}.{name}`\n"
                yield from _docstring(names, member)
    source = Path(item.filepath).relative_to(ROOT).as_posix()
    yield f"[Source](../../{source})\n"


def pages() -> dict[str, str]:
    """Return file name to content of everything in ``docs/api``."""
    names = Names()
    found = {}
    index = [
        "# API reference\n",
        "Everything public, made from the docstrings by `make docs`: do not edit these pages. "
        "`import lore_core as lore`, then `lore.<name>`, with or without a dot: "
        "`lore.brier_score`, `lore.metrics.wilson_interval`.\n",
    ]
    for page, items in names.pages.items():
        title, _ = PAGES[page]
        lines = [f"# {title}\n", "[All names](README.md)\n"]
        index += [f"## [{title}]({page}.md)\n", "| | |", "|---|---|"]
        for shown, item in items:
            lines += _entry(names, shown, item)
            first = names.text(item.docstring.value).split("\n\n")[0] if item.docstring else ""
            index.append(f"| [`{shown}`]({names.places[item.path]}) | {' '.join(first.split())} |")
        index.append("")
        found[f"{page}.md"] = "\n".join(lines).rstrip() + "\n"
    found["README.md"] = "\n".join(index).rstrip() + "\n"
    return found


def main() -> None:
    """Write the pages, and remove those of subjects that are gone."""
    FOLDER.mkdir(exist_ok=True)
    found = pages()
    for old in FOLDER.glob("*.md"):
        if old.name not in found:
            old.unlink()
    for name, text in found.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    sys.stdout.write(f"{len(found)} pages written to {FOLDER.relative_to(ROOT)}.\n")


if __name__ == "__main__":
    main()
