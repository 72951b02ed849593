"""``--target all`` of ``lore metrics`` and ``lore landscape``: every class at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lore_core.cli.output import Output, Progress, text_table
from lore_core.data.number_text import POINTS, p_words, percent, signed_points

if TYPE_CHECKING:
    import pandas as pd

    from lore_core.view import View


def output_of_classes(view: View, progress: Progress, *, drawn: bool = False) -> Output:
    """Say how far off all probabilities are together, and every class by itself.

    ``drawn``: whether rows are drawn by the class that is most wrong around them, in place of the
    table of classes.
    """
    from lore_core.figures import class_map_figure
    from lore_core.inference import describe_classes
    from lore_core.view.inference import classes_of, vector_chance_of, vector_errors_of

    errors = vector_errors_of(view)
    chance = vector_chance_of(view, errors, progress=progress)
    table = classes_of(view, errors, chance)
    said, rows = describe_classes(table), f"{view.rows}, {view.kernel_in_words}"
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
    text, points = [f"{chance.sentence} {said}".strip()], view.points()
    if not drawn:
        text += [_text(table), f"{view.dataset.name}: {rows}."]
        return Output(content, table.reset_index(), text)
    if points.shape[1] != 2:
        return Output(content, table, text)
    chart = class_map_figure(view.evaluation, points, errors, chance, rows=rows, axes=view.map_name)
    return Output(content, chart.picture.table, text, chart=chart)


def _text(table: pd.DataFrame) -> str:
    return text_table(
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
