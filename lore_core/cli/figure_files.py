"""Figures and their numbers as files: one suffix, one kind."""

from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lore_core.cli.options import Command
from lore_core.cli.output import TABLES, output_path, say, write_numbers

if TYPE_CHECKING:
    import pandas as pd

    from lore_core.figures.chart import Chart
    from lore_core.figures.style import Mode

_STATIC = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class FigureOptions:
    """Where a figure and its numbers are written to, and how it looks."""

    paths: tuple[Path, ...]  #: The suffix says what is written: a figure or numbers.
    mode: Mode  #: Of the figure
    #: Pixels of a static image; the height is the chart's own by default.
    width: int
    height: int | None

    def write(self, chart: Chart, table: pd.DataFrame, content: Any, *, quiet: bool) -> None:
        """Write a figure, ``table`` (.csv, .parquet) and ``content`` (.json) to all places."""
        for path in self.paths:
            if path.suffix.lower() in TABLES:
                write_numbers(path, table, content)
            else:
                self._draw(path, chart)
            if not quiet:
                say(f"Wrote {path}.")

    def _draw(self, path: Path, chart: Chart) -> None:
        from lore_core.data.atomic_files import write_bytes
        from lore_core.figures.export import chart_html, chart_image

        if self.height is not None:
            chart.figure.update_layout(height=self.height)
        suffix = path.suffix.lower()
        if suffix == ".html":
            made = chart_html(chart)
        else:
            kind: Any = suffix.removeprefix(".")
            with warnings.catch_warnings():
                # plotly's, about an option of Kaleido's that it passes on itself.
                warnings.simplefilter("ignore", UserWarning)
                made = chart_image(chart, kind, width=self.width)
        write_bytes(path, made)


def figure_options(command: Command) -> Command:
    """Give a command its :class:`FigureOptions` as ``figure``, checked before it begins."""

    @functools.wraps(command)
    def called(
        *given: Any, outs: tuple[str, ...], mode: Mode, width: int, height: int | None, **rest: Any
    ) -> Any:
        figure = FigureOptions(_paths(outs), mode, width, height)
        return command(*given, figure=figure, **rest)

    for option in reversed(
        (
            click.option(
                "-o",
                "--out",
                "outs",
                multiple=True,
                metavar="FILE",
                help="Figure: .html, .png, .svg or .pdf; its numbers: .csv, .parquet or .json. May "
                "be repeated.",
            ),
            click.option(
                "--theme",
                "mode",
                type=click.Choice(["light", "dark"]),
                default="light",
                help="Of the figure.",
            ),
            click.option(
                "--width",
                type=click.IntRange(min=100),
                default=1000,
                metavar="PX",
                help="Of .png, .svg and .pdf; a PNG has twice as many pixels.",
            ),
            click.option("--height", type=click.IntRange(min=100), metavar="PX", help="Of both."),
        )
    ):
        called = option(called)
    return called


def _paths(outs: tuple[str, ...]) -> tuple[Path, ...]:
    """Return where to write, or say what is wrong with it before anything is computed.

    Raises InputError if a suffix is unknown, a directory does not exist, or static images cannot be
    made here.
    """
    paths = tuple(output_path(name, (".html", *_STATIC, *TABLES)) for name in outs)
    if any(path.suffix.lower() not in TABLES for path in paths):
        from lore_core.data.optional_dependencies import require

        require("A figure", "plotly")
    if any(path.suffix.lower() in _STATIC for path in paths):
        from lore_core.data.validation import InputError
        from lore_core.figures.export import why_no_static_images

        missing = why_no_static_images()
        if missing is not None:
            raise InputError(missing)
    return paths
