"""What the commands print and write: text, tables, files that are whole or not there."""

from __future__ import annotations

import functools
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import click

from lore_core.data.json_text import as_json

if TYPE_CHECKING:
    import pandas as pd

    from lore_core.data.result import Result

#: Files that hold a table, by suffix.
TABLES = (".csv", ".parquet", ".json")
_KINDS = ".csv, .parquet or .json"

json_option = click.option("--json", "json_", is_flag=True, help="Print JSON instead of text.")


def say(text: str) -> None:
    """Print a line to standard output at once: under make the output is a pipe."""
    click.echo(text)
    sys.stdout.flush()


def note(text: str) -> None:
    """Say something about the work on standard error."""
    click.echo(f"lore: {text}", err=True)


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """One mapping a row, for JSON."""
    return [
        {str(name): value for name, value in zip(table.columns, row, strict=True)}
        for row in table.itertuples(index=False, name=None)
    ]


def write_numbers(path: Path, table: pd.DataFrame, content: Any) -> None:
    """Write a table as the suffix says, .csv or .parquet; to .json what ``content`` holds."""
    from lore_core.data.atomic_files import replaced_at_once
    from lore_core.data.csv_text import csv_text

    with replaced_at_once(path) as place:
        if path.suffix.lower() == ".csv":
            place.write_text(csv_text(table), encoding="utf-8", newline="")
        elif path.suffix.lower() == ".parquet":
            table.to_parquet(place, index=False)
        else:
            place.write_text(as_json(content) + "\n", encoding="utf-8")


@dataclass(frozen=True)
class NumberOptions:
    """Where the numbers of a command go, besides the text it prints."""

    path: Path | None
    as_json: bool  #: Whether JSON is printed in place of the text

    def give(self, table: pd.DataFrame, content: Any) -> bool:
        """Write and print what was asked for; whether that is all, so that no text follows."""
        if self.path is not None:
            write_numbers(self.path, table, content)
        if self.as_json:
            say(as_json(content))
        return self.as_json

    def give_result(self, result: Result, **known: Any) -> bool:
        """Give all numbers of a result, and in JSON what is ``known`` besides, as :meth:`give`."""
        return self.give(result.frame(), {**known, **result.to_dict()})


def number_options(what: str = "them") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command its :class:`NumberOptions` as ``numbers``, checked before it begins."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @json_option
        @click.option("-o", "--out", metavar="FILE", help=f"Also write {what}: {_KINDS}.")
        @functools.wraps(command)
        def called(*given: Any, json_: bool, out: str | None, **rest: Any) -> Any:
            path = None if out is None else output_path(out, TABLES)
            return command(*given, numbers=NumberOptions(path, json_), **rest)

        return called

    return decorate


def text_table(columns: Mapping[str, Sequence[str]]) -> str:
    """Columns of text under their headings, the first flush left, the others flush right."""
    cells = [[name, *values] for name, values in columns.items()]
    widths = [max(map(len, column)) for column in cells]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in zip(*cells, strict=True)
    )


def output_path(name: str, suffixes: Sequence[str], option: str = "--out") -> Path:
    """Return where to write, or say what is wrong with it before anything is computed.

    Raises InputError if the suffix is none of `suffixes` or the directory does not exist.
    """
    path = Path(name).expanduser()
    if path.suffix.lower() not in suffixes or not path.resolve().parent.is_dir():
        from lore_core.data.validation import InputError

        kinds = f"{', '.join(suffixes[:-1])} or {suffixes[-1]}" if suffixes[1:] else suffixes[0]
        raise InputError(
            f"'{option}' must be a {kinds} file in a directory that exists; got {name!r}."
        )
    return path


class Progress:
    """Progress on standard error, only where that is a terminal; ``with Progress() as report``."""

    def __init__(self) -> None:
        self._shown = 0

    def __enter__(self) -> Progress:
        return self

    def __call__(self, share: float, message: str = "") -> None:
        """Show how much is done, 0 to 1, over what was shown before."""
        if not sys.stderr.isatty():
            return
        width = shutil.get_terminal_size().columns or 80
        line = f"{share:4.0%}  {message}"[: max(width - 1, 10)]
        click.echo(f"\r{line.ljust(self._shown)}", nl=False, err=True)
        self._shown = len(line)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the line empty."""
        if self._shown:
            click.echo(f"\r{' ' * self._shown}\r", nl=False, err=True)
