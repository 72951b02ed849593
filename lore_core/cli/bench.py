"""``lore bench``: every recalibrator on every dataset of a directory, ranked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lore_core.cli.compare import method_option, methods_of
from lore_core.cli.options import ViewOptions, view_command
from lore_core.cli.output import Output, Progress, output_path, results, text_table
from lore_core.data.atomic_files import write_bytes
from lore_core.data.defaults import GAMMA
from lore_core.data.errors import InputError, as_path, counted
from lore_core.data.number_text import decimal, p_sentence, p_words

if TYPE_CHECKING:
    from lore_core.comparison.benchmark import Benchmark

_MAP = "pca-20"
_SCORES = ("NLL", "Brier")


@view_command(
    "lore bench sets/ -o values.csv --markdown ranks.md",
    "lore bench sets/ --map none --method 'Temperature scaling' --method 'Matrix scaling'",
    several_maps=True,
)
@method_option
@click.option("--rivals", is_flag=True, help="Also installed recalibrators of other libraries.")
@click.option("--markdown", metavar="FILE", help="Also write the tables: .md.")
@results("every value, rank and difference")
def bench(
    given: ViewOptions,
    *,
    names: tuple[str, ...],
    rivals: bool,
    markdown: str | None,
    progress: Progress,
) -> Output:
    """Rank every recalibrator over the datasets of a directory.

    DATA is a directory of pairs <set>_cal.* and <set>_test.*, unlike datasets or one experiment's.
    Each method is fitted on the calibration rows of each and measured on its test rows. Means over
    unlike datasets say little, so methods are ranked within each.
    """
    from lore_core.comparison.benchmark import benchmark

    directory = as_path(given.data[0])
    if len(given.data) != 1 or not directory.is_dir():
        raise InputError(
            f"DATA must be one directory of pairs <set>_cal.* and <set>_test.*; got "
            f"{' '.join(given.data)!r}."
        )
    written = None if markdown is None else output_path(markdown, (".md",), "--markdown")
    local = given.maps != ("none",)
    methods = methods_of(given, names, local=local, rivals=rivals, all_methods=True)
    if len(methods) < 2:
        raise InputError("'--method' must name two methods or more to rank them; got one.")
    result = benchmark(
        directory,
        methods,
        feature_map=list(given.maps or (_MAP,)) if local else None,
        gamma=given.gamma or GAMMA,
        n_bins=given.n_bins,
        binning=given.binning,
        n_jobs=given.jobs,
        progress=progress,
    )
    tables = _tables(result)
    if written is not None:
        write_bytes(written, _as_markdown(tables).encode())
    text = [part for sentence, columns in tables for part in (sentence, text_table(columns))]
    return Output(result.to_dict(), result.frame(), text)


def _tables(result: Benchmark) -> list[tuple[str, dict[str, list[str]]]]:
    n = result.values.n_runs
    sets = counted(n, "dataset")
    rankings = {name: result.ranking(name) for name in result.metrics}
    first = next(name for name in (*_SCORES, *result.metrics) if name in rankings)
    order = list(rankings[first].index)
    tables = [
        (
            f"Mean rank over {sets}, 1 the lowest error, in the order of the {first}:",
            {"": order}
            | {
                name: [decimal(rank, 1) for rank in table["mean_rank"][order]]
                for name, table in rankings.items()
            },
        )
    ]
    for name in _SCORES:
        if name not in rankings:
            continue
        table, best = rankings[name], str(rankings[name].index[0])
        tables.append(
            (
                f"{name}: whether methods differ at all, Friedman: "
                f"{p_sentence(result.any_difference(name))}. “p” is that a method differs from "
                f"“{best}”, the first by mean rank: Wilcoxon over {sets}, adjusted by Holm; "
                f"{decimal(2.0 ** (1 - n), 4)} is the least that so many can give before that. "
                "“Near” counts datasets where a method is lowest or its paired 95 % interval to "
                "the lowest holds 0.",
                {
                    "": list(table.index),
                    "mean rank": [decimal(x, 1) for x in table["mean_rank"]],
                    "÷ lowest": [decimal(x, 3) for x in table["ratio"]],
                    "lowest": [str(int(x)) for x in table["best"]],
                    "near": [str(int(x)) for x in table["near"]],
                    "p": [p_words(x) for x in table["p_value"]],
                },
            )
        )
    return tables


def _as_markdown(tables: list[tuple[str, dict[str, list[str]]]]) -> str:
    parts = []
    for text, columns in tables:
        lines = [list(columns), ["---"] * len(columns), *zip(*columns.values(), strict=True)]
        parts.append(text + "\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines))
    return "\n\n".join(parts) + "\n"
