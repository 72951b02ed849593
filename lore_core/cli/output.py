"""Output of commands: text, JSON, numbers and figures as files."""

from __future__ import annotations

import dataclasses
import functools
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from lore_core.data.atomic_files import replaced_at_once
from lore_core.data.errors import InputError, as_path, require
from lore_core.data.export_text import as_json, csv_text
from lore_core.data.number_text import POINTS, Unit

if TYPE_CHECKING:
    import pandas as pd

    from lore_core.figures.chart import Chart

Table: TypeAlias = "pd.DataFrame"
TABLES = (".csv", ".parquet", ".json")
PRINTED = ("svg", "pdf", "png")


def say(text: str) -> None:
    """Print a line to standard output, flushed: under make it is a pipe."""
    click.echo(text)
    sys.stdout.flush()


def note(text: str) -> None:
    """Print a note on the work to standard error."""
    click.echo(f"lore: {text}", err=True)


def text_table(columns: Mapping[str, Sequence[str]]) -> str:
    """Return columns under their headings, the first flush left, others flush right."""
    cells = [[name, *values] for name, values in columns.items()]
    widths = [max(map(len, column)) for column in cells]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in zip(*cells, strict=True)
    )


def interval_texts(
    low: Iterable[float], high: Iterable[float], unit: Unit = POINTS, *, signed: bool = False
) -> list[str]:
    """Format a column of intervals."""
    return [unit.interval_text(*ends, signed=signed) for ends in zip(low, high, strict=True)]


@dataclass(frozen=True)
class Output:
    """A command's result."""

    content: Mapping[str, Any]  #: For ``--json`` and .json files
    table: Table  #: For .csv and .parquet files
    text: Sequence[str]  #: Paragraphs; empty ones are dropped
    details: Sequence[str] = ()  #: More paragraphs if no file is written
    chart: Chart | None = None
    exit_code: int = 0


def results(
    numbers: str = "them", *, figure: bool = False
) -> Callable[[Callable[..., Output]], Callable[..., int]]:
    """Give a command ``--json`` and ``-o``, and lay out the :class:`Output` that it returns.

    The command also gets ``progress``. ``numbers``: what ``-o`` writes, for its help. ``figure``:
    ``-o`` may be repeated, also draws the chart, and has options for its look.
    """

    def decorate(command: Callable[..., Output]) -> Callable[..., int]:
        @functools.wraps(command)
        def called(
            *args: Any,
            json_: bool,
            outs: Sequence[str] | str | None,
            mode: Any = "light",
            **options: Any,
        ) -> int:
            paths = _paths(outs, figure=figure)
            size = {name: options.pop(name) for name in _SIZES if name in options}
            with Progress() as progress:
                result = command(*args, progress=progress, **options)
            if paths and figure and result.chart is None:
                raise InputError("'--map' must have two dimensions for a picture.")
            if json_:
                say(as_json(result.content))
            else:
                shown = (*result.text, *(() if paths and figure else result.details))
                if any(shown):
                    say("\n\n".join(filter(None, shown)))
            for path in paths:
                if path.suffix.lower() in TABLES:
                    write_numbers(path, result.table, result.content)
                elif result.chart is not None:
                    chart = dataclasses.replace(result.chart, mode=mode)
                    chart.save(path, **size)
                if figure and not json_:
                    say(f"Wrote {path}.")
            return result.exit_code

        text = f"Also write {numbers}: .csv, .parquet or .json."
        out = click.option("-o", "--out", "outs", metavar="FILE", help=text)
        for option in reversed(_FIGURE if figure else (out,)):
            called = option(called)
        return _JSON(called)

    return decorate


_SIZES = ("width_mm", "height_mm", "font_pt")
size_options = (
    click.option(
        "--width",
        "width_mm",
        type=click.FloatRange(30, 500),
        default=84.0,
        metavar="MM",
        help="Of .svg, .pdf and .png (300 dpi); the default is a column of a journal, a slide has "
        "254.",
    ),
    click.option(
        "--height", "height_mm", type=click.FloatRange(20, 500), metavar="MM", help="Of these."
    ),
    click.option(
        "--font",
        "font_pt",
        type=click.FloatRange(4, 24),
        default=8.0,
        metavar="PT",
        help="Size of their text; on a slide 18.",
    ),
)
_JSON = click.option("--json", "json_", is_flag=True, help="Print JSON instead of text.")

_FIGURE = (
    click.option(
        "-o",
        "--out",
        "outs",
        multiple=True,
        metavar="FILE",
        help="Figure: .html, .png, .svg or .pdf; its numbers: .csv, .parquet or .json. May be "
        "repeated.",
    ),
    click.option(
        "--theme",
        "mode",
        type=click.Choice(["light", "dark"]),
        default="light",
        help="Of the figure.",
    ),
    *size_options,
)


def _paths(outs: Sequence[str] | str | None, *, figure: bool) -> list[Path]:
    """Return where to write; InputError for a bad suffix or directory, before any work."""
    names = [outs] if isinstance(outs, str) else outs or ()
    suffixes = (".html", *(f".{kind}" for kind in PRINTED), *TABLES) if figure else TABLES
    paths = [output_path(name, suffixes) for name in names]
    if any(path.suffix.lower() not in TABLES for path in paths):
        require("A figure", "plotly")
    return paths


def output_path(name: str, suffixes: Sequence[str], option: str = "--out") -> Path:
    """Return where to write; InputError for a suffix not in ``suffixes`` or a missing directory."""
    path = as_path(name)
    if path.suffix.lower() not in suffixes or not path.resolve().parent.is_dir():
        kinds = f"{', '.join(suffixes[:-1])} or {suffixes[-1]}" if suffixes[1:] else suffixes[0]
        raise InputError(
            f"'{option}' must be a {kinds} file in a directory that exists; got {name!r}."
        )
    return path


def write_numbers(path: Path, table: Table, content: Any) -> None:
    """Write ``table`` to .csv or .parquet, or ``content`` to .json."""
    with replaced_at_once(path) as part:
        if path.suffix.lower() == ".csv":
            part.write_text(csv_text(table), encoding="utf-8", newline="")
        elif path.suffix.lower() == ".parquet":
            table.to_parquet(part, index=False)
        else:
            part.write_text(as_json(content) + "\n", encoding="utf-8")


class Progress:
    """Progress on standard error, only where that is a terminal; ``with Progress() as report``."""

    def __init__(self) -> None:
        self._shown = 0
        self._start: tuple[float, float] | None = None  #: Seconds, and the share done then

    def __enter__(self) -> Progress:
        return self

    def __call__(self, share: float, message: str = "") -> None:
        """Show the share done, 0 to 1, over the last message."""
        if not sys.stderr.isatty():
            return
        now = time.monotonic()
        began, first = self._start = self._start or (now, share)
        if now - began >= 1.0 and first < share < 1.0:
            rest = (now - began) * (1.0 - share) / (share - first)
            left = f"{rest:.0f} s" if rest < 90 else f"{rest / 60:.0f} min"
            message += f" (about {left} left)"
        width = shutil.get_terminal_size().columns or 80
        line = f"{share:4.0%}  {message}"[: max(width - 1, 10)]
        click.echo(f"\r{line.ljust(self._shown)}", nl=False, err=True)
        self._shown = len(line)

    def __exit__(self, *_: object) -> None:
        if self._shown:
            click.echo(f"\r{' ' * self._shown}\r", nl=False, err=True)
