"""``lore variables``: along which column the confidence is wrong."""

from __future__ import annotations

import click

import lore_core as lore
from lore_core import regions, view as views
from lore_core.cli import source
from lore_core.cli.options import ViewOptions, number_option, view_command
from lore_core.cli.output import Output, Progress, Table, interval_texts, results, text_table
from lore_core.data.errors import InputError
from lore_core.data.number_text import POINTS, p_words, signed_points


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
    import dataclasses

    from lore_core.regions.variables.attributes import attribute, columns

    view = source.open_view(dataclasses.replace(given, maps=("none",)), progress)
    ranking = views.where.ranking_of(view, parts)
    table, sentence, shown = ranking, None, _ranked(ranking)
    if variable is not None:
        known = [*ranking["variable"], *(name for name, _, _ in columns(view.evaluation))]
        if variable not in known:
            raise InputError(
                f"'--variable' must be one of {', '.join(dict.fromkeys(known))}; got {variable!r}."
            )
        coded = attribute(view.evaluation, variable, n_parts=parts)
        table = lore.gap_along(
            view.target_rows.confidence,
            view.target_rows.outcome,
            coded,
            weights=view.target_rows.weights,
        )
        sentence, shown = regions.describe_variable(variable, table, ranking), _along(table)
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


def _along(table: Table) -> dict[str, list[str]]:
    return {
        "value": [str(value) for value in table["value"]],
        "rows": [f"{rows:,}" for rows in table["rows"]],
        "gap, points": [signed_points(gap) for gap in table["gap"]],
        "95 %": interval_texts(table["gap_low"], table["gap_high"], signed=True),
    }
