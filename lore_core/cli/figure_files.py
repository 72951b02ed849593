"""Figures and their numbers as files: one suffix, one kind."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lore_core.cli.output import TABLES, output_path, write_numbers

if TYPE_CHECKING:
    import pandas as pd

    from lore_core.figures.chart import Chart

_STATIC = (".png", ".svg", ".pdf")


def figure_options(command: Any) -> Any:
    """Give a command ``outs``, ``mode``, ``width`` and ``height``."""
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
                show_default=True,
                help="Of the figure.",
            ),
            click.option(
                "--width",
                type=click.IntRange(min=100),
                default=1000,
                show_default=True,
                metavar="PX",
                help="Of .png, .svg and .pdf; a PNG has twice as many pixels.",
            ),
            click.option("--height", type=click.IntRange(min=100), metavar="PX", help="Of both."),
        )
    ):
        command = option(command)
    return command


def figure_paths(outs: tuple[str, ...]) -> list[Path]:
    """Return where to write, or say what is wrong with it before anything is computed.

    Raises
    ------
    InputError
        If a suffix is unknown, a directory does not exist, or static images cannot be made here.
    """
    paths = [output_path(name, (".html", *_STATIC, *TABLES)) for name in outs]
    if any(path.suffix.lower() not in TABLES for path in paths):
        from lore_core.data.extras import require

        require("A figure", "plotly")
    if any(path.suffix.lower() in _STATIC for path in paths):
        from lore_core.data.validation import InputError
        from lore_core.figures.export import why_no_static_images

        missing = why_no_static_images()
        if missing is not None:
            raise InputError(missing)
    return paths


def write_figure(
    path: Path, chart: Chart, table: pd.DataFrame, content: Any, *, width: int, height: int | None
) -> None:
    """Write a figure or its numbers, whichever the suffix says.

    Parameters
    ----------
    path : Path
        From :func:`figure_paths`.
    chart : Chart
        The figure.
    table : DataFrame
        The numbers for .csv and .parquet.
    content
        What a .json file holds.
    width, height : int
        Pixels of a static image; the height is the chart's own by default.
    """
    suffix = path.suffix.lower()
    if suffix in TABLES:
        write_numbers(path, table, content)
        return
    from lore_core.data.atomic_files import write_bytes
    from lore_core.figures.export import chart_html, chart_image

    if height is not None:
        chart.figure.update_layout(height=height)
    if suffix == ".html":
        made = chart_html(chart)
    else:
        kind: Any = suffix.removeprefix(".")
        with warnings.catch_warnings():
            # plotly's, about an option of Kaleido's that it passes on itself.
            warnings.simplefilter("ignore", UserWarning)
            made = chart_image(chart, kind, width=width)
    write_bytes(path, made)
