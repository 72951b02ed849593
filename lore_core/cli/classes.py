"""``lore classes``: how far off every class's probability is, and all of them together."""

from __future__ import annotations

import click

from lore_core.cli.figure_files import FigureOptions, figure_options
from lore_core.cli.options import ViewOptions, examples, view_options
from lore_core.cli.output import Progress, json_option, say, text_table
from lore_core.data.json_text import as_json
from lore_core.data.number_text import percent, signed_points


@click.command(
    epilog=examples(
        "lore classes demo",
        "lore classes model_cal.npz model_test.npz --map tsne -o classes.svg",
    )
)
@view_options()
@json_option
@figure_options
def classes(given: ViewOptions, *, json_: bool, figure: FigureOptions) -> None:
    """Look at the whole probability vector, every class at once.

    The local error of all probabilities together with its noise taken off, held against models
    whose every probability is right, and each class by itself. -o draws rows on a 2-D map by the
    class that is most wrong around them, or writes the numbers of every row.
    """
    from lore_core.cli.view import open_view
    from lore_core.data.validation import InputError
    from lore_core.metrics.vector_error import class_table
    from lore_core.view.chance import vector_chance_of
    from lore_core.view.where import vector_errors_of

    if given.target != "top-label":
        raise InputError(
            f"'--target' must be left out: every class is looked at; got {given.target!r}."
        )
    with Progress() as progress:
        view = open_view(given, progress)
        if not view.dataset.complete:
            raise InputError(
                f"'{view.dataset.name}' must hold whole probability vectors; it has the predicted "
                "class's alone."
            )
        errors = vector_errors_of(view)
        chance = vector_chance_of(view, errors, progress=progress)
    table = class_table(view.evaluation, errors, chance.beyond)
    content = {
        **view.settings(),
        "sentence": chance.sentence,
        "average": chance.average,
        "chance_level": chance.chance_level,
        "p_value": chance.p_value,
        "rows_beyond_chance": int(chance.beyond.sum()),
        "classes": table.reset_index().to_dict(orient="records"),
    }
    if json_:
        say(as_json(content))
    else:
        say(chance.sentence)
        say("")
        say(
            text_table(
                {
                    "": [str(name) for name in table.index],
                    "promised": [percent(share) for share in table["promised"]],
                    "came": [percent(share) for share in table["came"]],
                    "gap, points": [signed_points(gap) for gap in table["gap"]],
                    "ALCE": [signed_points(error).lstrip("+") for error in table["alce"]],
                    "MLCE": [signed_points(error).lstrip("+") for error in table["mlce"]],
                    "most wrong in": [f"{rows:,} rows" for rows in table["rows"]],
                }
            )
        )
        say("")
        rows = f"{len(view.evaluation):,} evaluation rows"
        say(f"{view.dataset.name}: {rows}, {view.kernel_in_words}.")
    if not figure.paths:
        return
    from lore_core.figures import class_map_figure

    points = view.points()
    if points.shape[1] != 2:
        raise InputError(
            f"'--map' must have two dimensions for a picture; {view.map_name} has "
            f"{points.shape[1]}."
        )
    chart = class_map_figure(
        view.evaluation,
        points,
        errors,
        chance,
        rows=f"{len(points):,} evaluation rows, {view.kernel_in_words}",
        axes=view.map_name,
        mode=figure.mode,
    )
    figure.write(chart, chart.picture.table, content, quiet=json_)
