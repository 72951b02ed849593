"""``--target all`` of ``lore metrics`` and ``lore landscape``: every class at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lore_core.cli.figure_files import FigureOptions
from lore_core.cli.output import NumberOptions, Progress, say, text_table
from lore_core.data.number_text import POINTS, p_words, percent, signed_points

if TYPE_CHECKING:
    import pandas as pd

    from lore_core.inference import VectorChance
    from lore_core.metrics import VectorErrors
    from lore_core.view import View


def say_classes(view: View, numbers: NumberOptions, progress: Progress) -> None:
    """Print how far off all probabilities are together, and every class by itself."""
    _, chance, table = _tested(view, progress)
    if numbers.give(table.reset_index(), _content(view, chance, table)):
        return
    _say_sentences(chance, table)
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
    say(f"{view.dataset.name}: {view.rows}, {view.kernel_in_words}.")


def draw_classes(view: View, figure: FigureOptions, progress: Progress) -> None:
    """Draw rows by the class that is most wrong around them."""
    from lore_core.data.validation import InputError

    points = view.points()
    if figure.paths and points.shape[1] != 2:
        raise InputError(
            f"'--map' must have two dimensions for a picture; {view.map_name} has "
            f"{points.shape[1]}."
        )
    errors, chance, table = _tested(view, progress)
    _say_sentences(chance, table)
    if not figure.paths:
        return
    from lore_core.figures import class_map_figure

    chart = class_map_figure(
        view.evaluation,
        points,
        errors,
        chance,
        rows=f"{view.rows}, {view.kernel_in_words}",
        axes=view.map_name,
        mode=figure.mode,
    )
    figure.write(chart, chart.picture.table, _content(view, chance, table), quiet=False)


def _tested(view: View, progress: Progress) -> tuple[VectorErrors, VectorChance, pd.DataFrame]:
    from lore_core.view.inference import classes_of, vector_chance_of, vector_errors_of

    errors = vector_errors_of(view)
    chance = vector_chance_of(view, errors, progress=progress)
    return errors, chance, classes_of(view, errors, chance)


def _content(view: View, chance: VectorChance, table: pd.DataFrame) -> dict[str, Any]:
    from lore_core.inference import describe_classes

    return {
        **view.settings(),
        "sentence": chance.sentence,
        "average": chance.average,
        "chance_level": chance.chance_level,
        "p_value": chance.p_value,
        "largest": chance.largest,
        "largest_chance_level": chance.largest_level,
        "largest_p_value": chance.largest_p_value,
        "about_classes": describe_classes(table),
        "rows_beyond_chance": int(chance.beyond.sum()),
        "classes": table.reset_index().to_dict(orient="records"),
    }


def _say_sentences(chance: VectorChance, table: pd.DataFrame) -> None:
    from lore_core.inference import describe_classes

    say(f"{chance.sentence} {describe_classes(table)}".strip())
