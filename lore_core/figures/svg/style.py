"""Rules of CSS for drawings, on a page with two themes and in a file of its own."""

from __future__ import annotations

from collections.abc import Mapping

from lore_core.figures.style import MODES, Mode, palette


def theme_rules() -> str:
    """Write the colours as variables of a page; what is of class ``paper`` is always light."""
    light, dark = (_variables(mode) for mode in MODES)
    screen = "@media screen and (prefers-color-scheme: dark)"
    return f":root, .paper {{ {light} }}\n{screen} {{ :root {{ {dark} }} }}\n"


def page_rules() -> str:
    """Write the rules for drawings on a page that has the colours as variables."""
    colors = {name: f"var(--{name})" for name in palette("light")}
    grounds = [f".b-{name} {{ background: {color}; }}" for name, color in colors.items()]
    return "\n".join([_rules(colors), *grounds, ""])


def file_rules() -> str:
    """Write the rules for a drawing on paper: few editors know variables."""
    return _rules(palette("light"))


def _variables(mode: Mode) -> str:
    return " ".join(f"--{name}: {color};" for name, color in palette(mode).items())


def _rules(colors: Mapping[str, str]) -> str:
    font = '9.5px "Source Sans 3", "Source Sans", "Open Sans", Arial, sans-serif'
    rules = [
        f"svg text {{ font: {font}; fill: {colors['ink']}; }}",
        "svg .mid { text-anchor: middle; }",
        "svg .end { text-anchor: end; }",
        f"svg .grid {{ stroke: {colors['line']}; stroke-width: 0.8; }}",
        # (What stands on lines keeps them off its letters.)
        f"svg .beside {{ paint-order: stroke; stroke: {colors['paper']}; stroke-width: 3px; }}",
        "svg path { stroke-linejoin: round; }",
    ]
    for name, color in colors.items():
        rules += [f"svg .s-{name} {{ stroke: {color}; }}", f"svg .f-{name} {{ fill: {color}; }}"]
    return "\n".join(rules)
