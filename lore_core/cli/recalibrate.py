"""``lore recalibrate``: fit a recalibrator and save it, or apply a saved one to a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

import lore_core as lore
from lore_core.cli import source
from lore_core.cli.options import SHARE, column_option, examples, number_option, options_as
from lore_core.cli.output import Progress, note, output_path, say, text_table
from lore_core.data.defaults import EVALUATION, N_BINS
from lore_core.data.errors import InputError
from lore_core.recalibration.registry import METHODS, named_recalibrator


@dataclass(frozen=True)
class FitOptions:
    """Options of fitting: the method, and the rows to fit on."""

    data: tuple[str, ...]
    method: str
    maps: tuple[str, ...]
    gamma: float
    bins: int
    roles: tuple[str, ...]
    without_rows: bool
    fit_rows: int
    risk: float | None


@click.command(
    epilog=examples(
        "lore recalibrate --fit model_cal.npz --method lore --map pca-20 --save m.lore",
        "lore recalibrate --model m.lore new.parquet -o recalibrated.parquet",
        "lore recalibrate --fit cal.csv --method smooth --save m.lore new.csv -o out.csv",
        "lore recalibrate --fit cal.csv --save m.lore --without-rows",
        "lore recalibrate --fit model_cal.npz --fit model_test.npz --risk 0.05 --save m.lore",
        "lore recalibrate --describe m.lore",
    )
)
@click.argument("file", required=False, metavar="[FILE]")
@click.option("--model", metavar="M.LORE", help="A saved recalibrator to apply.")
@click.option(
    "--fit",
    "data",
    multiple=True,
    metavar="DATA",
    help='Fit on these data: their calibration rows, or all where no split is named; "demo" too. '
    "Twice for a calibration/test pair.",
)
@click.option(
    "--method",
    type=click.Choice(list(METHODS)),
    default="smooth",
    help="What to fit; lore, smooth and levels are local.",
)
@click.option(
    "--map",
    "maps",
    multiple=True,
    default=("pca-20", "pca-2"),
    metavar="MAP",
    help="Feature map of local methods, fitted on the calibration rows: pca, identity or tsne, "
    "with its dimensions. Smooth and levels weigh all that are named, lore takes the first.",
)
@click.option(
    "--gamma",
    "-g",
    type=click.FloatRange(min=0, min_open=True),
    default=0.4,
    help="Bandwidth of lore; the other local methods choose their own.",
)
@click.option("--bins", type=click.IntRange(min=1), default=N_BINS, help="Confidence bins.")
@column_option
@click.option("--save", metavar="M.LORE", help="Where to save what was fitted.")
@click.option(
    "--without-rows",
    is_flag=True,
    help="Save only means over ten or more calibration rows, for confidential data; prints by how "
    "much this changes confidences.",
)
@click.option(
    "--describe", metavar="M.LORE", help="List what a saved recalibrator holds, and nothing else."
)
@click.option("-o", "--out", metavar="OUT", help="Where to write FILE, recalibrated.")
@number_option(
    "--fit-rows",
    minimum=100,
    default=100_000,
    help="Of Parquet files with more than 2,000,000 rows: fit on so many calibration rows, drawn "
    "uniformly at random.",
)
@click.option(
    "--suffix",
    default="",
    show_default=False,
    metavar="TEXT",
    help="Added to the names of the new columns; without it they replace the old ones.",
)
@click.option(
    "--risk",
    type=SHARE,
    metavar="SHARE",
    help="Save a confidence below which the predictor abstains, so that at most this share of "
    "answers is wrong, 95 % certain by DATA's evaluation rows. OUT gets a column abstain.",
)
@options_as(FitOptions, "fit")
def recalibrate(
    *,
    file: str | None,
    model: str | None,
    fit: FitOptions,
    save: str | None,
    describe: str | None,
    out: str | None,
    suffix: str,
) -> None:
    """Fit a recalibrator and save it, apply a saved one to FILE, or list what it holds.

    FILE is .parquet or .csv of any length, with the columns p_<class> and the features. It is
    read in chunks; OUT has the same rows and columns and is written as a whole or not at all.
    """
    from lore_core.shipping import describe as contents_of
    from lore_core.shipping.files import recalibrate_file

    if describe is not None:
        contents = contents_of(describe)
        say(f"{contents.sentence}\n")
        say(text_table(contents.table()))
        return
    if (model is None) == (not fit.data):
        raise InputError(
            "one of '--model' and '--fit' must be given: a saved recalibrator, or data to fit on."
        )
    if (file is None) != (out is None):
        raise InputError("FILE and '--out' must be given together: what to recalibrate, and where.")
    if fit.data and save is None and file is None:
        raise InputError("'--fit' needs '--save', '--out' or both: otherwise nothing is saved.")
    if model is not None and (save is not None or fit.without_rows or fit.risk is not None):
        raise InputError(
            "'--save', '--without-rows' and '--risk' go with '--fit'; '--model' is saved already."
        )
    target = None if out is None else output_path(out, (".parquet", ".csv"))
    fitted: Any = model
    if fit.data:
        model_file = None if save is None else output_path(save, (".lore",), "--save")
        fitted = _fit(fit)
        if model_file is not None:
            fitted.save(model_file)
            say(f"Saved to {model_file}: {contents_of(model_file).sentence}")
    if file is None or target is None:
        return
    with Progress() as report:
        rows = recalibrate_file(fitted, file, target, suffix=suffix, progress=report)
    say(f"Recalibrated {rows:,} rows into {target}.")


def _fit(options: FitOptions) -> lore.Recalibrator:
    from lore_core.embedding.embed import make_maps

    drawn = source.sample_of(options.data, options.roles, options.fit_rows)
    dataset = source.load_data(options.data, options.roles) if drawn is None else drawn
    if dataset.split is None:
        note(f"{dataset.name} names no split: all {len(dataset):,} rows are fitted on.")
    rows: lore.Dataset | None = dataset if dataset.split is None else dataset.calibration
    if rows is None:
        raise InputError(
            f"'{dataset.name}' must have calibration rows to fit on; its split names none."
        )
    made = named_recalibrator(options.method, options.gamma, options.bins)
    embedding = None
    if made.needs_embedding:
        if rows.features is None:
            raise InputError(
                f"'{dataset.name}' must have features for a local method; it has none. Choose a "
                "global one, such as --method temperature."
            )
        with Progress() as report:  # on these rows alone: a file places later ones by these maps
            embedding = make_maps(rows.features, options.maps, "--map", progress=report)
    fitted = made.fit(rows, embedding)
    measured = dataset.split is not None and dataset.in_split(EVALUATION).any()
    tried = dataset.evaluation if measured else rows
    points = None
    if embedding is not None and tried.features is not None:
        points = {name: item.transform(tried.features) for name, item in embedding.items()}
    if options.without_rows:
        shareable = fitted.without_rows()
        difference = lore.comparison.confidence_difference(
            fitted, shareable, tried, points, gamma=options.gamma, n_bins=options.bins
        )
        say(difference.sentence("evaluation" if measured else "calibration"))
        fitted = shareable
    if options.risk is not None:
        if not measured:
            raise InputError(
                f"'--risk' needs evaluation rows, which nothing was fitted on; '{dataset.name}' "
                "names none. Give the test file or a split too."
            )
        known, new = fitted.recalibrate(rows, embedding), fitted.recalibrate(tried, points)
        curve = lore.metrics.risk_curve(
            new.confidence, new.outcome, known.confidence, weights=new.weights, units=new.units
        )
        fitted.answer_threshold = found = lore.metrics.answer_threshold(curve, options.risk)
        if found.confidence is None:
            raise InputError(f"{found.sentence} Take a larger '--risk' or more rows.")
        say(found.sentence)
    return fitted
