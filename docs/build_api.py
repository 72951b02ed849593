"""Write docs/api/: the public names of the library by subject, from their docstrings.

Run it with ``make docs``. The source is read, not imported; griffe reads the docstrings.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import griffe

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "api"
PACKAGE = "lore_core"

#: Page, its title, the modules whose public names it lists, and modules with names of their own,
#: listed as `module.name`.
PAGES: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "data": ("Data", ("data", "reading"), ("reading", "demo")),
    "maps": ("Feature maps", ("embedding",), ()),
    "local": (
        "Local errors",
        ("metrics.local_error", "regions.field", "regions.row_evidence", "regions.row_tables"),
        (),
    ),
    "bandwidth": ("Bandwidth", ("metrics.bandwidth", "metrics.bandwidth_choice"), ()),
    "global": (
        "Global metrics and summaries",
        ("metrics.global_metrics", "data.binning", "comparison.summary"),
        (),
    ),
    "chance": ("Chance and intervals", ("chance",), ()),
    "places": ("Regions and variables", ("regions", "variables"), ()),
    "recalibration": ("Recalibration", ("recalibration", "comparison.methods", "shipping"), ()),
    "groups": (
        "Groups, runs and decisions",
        ("comparison.groups", "comparison.runs", "comparison.runs_result", "metrics.rewards"),
        (),
    ),
    "figures": ("Figures and reports", ("report", "dashboard"), ("figures",)),
    "kernel_sums": ("Kernel sums", (), ("kernel_sums",)),
}
_LAST = "more", "More"

_ROLE = re.compile(r":(?:func|class|meth|mod|attr|data):`([^`]+)`")
_EMPTY_HINTS = ("", "None")


class Names:
    """Every listed name: its page, what it is called there, and its definition."""

    def __init__(self) -> None:
        package = griffe.load(PACKAGE, search_paths=[ROOT], docstring_parser="numpy")
        self.package = package
        self.pages: dict[str, list[tuple[str, Any]]] = {page: [] for page in (*PAGES, _LAST[0])}
        self.places: dict[str, str] = {}
        for name in _all_of(package["public_names"]):
            item = _definition(package["public_names"], name)
            if not item.is_module:
                self._add(_page_of(item.path), name, item)
        for page, (_, _, modules) in PAGES.items():
            for module in modules:
                for name in _all_of(package[module]):
                    item = _definition(package[module], name)
                    if item.path not in self.places and not item.is_module:
                        self._add(page, f"{module}.{name}", item)

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


def _all_of(module: Any) -> list[str]:
    return sorted(map(str, module.exports or ()), key=str.lower)


def _definition(module: Any, name: str) -> Any:
    item = module[name]
    item = item.final_target if item.is_alias else item
    # `embed` is a function, and the module that defines it.
    return item[name] if item.is_module and name in item.members else item


def _page_of(path: str) -> str:
    """Return the page of the longest listed module that a name lies in."""
    module = path.removeprefix(f"{PACKAGE}.")
    found = [
        (len(listed), page)
        for page, (_, modules, _) in PAGES.items()
        for listed in modules
        if f"{module}.".startswith(f"{listed}.")
    ]
    return max(found, default=(0, _LAST[0]))[1]


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
    for section in item.docstring.parsed:
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


def _members(item: Any) -> Iterator[tuple[str, Any]]:
    for name, member in item.members.items():
        public = not name.startswith("_") and not member.is_alias
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
    titles = {page: title for page, (title, _, _) in PAGES.items()} | dict([_LAST])
    found = {}
    index = [
        "# API reference\n",
        "Everything public, made from the docstrings by `make docs`: do not edit these pages. "
        "`import lore_core as lore`, then `lore.<name>`; names with a dot belong to the module of "
        "that name.\n",
    ]
    for page, items in names.pages.items():
        if not items:
            continue
        lines = [f"# {titles[page]}\n", "[All names](README.md)\n"]
        index += [f"## [{titles[page]}]({page}.md)\n", "| | |", "|---|---|"]
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
