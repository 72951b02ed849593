"""What a report is made with, and what has to be known to make it again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

from lore_core.data.validation import check_integer
from lore_core.metrics.rewards import unsure_threshold
from lore_core.view import View


@dataclass(frozen=True)
class ReportSettings:
    """Everything that changes a report's numbers, besides what is looked at."""

    #: Labels of the recalibrators; the first is what the others are held against. None: the
    #: standard ones.
    methods: tuple[str, ...] | None = None
    group_column: str | None = None  #: Group column of the fairness section; None: the first
    #: Smaller groups do not set the maximum. None: 30, or the largest group where all are smaller.
    min_group_size: int | None = None
    #: Costs of the decisions section.
    unsure_cost: float = 1.0
    wrong_cost: float = 10.0
    #: Resamples a method, and simulations of chance; None: what takes some seconds, 0: none.
    n_draws: int | None = None

    def __post_init__(self) -> None:
        """Refuse what no report could be made with, before anything is computed."""
        unsure_threshold(self.unsure_cost, self.wrong_cost)
        if self.n_draws is not None:
            check_integer(self.n_draws, "n_draws", minimum=0)


@dataclass(frozen=True)
class Source:
    """Where the data came from, for whoever makes the report again."""

    #: What stands as DATA on the command line; empty where it is not known.
    files: tuple[str, ...] = ()
    #: How they were read: ``--column``, ``--calibration-share``, ``--seed``.
    options: tuple[str, ...] = field(default=())


def map_option(view: View) -> str:
    """Name the map as the command line does: ``pca-2``, ``tsne-2``, ``identity``, ``none``."""
    return view.embedding.name.typed if view.is_local else "none"


def rerun_command(
    view: View, settings: ReportSettings, *, target_name: str, source: Source, digest: str
) -> tuple[str, list[str]]:
    """Write the shell script that makes the report again, and the options it gives to the command.

    ``target_name``: as the command line names it. ``digest``: of the data: other data are refused.
    """
    looked_at = {
        "--map": map_option(view),
        "--gamma": repr(view.gamma),
        "--bins": str(view.n_bins),
        "--binning": view.binning,
        "--target": target_name,
    }
    computed = {
        "--simulation-seed": str(view.seed),
        "--unsure-cost": repr(settings.unsure_cost),
        "--wrong-cost": repr(settings.wrong_cost),
    }
    options = [*chain(*looked_at.items()), *source.options, *chain(*computed.items())]
    for name in settings.methods or ():
        options += ["--method", name]
    if settings.group_column is not None:
        options += ["--group", settings.group_column]
    if settings.min_group_size is not None:
        options += ["--min-group-size", str(settings.min_group_size)]
    if settings.n_draws is not None:
        options += ["--draws", str(settings.n_draws)]
    options += ["--expect-data", digest]
    return _script(source.files, options), options


def _script(files: Sequence[str], options: Sequence[str]) -> str:
    if files:
        said = "# DATA may be left out where this is run in the directory of the first run."
        default = f"[ $# -gt 0 ] || set -- {shlex.join(files)}"
    else:
        said = "# DATA: the file (or the calibration and the test file) the report was made from."
        default = ': "${1:?name the data file: sh rerun.sh DATA...}"'
    return "\n".join(
        [
            "#!/bin/sh",
            "# Makes this report again, with the same numbers, from the same data:",
            "#     sh rerun.sh [DATA...]           writes the directory report-again",
            "#     OUT=new.zip sh rerun.sh DATA    writes new.zip",
            said,
            "# Other data than those of the report are refused (--expect-data).",
            "set -eu",
            default,
            f'exec lore report "$@" {shlex.join(options)} -o "${{OUT:-report-again}}"',
            "",
        ]
    )
