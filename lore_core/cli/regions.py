"""``lore regions``: the places where the confidence is wrong, found and put in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lore_core.cli.options import ViewOptions, examples, json_option, view_options
from lore_core.cli.output import TABLES, Progress, output_path, say, write_numbers
from lore_core.data.json_text import as_json

if TYPE_CHECKING:
    import pandas as pd

    from lore_core.regions import RegionSearch
    from lore_core.view import View

#: How regions are searched for, for every command that shows them.
search_options = click.option(
    "--q",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    metavar="Q",
    help="False discovery rate: of the rows called significant at most this share is there by "
    "chance, in expectation.",
)


@click.command(
    epilog=examples(
        "lore regions demo",
        "lore regions model_cal.npz model_test.npz --map tsne --q 0.01 -o regions.csv",
    )
)
@view_options()
@search_options
@click.option(
    "--edge",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.5,
    show_default=True,
    metavar="SHARE",
    help="Where a region ends, as a share of the error it reaches.",
)
@click.option(
    "--each-bin",
    is_flag=True,
    help="Evidence from each confidence bin by itself instead of all rows of a place together.",
)
@json_option
@click.option("-o", "--out", metavar="FILE", help="Also write them: .csv, .parquet or .json.")
def regions(
    given: ViewOptions, *, q: float, edge: float, each_bin: bool, json_: bool, out: str | None
) -> None:
    """Find the places where the confidence is wrong.

    Each with its gap on held-out rows, whether these confirm it, and what its rows are made of
    against all others.
    """
    path = None if out is None else output_path(out, TABLES)
    from lore_core.cli.view import needs_map, open_view
    from lore_core.view.where import regions_of

    with Progress() as progress:
        view = open_view(given, progress)
        needs_map(view)
        search = regions_of(view, q=q, edge=edge, each_bin=each_bin, progress=progress)
        table = described(view, search)
    n_significant = int(search.significance.significant(q).sum())
    content = {
        **view.settings(),
        "q": q,
        "edge": edge,
        "evidence": "each confidence bin" if each_bin else "all confidences together",
        "significant_rows": n_significant,
        "regions": table.to_dict(orient="records"),
    }
    if path is not None:
        write_numbers(path, table, content)
    if json_:
        say(as_json(content))
        return
    for region in table.to_dict(orient="records"):
        say(f"{region['region']}. {region['sentence']} · {_excess(region['excess'])}")
        say(f"   {region['made_of']}")
    if table.empty:
        say("No region is wrong beyond chance.")
    say("")
    say(
        f"{n_significant:,} of {view.rows} are significant (Benjamini–Yekutieli, q = {q:g}) at "
        f"{view.kernel_in_words}."
    )
    if len(table):
        say("Gaps are those of held-out rows: found on one half, measured on the other, both ways.")


def described(view: View, search: RegionSearch) -> pd.DataFrame:
    """Return the regions as a table with two more columns: ``sentence`` and ``made_of``.

    Parameters
    ----------
    view : View
        Where they were found.
    search : RegionSearch
        The regions.
    """
    from lore_core import composition, describe_composition

    table: Any = search.frame()
    made_of = [
        describe_composition(composition(view.evaluation, search.label == number))
        for number in range(len(search.regions))
    ]
    return table.assign(  # type: ignore[no-any-return]
        sentence=[region.sentence for region in search.regions], made_of=made_of
    )


def _excess(excess: float) -> str:
    return f"{abs(excess):,.0f} {'more' if excess > 0 else 'fewer'} mistakes than promised"
