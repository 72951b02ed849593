"""``lore metrics``: the numbers of the Overview."""

from __future__ import annotations

import click

from lore_core import figures, inference, view as views
from lore_core.cli import source
from lore_core.cli.options import ViewOptions, draws_option, number_option, view_command
from lore_core.cli.output import Output, Progress, Table, output_path, results, text_table
from lore_core.data.atomic_files import write_bytes
from lore_core.data.defaults import ALL_CLASSES
from lore_core.data.errors import InputError
from lore_core.data.number_text import POINTS, p_words, percent, signed_points

#: Fewer have no 2.5 % on either side.
_FEWEST_DRAWS = 39


@view_command(
    "lore metrics demo",
    "lore metrics model_cal.npz model_test.npz --map tsne --gamma 0.2 --json",
    "lore metrics predictions.csv --target Shirt --top 10 -o metrics.parquet",
    "lore metrics predictions.npz --target all",
    "lore metrics test.parquet --card calibration.md",
    "lore metrics 'part-*.parquet' --workers 2 --sums sums",
    sums=True,
)
@number_option("--top", minimum=0, default=3, help="Places of wrong confidence listed.")
@draws_option(fewest=", 39 or more")
@click.option(
    "--card",
    metavar="FILE.md",
    help="Also write what a model card says of it: text, and the front matter hubs read.",
)
@results()
def metrics(
    given: ViewOptions, *, top: int, draws: int | None, card: str | None, progress: Progress
) -> Output:
    """Every metric of the Overview, with interval and chance.

    The verdict in one sentence and what it rests on; global and local metrics of the evaluation
    rows, their 95 % intervals and how often a calibrated model would show as much; and the
    subgroups behind the verdict. With --target all the local error of all probabilities together,
    its noise taken off, compared with calibrated models, and each class.

    Of Parquet files with more than 2,000,000 rows, named by a pattern or one by one, local metrics
    come from sums over cells of the map, with the bounds that surely hold them and without places.
    """
    import pandas as pd

    from lore_core.cli.subgroups import described, subgroups_text
    from lore_core.metrics.tables import metric_columns
    from lore_core.report.model_card import model_card

    if draws is not None and 0 < draws < _FEWEST_DRAWS:
        raise InputError(f"'--draws' must be 0 or at least {_FEWEST_DRAWS}; got {draws}.")
    card_path = None if card is None else output_path(card, (".md",), "--card")
    view = source.open_source(given, progress, all_classes=True)
    if card_path is not None and not isinstance(view, views.View):
        raise InputError("'--card' is not written of so many rows. Name fewer files.")
    if isinstance(view, views.View) and view.target == ALL_CLASSES:
        if card_path is not None:
            raise InputError("'--card' is not written of all classes at once.")
        source.needs_map(view)
        return output_of_classes(view, progress)
    table, chance = views.methods.metrics_of(view, n_draws=draws, progress=progress)
    columns, basis = metric_columns(table), view.basis()
    by_name = table.set_index("metric").to_dict(orient="index")
    content, sentences, listed = {**view.settings(), "metrics": by_name}, [], None
    if isinstance(view, views.View):
        search = views.where.subgroups_of(view, progress=progress)
        listed = described(view, search).head(top)
        conclusion = views.where.verdict_of(view, search)
        verdict = {
            "level": conclusion.level,
            "sentence": conclusion.sentence,
            "evidence": conclusion.evidence,
        }
        subgroups = listed.to_dict(orient="records")
        content = {
            **view.settings(),
            "verdict": verdict,
            "metrics": by_name,
            "subgroups": subgroups,
        }
        sentences = [conclusion.sentence, conclusion.evidence]
        if card_path is not None:
            name, shown = view.dataset.name, pd.DataFrame(columns)
            card_text = model_card(
                table, name=name, sentences=sentences, shown=shown, measured_on=basis
            )
            write_bytes(card_path, card_text.encode())
    if chance is not None:
        basis += (
            f"\np: how often {chance.n_draws} simulations in which every confidence is right show "
            "as much."
        )
    text = ["\n".join(filter(None, sentences)), text_table(columns), basis]
    if listed is not None and len(listed):
        text.append(f"Places:\n{subgroups_text(listed)}")
    return Output(content, table, text)


def output_of_classes(view: views.View, progress: Progress, *, drawn: bool = False) -> Output:
    """Report errors of all classes together and of each; ``drawn``: rows instead of the table."""
    errors = views.inference.vector_errors_of(view)
    chance = views.inference.vector_chance_of(view, errors, progress=progress)
    table = views.inference.classes_of(view, errors, chance)
    sentence, rows = inference.describe_classes(table), f"{view.rows}, {view.kernel_in_words}"
    content = {
        **view.settings(),
        "sentence": chance.sentence,
        "average": chance.average,
        "chance_level": chance.chance_level,
        "p_value": chance.p_value,
        "largest": chance.largest,
        "largest_chance_level": chance.largest_level,
        "largest_p_value": chance.largest_p_value,
        "about_classes": sentence,
        "rows_beyond_chance": int(chance.beyond.sum()),
        "classes": table.reset_index().to_dict(orient="records"),
    }
    text, points = [f"{chance.sentence} {sentence}".strip()], view.points()
    if not drawn:
        text += [_classes_text(table), f"{view.dataset.name}: {rows}."]
        return Output(content, table.reset_index(), text)
    if points.shape[1] != 2:
        return Output(content, table, text)
    chart = figures.class_map_figure(
        view.evaluation, points, errors, chance, rows=rows, axes=view.map_name
    )
    return Output(content, chart.table, text, chart=chart)


def _classes_text(table: Table) -> str:
    return text_table(
        {
            "": [str(name) for name in table.index],
            "mean probability": [percent(share) for share in table["mean_probability"]],
            "frequency": [percent(share) for share in table["frequency"]],
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
