"""``lore landscape``: where the confidence is wrong, as a picture and as numbers."""

from __future__ import annotations

from typing import Any

import click

import lore_core as lore
from lore_core import figures, metrics as measures, regions, view as views
from lore_core.cli import source
from lore_core.cli.options import ViewOptions, view_command
from lore_core.cli.output import Output, Progress, results, text_table
from lore_core.cli.subgroups import against_option
from lore_core.data.defaults import ALL_CLASSES
from lore_core.data.errors import InputError
from lore_core.data.number_text import POINTS
from lore_core.data.progress import part_of
from lore_core.metrics.catalogue import MIN_BIN_ROWS


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
@click.option(
    "--draw-on",
    metavar="MAP",
    help="2-D map of the picture, if not the one rows are near on (default: that, or pca-2).",
)
@click.option("--signed/--absolute", default=True, help="What colour means.")
@click.option("--significant-only", is_flag=True, help="Colour only significant subgroups.")
@against_option
@click.option(
    "--outlines/--no-outlines", default=True, help="Outline the subgroups (see lore subgroups)."
)
@click.option(
    "--show",
    type=click.Choice(["field", "rows", "both"]),
    default="field",
    help="The error at every place, single rows, or both.",
)
@results(figure=True)
def landscape(
    given: ViewOptions,
    *,
    wanted: str,
    draw_on: str | None,
    signed: bool,
    significant_only: bool,
    against: Any,
    outlines: bool,
    show: str,
    progress: Progress,
) -> Output:
    """Draw where the confidence is wrong.

    The signed local calibration error of the evaluation rows on a 2-D map: red is overconfident,
    blue too little. Prints what is seen in one sentence; -o writes the picture or its numbers (one
    row a node of the map: x, y, signed_error, n_eff). With --target all it draws rows by the class
    that is most wrong around them.

    Of Parquet files with more than 2,000,000 rows, named by a pattern or one by one, it comes from
    sums over cells of the map: the same field, how far at most it is from the exact one (columns
    at_least, at_most of one bin), and how the LCE is spread over the rows; no subgroups, no rows.
    """
    from lore_core.cli.metrics import output_of_classes
    from lore_core.view.scene import Scene

    value: Any = "signed" if signed else "absolute"
    view = source.open_source(given, progress, all_classes=True)
    if not isinstance(view, views.View):
        if significant_only or draw_on is not None or show != "field":
            raise InputError(
                "'--significant-only', '--draw-on' and '--show rows' need single rows, which sums "
                "do not hold. Leave them out, or name fewer files."
            )
        return _of_sums(view, _bin(views.where.reliability_of(view), wanted), value, progress)
    source.needs_map(view)
    if view.target == ALL_CLASSES:
        return output_of_classes(view, progress, drawn=True)
    bins, errors = views.where.reliability_of(view), views.where.errors_of(view)
    chosen = _bin(bins, wanted)
    on, axes = view.embedding, view.map_name
    if draw_on is not None or on.n_components != 2:
        name = source.map_name(draw_on or "pca-2", on.n_features)
        on = lore.embedding.make_map(view.dataset, name, random_state=view.seed, progress=progress)
        axes = on.label
    found, only = [], None
    if outlines or significant_only:
        search = views.where.subgroups_of(view, against=against, progress=progress)
        found = views.where.outlines_of(search, view.points(on=on)) if outlines else []
        only = search.inside() if significant_only else None
    scene = Scene(view, errors, bins, chosen, on, axes, only)
    field = views.where.field_of(view, errors, bin_index=chosen, on=on, only=only)
    chart = figures.landscape_figure(
        None if show == "rows" else field,
        scene.points,
        points=None if show == "field" else scene.drawn(over_field=show == "both"),
        worst=scene.table(scene.worst),
        n_total=int(scene.shown.sum()),
        value=value,
        limit=figures.shared_limit(scene.supported),
        rows=scene.in_words,
        axes=axes,
        found=found,
        labels=scene.classes,
    )
    content = {
        **view.settings(),
        "bin": scene.bin_name,
        "drawn_on": axes,
        "significant_only_only": significant_only,
        "nodes": chart.table.to_dict(orient="records"),
    }
    return Output(content, chart.table, [scene.sentence], chart=chart)


def _of_sums(view: views.SumsView, bin_index: int | None, value: Any, progress: Progress) -> Output:
    import pandas as pd

    rest = part_of(progress, 0.8, 1.0)
    seen = regions.SumsLandscape.of(view.sums, gamma=view.gamma, bin_index=bin_index, progress=rest)
    spread, chart, nodes = seen.spread, None, pd.DataFrame()
    if seen.field is not None:
        chart = figures.sums_landscape_figure(seen, axes=view.map_name, value=value)
        nodes = chart.table
    columns = {
        "": list(spread),
        "LCE at most, points": [POINTS.text(of.value) for of in spread.values()],
        "guaranteed": [POINTS.interval_text(of.low, of.high) for of in spread.values()],
    }
    content = {
        **view.settings(),
        "bin": seen.bin_name,
        "lce": {name: of._asdict() for name, of in spread.items()},
        "largest_distance_from_exact": float(seen.uncertainty.max(initial=0.0)),
        "nodes": nodes.to_dict(orient="records"),
    }
    text = ["\n".join(filter(None, [seen.sentence, seen.bound_sentence]))]
    return Output(content, nodes, text, [text_table(columns), view.basis()], chart)


def _bin(table: measures.ReliabilityTable, wanted: str) -> int | None:
    if wanted == "all":
        return None
    if wanted == "worst":
        return table.worst_bin(MIN_BIN_ROWS)
    if wanted == "best":
        return table.best_bin(MIN_BIN_ROWS)
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
