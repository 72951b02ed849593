"""``lore watch``: how the errors of a model move from batch to batch."""

from __future__ import annotations

from typing import Any

import click

from lore_core import figures, mergeable
from lore_core.cli import source
from lore_core.cli.options import ViewOptions, number_option, view_command
from lore_core.cli.output import Output, Progress, note, results, text_table
from lore_core.data.defaults import GAMMA
from lore_core.data.errors import InputError, as_path
from lore_core.data.number_text import batches_words, percent, rows_words
from lore_core.data.progress import part_of

#: Exit code with --fail if the newest batch is flagged.
_MARKED = 3


@view_command(
    "lore watch days 'day-*.parquet'",
    "lore watch days day-2026-05-04.parquet --fail",
    "lore watch days -o days.csv -o days.html",
    sums=True,
)
@number_option("--draws", minimum=0, help="Simulations behind each p (default: 999).")
@click.option(
    "--level",
    type=click.FloatRange(0.0, 0.5, min_open=True),
    default=0.01,
    help="Of batches of a model that does not change about this share is marked.",
)
@click.option("--fail", is_flag=True, help="Exit with 3 where the newest batch is marked.")
@results(figure=True)
def watch(
    given: ViewOptions, *, draws: int | None, level: float, fail: bool, progress: Progress
) -> Output:
    """Watch a model from batch to batch.

    DATA is first the directory in which batches are kept, then Parquet files, each a batch, called
    as the file; those that are there already are not read again, and without files the batches that
    are there are looked at. The first files say which map and bins are used. A batch is kept as
    sums over cells of the map: no row stays, and the files may go.

    Each batch is compared with all before it: is the error anywhere, on the whole, in a confidence
    bin or in a region of the map, significantly another one than before?
    """
    from lore_core.mergeable.partitions.batches import change_words, movement_frame, movement_words

    if given.directory is not None:
        raise InputError("'--sums' is not needed: the first DATA is where sums are kept.")
    batches = _opened(given, progress)
    watched = batches.movement(
        gamma=GAMMA if given.gamma is None else given.gamma,
        n_draws=999 if draws is None else draws,
        random_state=given.seed,
        progress=part_of(progress, 0.7, 1.0),
    )
    marked = [of for of in watched if of.is_marked(level)]
    plan, table = batches.plan, movement_frame(watched)
    map_name, text = plan.embedding.name.title, batches_words(len(watched))
    content = {
        "directory": str(batches.directory),
        "map": map_name,
        "level": level,
        "marked": [of.name for of in marked],
        "batches": [_content(of) for of in watched],
    }
    changes = [
        f"{of.name}: {change_words(of.change, plan.bins)}" for of in marked if of.change is not None
    ]
    basis = (
        f"{rows_words(sum(of.n_rows for of in watched))} in {text} on {plan.note}. p: how often a "
        "model that does not change shows as large a change since all earlier batches "
        f"together; * at {percent(level, 0)} or less."
    )
    return Output(
        content,
        table,
        [text_table(movement_words(watched, level)), *changes, basis],
        chart=figures.movement_figure(table, level=level, rows=f"{text} on {map_name}"),
        exit_code=_MARKED if fail and watched[-1].is_marked(level) else 0,
    )


def _content(of: mergeable.Watched) -> dict[str, Any]:
    change = None
    if of.change is not None:
        change = {
            "p_value": of.change.p_value,
            "unseen": of.change.unseen,
            "places": of.change.places.head(5).to_dict(orient="records"),
        }
    metrics = of.metrics.to_dict(orient="index")
    return {"batch": of.name, "rows": of.n_rows, "metrics": metrics, "change": change}


def _opened(given: ViewOptions, progress: Progress) -> mergeable.Batches:
    from lore_core.mergeable.partitions.run import planned

    place, *named = given.data
    files = mergeable.parquet_files(named) if named else []
    if named and not files:
        raise InputError("batches must be .parquet files.")
    if not named or planned(as_path(place)) is not None:
        batches = mergeable.Batches.opened(place)
    else:
        plan = source.plan_of(given, mergeable.partitions_of(files), part_of(progress, 0.0, 0.1))
        batches = mergeable.Batches.begun(place, plan)
    new = batches.add(files, n_workers=given.n_workers, progress=part_of(progress, 0.1, 0.7))
    if len(new) < len(files):
        note(f"{len(files) - len(new)} of {len(files)} files are batches already.")
    return batches
