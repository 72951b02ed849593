"""The options that commands share, each defined once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lore_core.data.defaults import GAMMA, N_BINS, RUNS_GAMMA

if TYPE_CHECKING:
    from lore_core.data.binning import Binning

Command = Callable[..., Any]

_POSITIVE = click.FloatRange(min=0, min_open=True)
SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)


@dataclass(frozen=True)
class SumsOptions:
    """Summing of rows where they are too many for exact numbers."""

    directory: Path | None = None  #: For saved sums
    n_workers: int = 1
    max_cells: int | None = None

    @property
    def wanted(self) -> bool:
        """Whether sums were asked for, however few rows there are."""
        return any(getattr(self, of.name) != of.default for of in fields(SumsOptions))

    @property
    def how(self) -> dict[str, Any]:
        """How :func:`~lore_core.mergeable.sum_files` sums."""
        return {"directory": self.directory, "n_workers": self.n_workers}


@dataclass(frozen=True, kw_only=True)
class ViewOptions(SumsOptions):
    """Data and settings as typed."""

    data: tuple[str, ...]  #: Files, a directory, or ``("demo",)``
    roles: tuple[str, ...]  #: ``"ROLE=NAME"``, not guessed
    query: str | None  #: To a database
    #: Calibration rows where the data name no split; 0 for none.
    calibration_share: float
    target: str  #: ``"top-label"`` or a class name
    #: ``pca-20``, ``tsne``, …; ``none`` for global metrics only.
    maps: tuple[str, ...]
    #: Of the local error; γ is None where it was not given.
    gamma: float | None
    n_bins: int
    binning: Binning
    seed: int  #: Of maps, splits and simulations
    jobs: int | None  #: Processors
    isolate: bool  #: Whether data are parsed in a child process with limits

    @property
    def columns(self) -> tuple[str, ...]:
        """All of ``"ROLE=NAME"``, with the query."""
        return self.roles if self.query is None else (*self.roles, f"query={self.query}")


def options_as(kind: type[Any], name: str, *options: Callable[[Command], Command]) -> Command:
    """Give a command options that become one argument ``name``, a dataclass."""
    names = [field.name for field in fields(kind)]

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def called(*args: Any, **given: Any) -> Any:
            value = kind(**{field: given.pop(field) for field in names if field in given})
            return command(*args, **{name: value}, **given)

        made: Command = called
        for option in reversed(options):
            made = option(made)
        return made

    return decorate


def number_option(*names: str, minimum: int = 1, **settings: Any) -> Callable[[Command], Command]:
    """Give a command an integer option."""
    return click.option(*names, type=click.IntRange(min=minimum), metavar="N", **settings)


def cost_options(command: Command) -> Command:
    """Give a command options for costs."""
    wrong = click.option(
        "--wrong-cost",
        type=_POSITIVE,
        default=10.0,
        metavar="W",
        help="Cost of a wrong answer; a right one costs nothing.",
    )
    unsure = click.option(
        "--unsure-cost", type=_POSITIVE, default=1.0, metavar="U", help="Cost of “unsure”."
    )
    return unsure(wrong(command))


def examples(*lines: str) -> str:
    """Return the epilog of a command's help: its examples, one a line."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


_DATA_AND_GAMMA = (
    click.argument("data", nargs=-1, required=True, metavar="DATA...", type=click.Path()),
    click.option(
        "--gamma",
        "-g",
        type=_POSITIVE,
        metavar="γ",
        help="Bandwidth: how near another row must be to count, in units of the map's scale "
        f"(default: {GAMMA}; {RUNS_GAMMA} for a directory of runs).",
    ),
)
column_option = click.option(
    "--column",
    "roles",
    multiple=True,
    metavar="ROLE=NAME",
    help="Which column plays a role, instead of a guess: label, probabilities, prediction, "
    "features, groups, split; several names with commas or as p_*; or accept=CHECK for a doubt "
    "that is none. May be repeated.",
)
_VIEW = (
    number_option(
        "--bins",
        "n_bins",
        default=N_BINS,
        help="Confidence bins: only rows in the same one are compared.",
    ),
    click.option(
        "--binning",
        type=click.Choice(["equal-width", "equal-mass"]),
        default="equal-width",
        help="Equal steps of confidence, or about as many rows in each.",
    ),
    click.option(
        "--target",
        default="top-label",
        metavar="CLASS",
        help="What is calibrated: the predicted class, one class by its name, or with all every "
        "class at once (metrics).",
    ),
    click.option(
        "--calibration-share",
        type=click.FloatRange(0, 0.9),
        default=0.5,
        metavar="SHARE",
        help="Of data without a split: rows set apart, at random, to fit on. 0: none, all are "
        "evaluated.",
    ),
    column_option,
    click.option(
        "--query",
        metavar="SQL",
        help="Of a database (.sqlite, .duckdb) what to read, in place of a table: SELECT …",
    ),
    number_option(
        "--seed", minimum=0, default=0, help="Of feature maps, random splits and simulations."
    ),
    number_option("--jobs", "-j", help="Processors used at a time (default: all)."),
    click.option(
        "--isolate",
        is_flag=True,
        help="Parse DATA in a child process with limits on memory and time: for untrusted files.",
    ),
)


_SUMS = (
    number_option(
        "--cells",
        "max_cells",
        minimum=1000,
        help="Of Parquet files with more than 2,000,000 rows: most cells of the map that rows are "
        "summed in (default: 524,288); four times as many halve their width.",
    ),
    number_option("--workers", "n_workers", default=1, help="Processes that sum such rows."),
    click.option(
        "--sums",
        "directory",
        metavar="DIR",
        type=click.Path(file_okay=False, path_type=Path),
        help="Keep the sums of each part of such files here: a run that was stopped goes on, and "
        "new files are added.",
    ),
)
sums_options = options_as(SumsOptions, "sums", *_SUMS)


def view_command(*lines: str, several_maps: bool = False, sums: bool = False) -> Command:
    """Make a command, with examples, of DATA and common options, a ViewOptions ``given``."""
    default = "pca-2" + "; pca-20 for a directory of runs" * several_maps
    one_map = click.option(
        "--map",
        "--features",
        "maps",
        multiple=several_maps,
        metavar="MAP",
        callback=lambda _, __, typed: (typed,) if isinstance(typed, str) else tuple(typed or ()),
        help="Feature map on which rows are near: pca, tsne, umap or identity, with its dimensions "
        f"as in pca-20; none: global only (default: {default})."
        + " May be repeated."
        * several_maps,
    )
    options = (*_DATA_AND_GAMMA, one_map, *_VIEW, *(_SUMS if sums else ()))
    with_view = options_as(ViewOptions, "given", *options)
    return lambda command: click.command(epilog=examples(*lines))(with_view(command))


def subgroups_option(about: str) -> Command:
    """Give a command a file of subgroups, and say ``about`` what it is for."""
    return click.option("--file", metavar="FILE", help=f"{about} (lore subgroups --save)")


def draws_option(what: str = "intervals and p-values", fewest: str = "") -> Command:
    """Give a command the number of simulations behind ``what``."""
    text = f"Simulations behind {what}{fewest} (default: what takes some seconds; 0: none)."
    return number_option("--draws", minimum=0, help=text)
