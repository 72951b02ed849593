"""``lore subgroups``, ``landscape`` and ``variables``: where the confidence is wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

import lore_core as lore
from lore_core import comparison, figures, inference, metrics as measures, regions, view as views
from lore_core.cli import source
from lore_core.cli.options import ViewOptions, number_option, subgroups_option, view_command
from lore_core.cli.output import (
    Output,
    Progress,
    Table,
    interval_texts,
    output_path,
    results,
    text_table,
)
from lore_core.data.errors import InputError, check_choice
from lore_core.data.number_text import POINTS, p_words, percent, signed_points
from lore_core.data.progress import part_of
from lore_core.metrics.catalogue import MIN_BIN_ROWS

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
    from lore_core.regions.subgroups.saved import describe_measured

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
        around = subgroup["within"]
        is_part = around is not None and around == around  # a table has NaN for None
        indent, part = ("   ", f"part of {around + 1:.0f}: ") if is_part else ("", "")
        lines.append(f"{indent}{subgroup['subgroup']}. {part}{subgroup['sentence']}")
        lines.append(f"{indent}   {subgroup['evidence']}")
        if subgroup["made_of"]:
            lines.append(f"{indent}   It is {subgroup['made_of']}.")
        if subgroup["retraining"]:
            lines.append(f"{indent}   {subgroup['retraining']}")
    return "\n".join(lines)


@view_command(
    "lore variables demo", "lore variables model_cal.npz model_test.npz --variable age -o age.csv"
)
@click.option("--variable", metavar="NAME", help="Show the gap along this column alone.")
@number_option("--parts", minimum=2, default=12, help="Most parts a number is cut into.")
@results()
def variables(
    given: ViewOptions, *, variable: str | None, parts: int, progress: Progress
) -> Output:
    """Rank columns along which the confidence is wrong.

    By evidence: groups, metadata, image brightness and named features of the evaluation rows; with
    --variable the gap in every part of one of them. No feature map is made.
    """
    from lore_core.regions.variables.attributes import attribute, columns

    view = source.open_view(replace(given, maps=("none",)), progress)
    ranking = views.where.ranking_of(view, parts)
    table, sentence, shown = ranking, None, _ranked(ranking)
    if variable is not None:
        others = (name for name, _, _ in columns(view.evaluation))
        check_choice(variable, "--variable", [*ranking["variable"], *others])
        coded = attribute(view.evaluation, variable, n_parts=parts)
        table = lore.gap_along(**view.scored_by_unit, values=coded)
        sentence = regions.describe_variable(variable, table, ranking)
        shown = {
            "value": [str(value) for value in table["value"]],
            "rows": [f"{rows:,}" for rows in table["rows"]],
            "gap, points": [signed_points(gap) for gap in table["gap"]],
            "95 %": interval_texts(table["gap_low"], table["gap_high"], signed=True),
        }
    content = {
        **{name: value for name, value in view.settings().items() if name not in _NOT_USED},
        "variable": variable,
        "sentence": sentence,
        "table": table.to_dict(orient="records"),
    }
    rows = f"{view.dataset.name}: {view.rows}. Gap: mean confidence − accuracy."
    return Output(content, table, [sentence or "", text_table(shown), rows])


_NOT_USED = ("map", "gamma", "bins", "binning")


def _ranked(table: Table) -> dict[str, list[str]]:
    return {
        "variable": [str(name) for name in table["variable"]],
        "p": [p_words(p) for p in table["p_adjusted"]],
        "spread, points": [POINTS.text(spread) for spread in table["spread"]],
        "furthest off": [str(value) for value in table["worst_value"]],
        "its rows": [f"{rows:,}" for rows in table["worst_rows"]],
        "gap, points": [signed_points(gap) for gap in table["worst_gap"]],
    }


@view_command(
    "lore landscape demo -o landscape.html",
    "lore landscape model_cal.npz model_test.npz --map tsne --bin worst -o worst.png",
    "lore landscape predictions.csv --absolute --significant-only -o map.pdf -o map.parquet",
    "lore landscape 'part-*.parquet' --workers 2 --sums sums -o map.html",
    sums=True,
)
@click.option(
    "--bin",
    "wanted",
    default="all",
    metavar="BIN",
    help="Confidence bin: all, worst, best, or a confidence that lies in it, such as 0.95.",
)
@click.option("--signed/--absolute", default=True, help="What colour means.")
@click.option("--significant-only", is_flag=True, help="Colour only significant subgroups.")
@against_option
@results(figure=True)
def landscape(
    given: ViewOptions,
    *,
    wanted: str,
    signed: bool,
    significant_only: bool,
    against: Any,
    progress: Progress,
) -> Output:
    """Draw where the confidence is wrong.

    The signed local calibration error of the evaluation rows on a 2-D map: red is overconfident,
    blue too little. Prints what is seen in one sentence; -o writes the picture or its numbers (one
    row a node of the map: x, y, signed_error, n_eff).

    Of Parquet files with more than 2,000,000 rows, named by a pattern or one by one, it comes from
    sums over cells of the map: the same field, how far at most it is from the exact one (columns
    at_least, at_most of one bin), and how the LCE is spread over the rows; no subgroups, no rows.
    """
    from lore_core.view.scene import Scene

    value: Any = "signed" if signed else "absolute"
    view = source.open_source(given, progress)
    if not isinstance(view, views.View):
        if significant_only:
            raise InputError("'--significant-only' needs single rows, which sums do not hold.")
        return _of_sums(view, _bin(views.where.reliability_of(view), wanted), value, progress)
    source.needs_map(view)
    bins, errors = views.where.reliability_of(view), views.where.errors_of(view)
    chosen = _bin(bins, wanted)
    on, axes = view.embedding, view.map_name
    if on.n_components != 2:
        on = lore.embed(view.dataset.features, random_state=view.seed, progress=progress)
        axes = on.label
    search = views.where.subgroups_of(view, against=against, progress=progress)
    only = search.inside() if significant_only else None
    scene = Scene(view, errors, bins, chosen, on, axes, only)
    field = views.where.field_of(view, errors, bin_index=chosen, on=on, only=only)
    chart = figures.landscape_figure(
        field,
        scene.points,
        worst=scene.table(scene.worst),
        n_total=int(scene.shown.sum()),
        value=value,
        limit=figures.shared_limit(scene.supported),
        rows=scene.in_words,
        axes=axes,
        found=views.where.outlines_of(search, view.points(on=on)),
        labels=scene.classes,
    )
    content = {
        **view.settings(),
        "bin": scene.bin_name,
        "drawn_on": axes,
        "significant_only": significant_only,
        "nodes": chart.table.to_dict(orient="records"),
    }
    return Output(content, chart.table, [scene.sentence], chart=chart)


def _of_sums(view: views.SumsView, bin_index: int | None, value: Any, progress: Progress) -> Output:
    import pandas as pd

    rest = part_of(progress, 0.8, 1.0)
    seen = regions.SumsLandscape.of(view.sums, gamma=view.gamma, bin_index=bin_index, progress=rest)
    chart, nodes = None, pd.DataFrame()
    if seen.field is not None:
        chart = figures.sums_landscape_figure(seen, axes=view.map_name, value=value)
        nodes = chart.table
    content = {
        **view.settings(),
        "bin": seen.bin_name,
        "lce": {name: of._asdict() for name, of in seen.spread.items()},
        "largest_distance_from_exact": float(seen.uncertainty.max(initial=0.0)),
        "nodes": nodes.to_dict(orient="records"),
    }
    text = ["\n".join(filter(None, [seen.sentence, seen.bound_sentence]))]
    return Output(content, nodes, text, [text_table(seen.spread_columns), view.basis()], chart)


def _bin(table: measures.ReliabilityTable, wanted: str) -> int | None:
    if wanted == "all":
        return None
    if wanted in ("worst", "best"):
        return (table.worst_bin if wanted == "worst" else table.best_bin)(MIN_BIN_ROWS)
    try:
        confidence = float(wanted)
    except ValueError:
        confidence = -1.0
    if not 0 <= confidence <= 1:
        raise InputError(
            f"'--bin' must be all, worst, best or a confidence in [0, 1]; got {wanted!r}."
        )
    index = int(table.bins.assign([confidence])[0])
    if not table.count[index]:
        raise InputError(
            f"'--bin' must name a confidence bin with rows; the one of {confidence:g} "
            f"({table.bins.name(index)}) has none."
        )
    return index


def output_of_classes(view: views.View, progress: Progress) -> Output:
    """Report errors of all classes together and of each."""
    errors = views.inference.vector_errors_of(view)
    chance = views.inference.vector_chance_of(view, errors, progress=progress)
    table = inference.class_table(view.evaluation, errors, chance, **view.bins)
    sentence, rows = inference.describe_classes(table), f"{view.rows}, {view.kernel_in_words}"
    content = {
        **view.settings(),
        "sentence": chance.sentence,
        "average": chance.average,
        "chance_level": chance.chance_level,
        "p_value": chance.p_value,
        "largest": chance.largest,
        "largest_chance_level": chance.largest_level,
        "largest_p_value": chance.largest_p_value,
        "about_classes": sentence,
        "rows_beyond_chance": int(chance.beyond.sum()),
        "classes": table.reset_index().to_dict(orient="records"),
    }
    text = [f"{chance.sentence} {sentence}".strip(), _classes_text(table)]
    return Output(content, table.reset_index(), [*text, f"{view.dataset.name}: {rows}."])


def _classes_text(table: Table) -> str:
    return text_table(
        {
            "": [str(name) for name in table.index],
            "mean probability": [percent(share) for share in table["mean_probability"]],
            "frequency": [percent(share) for share in table["frequency"]],
            "gap, points": [signed_points(gap) for gap in table["gap"]],
            "ECE": [POINTS.text(error) for error in table["ece"]],
            "less noise": [POINTS.text(error) for error in table["local"]],
            "if right": [POINTS.text(error) for error in table["chance_level"]],
            "p": [p_words(p) for p in table["p_value"]],
            "ALCE": [POINTS.text(error) for error in table["alce"]],
            "MLCE": [POINTS.text(error) for error in table["mlce"]],
            "most wrong in": [f"{rows:,} rows" for rows in table["rows"]],
        }
    )
