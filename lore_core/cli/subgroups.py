"""``lore subgroups``: where the confidence is worse than on average, tested on held-out rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

import lore_core as lore
from lore_core import comparison, regions, view as views
from lore_core.cli import source
from lore_core.cli.options import ViewOptions, subgroups_option, view_command
from lore_core.cli.output import Output, Progress, Table, output_path, results
from lore_core.regions.subgroups.saved import describe_measured

against_option = click.option(
    "--against",
    type=click.Choice(["auto", "zero", "average", "same confidence"]),
    default="auto",
    help="What a subgroup must be worse than: zero (nothing wrong), the average gap of all rows, "
    "or that of rows of the same confidence. auto: the average where that is itself significant, "
    "else zero.",
)


@view_command(
    "lore subgroups demo",
    'lore subgroups model_cal.npz model_test.npz --map tsne --against "same confidence" '
    "-o subgroups.csv",
    "lore subgroups january.csv --save subgroups.json",
    "lore subgroups february.csv --file subgroups.json",
)
@against_option
@click.option("--save", metavar="FILE", help="Also write their definitions: .json, for --file.")
@subgroups_option("Measure the subgroups saved in this file instead of searching.")
@results()
def subgroups(
    given: ViewOptions, *, against: Any, save: str | None, file: str | None, progress: Progress
) -> Output:
    """Find the subgroups where the confidence is wrong.

    Rows that columns name, alone and in pairs, and regions of the map, together: found on one half
    of the rows, tested on the other. Each with its gap on held-out rows and, of a region, what its
    rows are made of.

    --save writes what defines them, the dashboard too, with names and notes; --file measures those
    on these rows, which are all held out where they are not the ones that were searched. A region
    is known by its rows: it is measured only on the data it was found on.
    """
    path = None if save is None else output_path(save, (".json",), "--save")
    if file is not None:
        return _measured(given, regions.load_subgroups(file), progress)
    view = source.open_view(given, progress)
    search = views.where.subgroups_of(view, against=against, progress=progress)
    table = described(view, search, views.methods.gains_of(view) if search.subgroups else None)
    listed = {"subgroups": table.to_dict(orient="records")}
    content = {**view.settings(), **search.to_dict(), **listed}
    if path is not None:
        regions.save_subgroups(path, regions.saved_subgroups(search, view.evaluation))
    return Output(content, table, [subgroups_text(table), search.sentence])


def _measured(given: ViewOptions, saved: list[regions.SavedSubgroup], progress: Progress) -> Output:
    view = source.open_view(replace(given, maps=("none",)), progress)
    table = regions.measure_subgroups(view.evaluation, saved, target=view.target)
    sentence = describe_measured(table)
    content = {**view.settings(), "subgroups": table.to_dict(orient="records")}
    columns = table[["id", "name", "sentence"]].itertuples(index=False, name=None)
    lines = [f"{key}  {name}\n          {text}" for key, name, text in columns]
    return Output(content, table, ["\n".join(lines), sentence])


def described(
    view: views.View, search: regions.SubgroupSearch, known: comparison.GainEstimate | None = None
) -> Table:
    """Return :func:`~lore_core.view.where.subgroup_table` with ``made_of``."""
    made_of = dict.fromkeys(range(len(search.subgroups)), "")
    for number, frame in views.where.compositions_of(view, search).items():
        made_of[number] = lore.describe_composition(frame)
    return views.where.subgroup_table(view, search, known).assign(made_of=list(made_of.values()))


def subgroups_text(table: Table) -> str:
    """List subgroups of :func:`described`, those within another indented."""
    lines = []
    for subgroup in table.to_dict(orient="records"):
        indent = (
            "" if subgroup["within"] is None or subgroup["within"] != subgroup["within"] else "   "
        )
        part = f"part of {subgroup['within'] + 1:.0f}: " if indent else ""
        lines.append(f"{indent}{subgroup['subgroup']}. {part}{subgroup['sentence']}")
        lines.append(f"{indent}   {subgroup['evidence']}")
        if subgroup["made_of"]:
            lines.append(f"{indent}   It is {subgroup['made_of']}.")
        if subgroup["retraining"]:
            lines.append(f"{indent}   {subgroup['retraining']}")
    return "\n".join(lines)
