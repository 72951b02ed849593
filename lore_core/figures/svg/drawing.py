"""SVG element by element, the same bytes on every machine, and its rules of CSS."""

import base64
import io
from collections.abc import Mapping
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lore_core.figures.style import MODES, palette

#: 84 mm, the width of a journal's column, in CSS pixels of 1/96 inch.
WIDTH = 318


class Drawing:
    """A drawing 84 mm wide and ``height`` CSS pixels high, of the class ``kind``."""

    def __init__(self, height: float, alt: str, kind: str = "drawing") -> None:
        self._size = {"width": str(WIDTH), "height": _short(height)}
        self._root = ElementTree.Element(
            "svg",
            {
                "xmlns": "http://www.w3.org/2000/svg",
                "viewBox": f"0 0 {WIDTH} {_short(height)}",
                "role": "img",
                "aria-label": alt,
                "class": kind,
            },
        )

    def add(self, tag: str, **options: str | float) -> None:
        """Draw an element over others; ``_`` stands for ``-``, ``kind`` for the class."""
        text, title = str(options.pop("text", "")), str(options.pop("title", ""))
        element = ElementTree.SubElement(self._root, tag)
        for name, value in options.items():
            attribute = "class" if name == "kind" else name.replace("_", "-")
            element.set(attribute, value if isinstance(value, str) else _short(value))
        element.text = text or None
        if title:
            ElementTree.SubElement(element, "title").text = title

    def __html__(self) -> str:
        """Write it for a page that has the rules for drawings."""
        return self._written(self._size)

    def file(self) -> bytes:
        """Write it as a file of its own, in the colours of paper."""
        style = ElementTree.Element("style")
        style.text = _rules(palette("light"))  # (few editors know variables)
        return self._written({"width": "84mm"}, style).encode()

    def _written(self, size: dict[str, str], *first: ElementTree.Element) -> str:
        whole = ElementTree.Element("svg", self._root.attrib | size)
        whole.extend([*first, *self._root])
        return ElementTree.tostring(whole, encoding="unicode")


def _short(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


def page_rules() -> str:
    """Write the rules for drawings on a page, colours as variables; ``paper`` is always light."""
    light, dark = (
        " ".join(f"--{name}: {color};" for name, color in palette(mode).items()) for mode in MODES
    )
    screen = "@media screen and (prefers-color-scheme: dark)"
    colors = {name: f"var(--{name})" for name in palette("light")}
    grounds = [f".b-{name} {{ background: {color}; }}" for name, color in colors.items()]
    themes = f":root, .paper {{ {light} }}\n{screen} {{ :root {{ {dark} }} }}"
    return "\n".join([themes, _rules(colors), *grounds, ""])


def png_url(pixels: NDArray[np.uint8]) -> str:
    """Return pixels (h, w), (h, w, 3) or (h, w, 4) as a data URL: grey, RGB or RGBA."""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def _rules(colors: Mapping[str, str]) -> str:
    font = '9.5px "Source Sans 3", "Source Sans", "Open Sans", Arial, sans-serif'
    rules = [
        f"svg text {{ font: {font}; fill: {colors['ink']}; }}",
        "svg .mid { text-anchor: middle; }",
        "svg .end { text-anchor: end; }",
        f"svg .grid {{ stroke: {colors['line']}; stroke-width: 0.8; }}",
        f"svg .beside {{ paint-order: stroke; stroke: {colors['paper']}; stroke-width: 3px; }}",
        "svg path { stroke-linejoin: round; }",
    ]
    for name, color in colors.items():
        rules += [f"svg .s-{name} {{ stroke: {color}; }}", f"svg .f-{name} {{ fill: {color}; }}"]
    return "\n".join(rules)
