"""``lore classes``: how far off every class's probability is, and all of them together."""

from __future__ import annotations

import click

from lore_core.cli.figure_files import FigureOptions, figure_options
from lore_core.cli.options import ViewOptions, examples, view_options
from lore_core.cli.output import Progress, json_option, say, text_table
from lore_core.data.json_text import as_json
from lore_core.data.number_text import POINTS, p_words, percent, signed_points


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
    from lore_core.inference.whole_vector import describe_classes
    from lore_core.view.vector import classes_of, vector_chance_of, vector_errors_of

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
    table = classes_of(view, errors, chance)
    said = describe_classes(table)
    content = {
        **view.settings(),
        "sentence": chance.sentence,
        "average": chance.average,
        "chance_level": chance.chance_level,
        "p_value": chance.p_value,
        "largest": chance.largest,
        "largest_chance_level": chance.largest_level,
        "largest_p_value": chance.largest_p_value,
        "about_classes": said,
        "rows_beyond_chance": int(chance.beyond.sum()),
        "classes": table.reset_index().to_dict(orient="records"),
    }
    if json_:
        say(as_json(content))
    else:
        say(f"{chance.sentence} {said}".strip())
        say("")
        say(
            text_table(
                {
                    "": [str(name) for name in table.index],
                    "promised": [percent(share) for share in table["promised"]],
                    "came": [percent(share) for share in table["came"]],
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
