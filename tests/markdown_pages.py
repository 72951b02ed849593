"""Reading Markdown: its code blocks, links and headings."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

_FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(<?([^()\s>]+)>?(?:\s+\"[^\"]*\")?\)")
_TAG = re.compile(r"<(?:a|img|source)\b[^>]*?(?:href|src|srcset)=\"([^\"]+)\"")


def python_blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "``", _FENCE.sub("", text))


def links(text: str) -> list[str]:
    plain = without_code(text)
    return _LINK.findall(plain) + _TAG.findall(plain)


def anchors(text: str) -> set[str]:
    found: dict[str, int] = {}
    names = set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))
    for heading in re.findall(r"^#{1,6} +(.+?)(?: +#+)?$", _FENCE.sub("", text), re.MULTILINE):
        shown = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", shown.strip().lower()).replace(" ", "-")
        number = found.get(slug, 0)
        found[slug] = number + 1
        names.add(slug if number == 0 else f"{slug}-{number}")
    return names
