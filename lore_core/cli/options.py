"""The options that commands share, each defined once, and the view they come to."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import click

from lore_core.data.defaults import GAMMA, N_BINS, RUNS_GAMMA

if TYPE_CHECKING:
    from lore_core.data.binning import Binning

Command = Callable[..., Any]

_POSITIVE = click.FloatRange(min=0, min_open=True)

data_argument = click.argument(
    "data", nargs=-1, required=True, metavar="DATA...", type=click.Path()
)


@dataclass(frozen=True)
class ViewOptions:
    """What is looked at, and how, as it was said on the command line."""

    data: tuple[str, ...]  #: Files, a directory, or ``("demo",)``
    columns: tuple[str, ...]  #: ``"ROLE=NAME"`` for columns whose role is not to be guessed
    #: Share of the rows set apart for calibration where the data name no split; 0 for none.
    calibration_share: float
    target: str  #: ``"top-label"`` or a class name
    #: Feature maps: ``pca-20``, ``tsne``, …; ``none`` for global metrics only.
    maps: tuple[str, ...]
    #: Settings of the local error; γ is None where it was not given.
    gamma: float | None
    n_bins: int
    binning: Binning
    seed: int  #: Of maps, splits and simulations
    jobs: int | None  #: Processors used at a time
    isolate: bool  #: Whether the data are parsed in a child process, with limits


#: What has no other form in the command line than in the options.
_AS_SAID = tuple(field.name for field in fields(ViewOptions) if field.name != "maps")


def draws_option(what: str) -> Callable[[Command], Command]:
    """Give a command ``--draws``; ``what`` says what they are and what is done without it."""
    return click.option("--draws", type=click.IntRange(min=0), metavar="N", help=what)


def cost_options(command: Command) -> Command:
    """Give a command the reader's costs."""
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


_GAMMA = click.option(
    "--gamma",
    "-g",
    type=_POSITIVE,
    metavar="γ",
    help="Bandwidth: how near another row must be to count, in units of the map's scale "
    f"(default: {GAMMA}; {RUNS_GAMMA} for a directory of runs).",
)
_ONE_MAP = (
    "Feature map on which rows are near: pca, tsne, umap or identity, with its dimensions as "
)
_VIEW = (
    click.option(
        "--bins",
        "n_bins",
        type=click.IntRange(min=1),
        default=N_BINS,
        metavar="N",
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
        "class at once (metrics, landscape and curve).",
    ),
    click.option(
        "--calibration-share",
        type=click.FloatRange(0, 0.9),
        default=0.5,
        metavar="SHARE",
        help="Of data without a split: rows set apart, at random, to fit on. 0: none, all are "
        "evaluated.",
    ),
    click.option(
        "--column",
        "columns",
        multiple=True,
        metavar="ROLE=NAME",
        help="Which column plays a role, instead of a guess: label, probabilities, prediction, "
        "features, groups, split; several names with commas or as p_*; or accept=CHECK for a doubt "
        "that is none. May be repeated.",
    ),
    click.option(
        "--query",
        metavar="SQL",
        help="Of a database (.sqlite, .duckdb) what to read, in place of a table: SELECT …",
    ),
    click.option(
        "--seed",
        type=click.IntRange(min=0),
        default=0,
        metavar="N",
        help="Of feature maps, random splits and simulations.",
    ),
    click.option(
        "--jobs",
        "-j",
        type=click.IntRange(min=1),
        metavar="N",
        help="Processors used at a time (default: all).",
    ),
    click.option(
        "--isolate",
        is_flag=True,
        help="Parse DATA in a child process with limits on memory and time: for untrusted files.",
    ),
)


def view_options(*, several_maps: bool = False) -> Callable[[Command], Command]:
    """Give a command DATA and the options every command shares, as one :class:`ViewOptions`.

    ``several_maps``: whether ``--map`` may be repeated. Returns a decorator; the command is called
    with the ViewOptions as its first argument.
    """
    repeated = " May be repeated." if several_maps else ""
    one_map = click.option(
        "--map",
        "--features",
        "maps",
        multiple=several_maps,
        metavar="MAP",
        help=f"{_ONE_MAP}in pca-20; none: global only (default: pca-2"
        + ("; pca-20 for a directory of runs)." if several_maps else ").")
        + repeated,
    )

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def called(*, maps: str | tuple[str, ...] | None, **options: Any) -> Any:
            query = options.pop("query")
            said = {name: options.pop(name) for name in _AS_SAID}
            if query is not None:
                said["columns"] = (*said["columns"], f"query={query}")
            chosen = (maps,) if isinstance(maps, str) else tuple(maps or ())
            return command(ViewOptions(maps=chosen, **said), **options)

        for option in reversed((data_argument, _GAMMA, one_map, *_VIEW)):
            called = option(called)
        return called

    return decorate
