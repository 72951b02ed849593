"""``lore metrics``: the numbers of the Overview."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lore_core.cli.options import ViewOptions, draws_option, examples, view_options
from lore_core.cli.output import (
    NumberOptions,
    Progress,
    number_options,
    output_path,
    say,
    text_table,
)
from lore_core.cli.sums import SumsOptions, run_of, said_of, settings_of, sums_options
from lore_core.data.number_text import p_words
from lore_core.metrics.catalogue import CATALOGUE

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from lore_core.mergeable import Run

#: Simulations of chance where rows are summed in cells.
_DRAWS_OF_SUMS = 99
#: Fewer have no 2.5 % on either side.
_FEWEST_DRAWS = 39


@click.command(
    epilog=examples(
        "lore metrics demo",
        "lore metrics model_cal.npz model_test.npz --map tsne --gamma 0.2 --json",
        "lore metrics predictions.csv --target Shirt --top 10 -o metrics.parquet",
        "lore metrics predictions.npz --target all",
        "lore metrics test.parquet --card calibration.md",
        "lore metrics 'part-*.parquet' --workers 2 --sums sums",
    )
)
@view_options()
@click.option(
    "--top",
    type=click.IntRange(min=0),
    default=3,
    metavar="N",
    help="Places of wrong confidence listed.",
)
@draws_option(
    "Simulations behind intervals and p-values, 39 or more (default: what takes some "
    "seconds; 0: none)."
)
@click.option(
    "--card",
    metavar="FILE.md",
    help="Also write what a model card says of it: text, and the front matter hubs read.",
)
@sums_options
@number_options()
def metrics(
    given: ViewOptions,
    *,
    top: int,
    draws: int | None,
    card: str | None,
    sums: SumsOptions,
    numbers: NumberOptions,
) -> None:
    """Every metric of the Overview, with interval and chance.

    The verdict in one sentence and what it rests on; global and local metrics of the evaluation
    rows, their 95 % intervals and how often a calibrated model would show as much by chance; and
    the places behind the verdict. With --target all the local error of all probabilities together,
    its noise taken off, held against models whose every probability is right, and each class.

    Of Parquet files with more than 2,000,000 rows, named by a pattern or one by one, local metrics
    come from sums over cells of the map, with the bounds that surely hold them and without places.
    """
    from lore_core.cli.all_classes import say_classes
    from lore_core.cli.places import described, say_places
    from lore_core.cli.view import needs_map, open_view
    from lore_core.comparison.tables import metric_table
    from lore_core.data.dataset import ALL_CLASSES
    from lore_core.data.validation import InputError
    from lore_core.view.inference import chance_errors_of
    from lore_core.view.methods import summary_of
    from lore_core.view.where import places_of, verdict_of

    if draws is not None and 0 < draws < _FEWEST_DRAWS:
        raise InputError(f"'--draws' must be 0 or at least {_FEWEST_DRAWS}; got {draws}.")
    card_path = None if card is None else output_path(card, (".md",), "--card")
    with Progress() as progress:
        run = run_of(given, sums, progress)
        if run is not None:
            if card_path is not None:
                raise InputError("'--card' is not written of so many rows. Name fewer files.")
            _give_sums(run, given, draws, numbers, progress)
            return
        view = open_view(given, progress, all_classes=True)
        if view.target == ALL_CLASSES:
            if card_path is not None:
                raise InputError("'--card' is not written of all classes at once.")
            needs_map(view)
            say_classes(view, numbers, progress)
            return
        summary = summary_of(view, n_draws=draws, progress=progress)
        chance = None
        if view.is_local:
            chance = chance_errors_of(view, n_draws=draws, progress=progress)
        table = metric_table(summary, chance)
        search = places_of(view, progress=progress)
        listed = described(view, search).head(top)
        said = verdict_of(view, search)
    content = {
        **view.settings(),
        "verdict": {
            "level": said.level,
            "sentence": said.sentence,
            "evidence": said.evidence,
        },
        "metrics": table.set_index("metric").to_dict(orient="index"),
        "places": listed.to_dict(orient="records"),
    }
    on = f", {view.kernel_in_words}" if view.is_local else ""
    where = f"{view.dataset.name}: {view.rows}{on}, {view.bins_in_words}."
    if card_path is not None:
        _write_card(card_path, view.dataset.name, (said.sentence, said.evidence), table, where)
    if numbers.give(table, content):
        return
    say(said.sentence)
    if said.evidence:
        say(said.evidence)
    say("")
    say(text_table(_cells(table)))
    say("")
    say(where)
    if chance is not None:
        say(
            f"p: how often {chance.n_draws} simulations in which every confidence is right show as "
            "much."
        )
    if len(listed):
        say("")
        say("Places:")
        say_places(listed)


def _write_card(
    path: Path, name: str, sentences: tuple[str, str], table: pd.DataFrame, where: str
) -> None:
    import pandas as pd

    from lore_core.data.atomic_files import write_bytes
    from lore_core.report.model_card import model_card

    shown = pd.DataFrame(_cells(table))
    text = model_card(table, name=name, sentences=sentences, shown=shown, measured_on=where)
    write_bytes(path, text.encode())


def _give_sums(
    run: Run,
    given: ViewOptions,
    draws: int | None,
    numbers: NumberOptions,
    progress: Progress,
) -> None:
    """Give the metrics that sums know."""
    from lore_core.data.progress import part_of
    from lore_core.mergeable import metrics_of_sums, null_errors_of_sums

    gamma = 0.2 if given.gamma is None else given.gamma
    chance = None
    if draws != 0:
        chance = null_errors_of_sums(
            run.sums,
            gamma=gamma,
            n_draws=_DRAWS_OF_SUMS if draws is None else draws,
            random_state=given.seed,
            progress=part_of(progress, 0.8, 0.9),
        )
    table = metrics_of_sums(
        run.sums, gamma=gamma, chance=chance, progress=part_of(progress, 0.9, 1.0)
    )
    content = {
        **settings_of(run, given, gamma),
        "metrics": table.set_index("metric").to_dict(orient="index"),
    }
    if numbers.give(table, content):
        return
    metrics = [CATALOGUE[name] for name in table["metric"]]
    surely = [
        m.interval_text(low, high) if low < high else ""
        for m, low, high in zip(metrics, table["at_least"], table["at_most"], strict=True)
    ]
    say(
        text_table(
            {
                "metric": [metric.heading for metric in metrics],
                "value": [m.text(v) for m, v in zip(metrics, table["value"], strict=True)],
                "surely": surely,
                "p": [p_words(p) for p in table["p_value"]],
            }
        )
    )
    say("")
    say(f"γ = {gamma:g}. {said_of(run)}")
    if chance is not None:
        say(
            f"p: how often {chance.n_draws} simulations in which every confidence is right show as "
            "much."
        )


def _cells(table: pd.DataFrame) -> dict[str, list[str]]:
    metrics = [CATALOGUE[name] for name in table["metric"]]
    return {
        "metric": [metric.heading for metric in metrics],
        "value": [m.text(value) for m, value in zip(metrics, table["value"], strict=True)],
        "95 %": [
            m.interval_text(low, high)
            for m, low, high in zip(metrics, table["low"], table["high"], strict=True)
        ],
        "p": [p_words(p) for p in table["p_value"]],
    }
