"""What colours mean, in a light and a dark theme, for every way a picture is drawn."""

import html
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lore_core.recalibration.registry import color_numbers

Mode = Literal["light", "dark"]
MODES: tuple[Mode, Mode] = ("light", "dark")

#: Blue = underconfident, red = overconfident, everywhere.
UNDERCONFIDENT = {"light": "#2c6fb0", "dark": "#6aaeea"}
OVERCONFIDENT = {"light": "#c0392b", "dark": "#f0786a"}
NEUTRAL = {"light": "#5f6b7a", "dark": "#9aa5b1"}
INK = {"light": "#1f2933", "dark": "#e4e7eb"}
GRID = {"light": "#e4e7eb", "dark": "#2f3742"}
PAPER = {"light": "#ffffff", "dark": "#0f1419"}
ACCENT = {"light": "#0f766e", "dark": "#2dd4bf"}

#: Opacity of a field outside significant subgroups.
PALE = 0.38

#: Okabe–Ito, without the two that could be read as over- and underconfident. What others are
#: compared with (the first) keeps to the background. The class of a method says which is its own.
# fmt: off
METHOD_COLORS = {
    "light": [
        "#8a95a3", "#e69f00", "#009e73", "#7b4ea3", "#56b4e9", "#8c6d31",
        "#cc79a7", "#1f2933", "#a03c6b", "#6b7f00", "#0b7285", "#5c4033",
        "#d9480f", "#2b3fd6", "#a61e4d", "#c92a2a", "#5f3dc4",
    ],
    "dark": [
        "#7b8794", "#f0b429", "#2fc79a", "#b48ae0", "#7cc8f5", "#c8a864",
        "#e79cc8", "#e4e7eb", "#f06fa0", "#b5cc3a", "#3fc1d6", "#b08968",
        "#ff8a4c", "#5b8cff", "#ff9fb8", "#ff6b6b", "#c9b6ff",
    ],
}
# fmt: on

_DIVERGING_STOPS = (0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0)
_DIVERGING = {
    "light": ("#053a6e", "#2c6fb0", "#9cc4e4", "#f2f2f0", "#f2b6a4", "#c0392b", "#67001f"),
    "dark": ("#a9d4ff", "#4f97dc", "#24507c", "#252b33", "#7c3028", "#e0604f", "#ffc2b5"),
}
_SEQUENTIAL_STOPS = (0.0, 0.25, 0.5, 0.75, 1.0)
_SEQUENTIAL = {
    "light": ("#f4f1ea", "#f1d9a0", "#e2a14a", "#a85c22", "#4d2410"),
    "dark": ("#252b33", "#5d4a2a", "#a8732a", "#e6ab4c", "#fff0c9"),
}

#: Names that have a colour of their own.
MAX_CATEGORIES = 12
#: Numbers of a column, in none of the colours of errors.
_COLUMN = {
    "light": ("#e7efed", "#a9d3cb", "#58a99d", "#1f7470", "#0a3b40"),
    "dark": ("#2b333b", "#27514f", "#2f8780", "#66c7b8", "#d8fff5"),
}

#: A colour scale: places from 0 to 1 and the colour at each.
Scale = list[tuple[float, str]]


def diverging(mode: Mode) -> Scale:
    """Colour scale of signed gaps: blue below zero, red above."""
    return list(zip(_DIVERGING_STOPS, _DIVERGING[mode], strict=True))


def sequential(mode: Mode, *, of_column: bool = False) -> Scale:
    """Colour scale of absolute errors, paper to brown, or of a column's numbers, to teal."""
    return list(zip(_SEQUENTIAL_STOPS, (_COLUMN if of_column else _SEQUENTIAL)[mode], strict=True))


def category_scale(mode: Mode, n: int) -> Scale:
    """Colour scale in n equal steps: a colour each, grey beyond :data:`MAX_CATEGORIES`."""
    grey, *colors = METHOD_COLORS[mode]
    steps = [colors[k] if k < MAX_CATEGORIES else grey for k in range(n)]
    return [(at, color) for k, color in enumerate(steps) for at in (k / n, (k + 1) / n)]


def shades(scale: Scale, n: int) -> NDArray[np.uint8]:
    """Return n colours from end to end of a scale, shape (n, 3): red, green and blue."""
    at, colors = zip(*scale, strict=True)
    share, table = np.linspace(0, 1, n), np.array([channels(color) for color in colors])
    mixed = [np.interp(share, at, channel) for channel in table.T]
    return np.asarray(np.rint(np.stack(mixed, axis=1)), dtype=np.uint8)


def palette(mode: Mode) -> dict[str, str]:
    """Return every colour by what it means; the methods' are ``m0``, ``m1``, …."""
    themed = {
        "paper": PAPER,
        "ink": INK,
        "quiet": NEUTRAL,
        "line": GRID,
        "over": OVERCONFIDENT,
        "under": UNDERCONFIDENT,
        "accent": ACCENT,
    }
    methods = {f"m{place}": color for place, color in enumerate(METHOD_COLORS[mode])}
    return {name: colors[mode] for name, colors in themed.items()} | methods


def method_color(label: str, position: int) -> str:
    """Name the colour of a curve: a known method's own on every page, else by its position."""
    return f"m{color_numbers().get(label, position + 1) % len(METHOD_COLORS['light'])}"


def escape(text: object) -> str:
    """Make text from the user's data safe inside a figure, where Plotly would render tags."""
    return html.escape(str(text), quote=False)


def channels(color: str) -> tuple[int, int, int]:
    """``#rrggbb`` as red, green and blue, 0 to 255."""
    red, green, blue = (int(color[place : place + 2], 16) for place in (1, 3, 5))
    return red, green, blue


def luminance(color: NDArray[np.uint8]) -> float:
    """Return how light red, green and blue from 0 to 255 are, from 0 to 1 (WCAG 2)."""
    share = color / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def rgba(color: str, alpha: float) -> str:
    """``#rrggbb`` with an opacity."""
    return f"rgba({','.join(map(str, channels(color)))},{alpha})"
