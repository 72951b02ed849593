"""``lore places``: where the confidence is worse than on average, tried on rows held out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lore_core.cli.options import ViewOptions, examples, view_options
from lore_core.cli.output import Output, Progress, results

if TYPE_CHECKING:
    import pandas as pd

    from lore_core.comparison import GainEstimate
    from lore_core.regions import PlaceSearch
    from lore_core.view import View

#: What places are compared with, for every command that shows them.
against_option = click.option(
    "--against",
    type=click.Choice(["auto", "zero", "average", "same confidence"]),
    default="auto",
    help="What a place must be worse than: zero (nothing wrong), the average gap of all rows, or "
    "that of rows of the same confidence. auto: the average where that is itself beyond chance, "
    "else zero.",
)


@click.command(
    epilog=examples(
        "lore places demo",
        'lore places model_cal.npz model_test.npz --map tsne --against "same confidence" '
        "-o places.csv",
    )
)
@view_options()
@against_option
@results()
def places(given: ViewOptions, *, against: Any, progress: Progress) -> Output:
    """Find the places where the confidence is wrong.

    Rows that columns name, alone and in pairs, and regions of the map, together: found on one half
    of the rows, tried on the other. Each with its gap on held-out rows and, of a region, what its
    rows are made of.
    """
    from lore_core.cli.source import open_view
    from lore_core.view.methods import taught_of
    from lore_core.view.where import places_of

    view = open_view(given, progress)
    search = places_of(view, against=against, progress=progress)
    table = described(view, search, taught_of(view) if search.places else None)
    listed = {"places": table.to_dict(orient="records")}
    content = {**view.settings(), **search.to_dict(), **listed}
    return Output(content, table, [places_text(table), search.sentence])


def described(view: View, search: PlaceSearch, known: GainEstimate | None = None) -> pd.DataFrame:
    """Return places as a table with more columns: ``sentence, evidence, retraining, made_of``.

    ``known``: see :func:`~lore_core.view.where.listed_places`.
    """
    from lore_core import describe_composition
    from lore_core.view.where import compositions_of, listed_places

    made_of = dict.fromkeys(range(len(search.places)), "")
    for number, frame in compositions_of(view, search).items():
        made_of[number] = describe_composition(frame)
    return listed_places(view, search, known).assign(made_of=list(made_of.values()))


def places_text(table: pd.DataFrame) -> str:
    """List places, the worse parts of one indented.

    ``table``: from :func:`described`.
    """
    lines = []
    for place in table.to_dict(orient="records"):
        indent = "" if place["within"] is None or place["within"] != place["within"] else "   "
        part = f"part of {place['within'] + 1:.0f}: " if indent else ""
        lines.append(f"{indent}{place['place']}. {part}{place['sentence']}")
        lines.append(f"{indent}   {place['evidence']}")
        if place["made_of"]:
            lines.append(f"{indent}   It is {place['made_of']}.")
        if place["retraining"]:
            lines.append(f"{indent}   {place['retraining']}")
    return "\n".join(lines)
