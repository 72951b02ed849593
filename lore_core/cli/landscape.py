"""``lore landscape``: where the confidence is wrong, as a picture and as numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lore_core.cli.figure_files import FigureOptions, figure_options
from lore_core.cli.options import ViewOptions, examples, view_options
from lore_core.cli.output import Progress, records, say
from lore_core.cli.places import against_option
from lore_core.metrics.catalogue import MIN_BIN_ROWS

if TYPE_CHECKING:
    from lore_core.metrics import ReliabilityTable
    from lore_core.regions import Outline


@click.command(
    epilog=examples(
        "lore landscape demo -o landscape.html",
        "lore landscape model_cal.npz model_test.npz --map tsne --bin worst -o worst.png",
        "lore landscape predictions.csv --absolute --beyond-chance -o map.pdf -o map.parquet",
    )
)
@view_options()
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
@click.option(
    "--beyond-chance", is_flag=True, help="Colour only places that are wrong beyond chance."
)
@against_option
@click.option(
    "--outlines/--no-outlines",
    default=True,
    help="Outline these places (see lore places).",
)
@click.option(
    "--show",
    type=click.Choice(["field", "rows", "both"]),
    default="field",
    help="The error at every place, single rows, or both.",
)
@figure_options
def landscape(
    given: ViewOptions,
    *,
    wanted: str,
    draw_on: str | None,
    signed: bool,
    beyond_chance: bool,
    against: Any,
    outlines: bool,
    show: str,
    figure: FigureOptions,
) -> None:
    """Draw where the confidence is wrong.

    The signed local calibration error of the evaluation rows on a 2-D map: red promises too much,
    blue too little. Prints what is seen in one sentence; -o writes the picture or its numbers (one
    row a node of the map: x, y, signed_error, n_eff).
    """
    from lore_core.cli.view import map_name, needs_map, open_view
    from lore_core.embedding import make_map
    from lore_core.view.scene import Scene
    from lore_core.view.where import errors_of, field_of, outlines_of, places_of, reliability_of

    with Progress() as progress:
        view = open_view(given, progress)
        needs_map(view)
        bins, errors = reliability_of(view), errors_of(view)
        chosen = _bin(bins, wanted)
        on, axes = view.embedding, view.map_name
        if draw_on is not None or on.n_components != 2:
            on = make_map(
                view.dataset,
                map_name(draw_on or "pca-2", on.n_features),
                random_state=view.seed,
                progress=progress,
            )
            axes = on.label
        found: list[tuple[str, Outline]] = []
        only = None
        if outlines or beyond_chance:
            search = places_of(view, against=against, progress=progress)
            found = outlines_of(search, view.points(on=on)) if outlines else []
            only = search.inside() if beyond_chance else None
        scene = Scene(view, errors, bins, chosen, on, axes, only)
        field = field_of(view, errors, bin_index=chosen, on=on, only=only)
    say(scene.sentence)
    if not figure.paths:
        return
    from lore_core.figures import landscape_figure, shared_limit

    chart = landscape_figure(
        None if show == "rows" else field,
        scene.points,
        points=None if show == "field" else scene.drawn(over_field=show == "both"),
        worst=scene.table(scene.worst),
        n_total=int(scene.shown.sum()),
        value="signed" if signed else "absolute",
        limit=shared_limit(scene.supported),
        rows=scene.in_words,
        axes=axes,
        found=found,
        places=scene.classes,
        mode=figure.mode,
    )
    content = {
        **view.settings(),
        "bin": scene.bin_name,
        "drawn_on": axes,
        "beyond_chance_only": beyond_chance,
        "nodes": records(chart.table),
    }
    figure.write(chart, chart.table, content, quiet=False)


def _bin(table: ReliabilityTable, wanted: str) -> int | None:
    """Index of the confidence bin asked for; None for all."""
    from lore_core.data.validation import InputError

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
