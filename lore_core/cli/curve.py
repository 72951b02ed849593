"""``lore curve``: MLCE and ALCE over bandwidths, beside what chance makes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from lore_core.cli.figure_files import FigureOptions, figure_options
from lore_core.cli.options import ViewOptions, draws_option, examples, view_options
from lore_core.cli.output import Progress, json_option, note, records, say, text_table
from lore_core.cli.sums import SumsOptions, run_of, said_of, settings_of, sums_options
from lore_core.data.json_text import as_json
from lore_core.data.number_text import POINTS
from lore_core.metrics.catalogue import CURVES, VECTOR_CURVES

_ALL_CURVES = CURVES | VECTOR_CURVES

if TYPE_CHECKING:
    import pandas as pd

    from lore_core import BandwidthCurve
    from lore_core.inference import NullBand, VectorBand
    from lore_core.mergeable import Run
    from lore_core.metrics import VectorCurve
    from lore_core.metrics.metric import CurveKey


@click.command(
    epilog=examples(
        "lore curve demo",
        "lore curve model_cal.npz model_test.npz --map tsne --map pca-20 -o curve.svg",
        "lore curve predictions.csv --metric alce -o curve.html -o curve.csv",
    )
)
@view_options(several_maps=True)
@click.option(
    "--metric",
    type=click.Choice(list(_ALL_CURVES)),
    help="What the figure shows (default: mlce_supported, of rows with 10 effective neighbours or "
    "more; with --target all average, or largest).",
)
@draws_option("Simulations of chance (default: what takes some seconds; 0: none).")
@sums_options
@json_option
@figure_options
def curve(
    given: ViewOptions,
    *,
    metric: Any,
    draws: int | None,
    sums: SumsOptions,
    json_: bool,
    figure: FigureOptions,
) -> None:
    """Supported MLCE, ALCE and MLCE as the bandwidth γ grows.

    For one feature map or several; of the first also where the whole curve of a calibrated model
    with the same confidences stays, with 95 % (columns *_chance_low, *_chance_high). Towards γ = 0
    each row stands alone; towards infinity the MLCE becomes the MCE, the ALCE the ECE. With
    --target all the average and the largest error of the whole probability vector.

    Of Parquet files with more than 2,000,000 rows, named by a pattern or one by one, it comes from
    sums over cells of the map, with bounds (columns *_at_least, *_at_most) and without chance.
    """
    from lore_core.cli.view import needs_map, open_view
    from lore_core.comparison import conclude_bandwidths
    from lore_core.data.dataset import ALL_CLASSES
    from lore_core.data.validation import InputError
    from lore_core.view.inference import chance_band_of, vector_band_of, vector_curve_of
    from lore_core.view.where import curve_of

    with Progress() as progress:
        run = run_of(given, sums, progress)
        if run is not None:
            _give_sums(run, given, metric or next(iter(CURVES)), json_, figure, progress)
            return
        view = open_view(given, progress, all_classes=True)
        needs_map(view)
        of_all = view.target == ALL_CLASSES
        known = list(VECTOR_CURVES if of_all else CURVES)
        if metric is None:
            metric = known[0]
        elif metric not in known:
            raise InputError(f"'--metric' must be one of {', '.join(known)} here; got {metric!r}.")
        compute = vector_curve_of if of_all else curve_of
        curves = {
            name: compute(view.with_(maps={name: on}), progress) for name, on in view.maps.items()
        }
        simulate = vector_band_of if of_all else chance_band_of
        chance = None if draws == 0 else simulate(view, n_draws=draws, progress=progress)
        if chance is None and draws is None:
            note(
                "what chance makes is left out: simulating it on so many rows would take long "
                "(--draws 100 does it all the same)."
            )
    table = _numbers(curves, chance)
    said = conclude_bandwidths(curves[view.map_name], chance, on=view.map_name)
    content = {
        **view.settings(),
        "conclusion": said.sentence,
        "chance_draws": 0 if chance is None else chance.n_draws,
        "limits": {name: _limits(item) for name, item in curves.items()},
        "curve": records(table),
    }
    if json_:
        say(as_json(content))
    elif not figure.paths:
        say(said.sentence)
        say("")
        say(_text(table))
        say("")
        say(f"{view.dataset.name}: {view.rows}, {view.bins_in_words}.")
    if not figure.paths:
        return
    from lore_core.figures import bandwidth_figure

    chart = bandwidth_figure(
        curves,
        metric=metric,
        rows=f"{view.rows}, {view.bins_in_words}",
        gamma=view.gamma,
        null=None if chance is None else (view.map_name, chance),
        mode=figure.mode,
    )
    figure.write(chart, table, content, quiet=json_)


def _give_sums(
    run: Run,
    given: ViewOptions,
    metric: CurveKey,
    json_: bool,
    figure: FigureOptions,
    progress: Progress,
) -> None:
    """Give the curve that sums know."""
    from lore_core.data.progress import part_of
    from lore_core.mergeable import bandwidth_curve_of_sums

    found = bandwidth_curve_of_sums(run.sums, progress=part_of(progress, 0.8, 1.0))
    name = run.plan.embedding.name.title
    table = found.frame()
    table.insert(0, "map", name)
    content = {
        **settings_of(run, given, given.gamma),
        "limits": {name: _limits(found.value)},
        "curve": records(table),
    }
    if json_:
        say(as_json(content))
    elif not figure.paths:
        say(_text(table))
        say("")
        say(said_of(run))
    if not figure.paths:
        return
    from lore_core.figures import bandwidth_figure

    chart = bandwidth_figure(
        {name: found},
        metric=metric,
        rows=f"{run.sums.n_rows:,} rows, {run.sums.bins.n_bins} {run.sums.bins.binning} bins",
        gamma=given.gamma,
        mode=figure.mode,
    )
    figure.write(chart, table, content, quiet=json_)


def _numbers(
    curves: Mapping[str, BandwidthCurve | VectorCurve], chance: NullBand | VectorBand | None
) -> pd.DataFrame:
    """One row a map and bandwidth."""
    import pandas as pd

    tables = []
    for position, (name, item) in enumerate(curves.items()):
        table = item.frame()
        table.insert(0, "map", name)
        if position == 0 and chance is not None:
            for key in [key for key in _ALL_CURVES if key in table]:
                table[f"{key}_chance_low"], table[f"{key}_chance_high"] = chance.band(key)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def _limits(item: BandwidthCurve | VectorCurve) -> dict[str, float]:
    return {name: end for name, end in vars(item).items() if name.endswith(("_zero", "_infinity"))}


def _text(table: pd.DataFrame) -> str:
    """Every third bandwidth, and chance as a range."""
    shown = table.groupby("map", sort=False, group_keys=False).nth(slice(None, None, 3))
    cells = {"map": list(shown["map"]), "γ": [f"{gamma:.3g}" for gamma in shown["gamma"]]}
    known = [about for key, about in _ALL_CURVES.items() if key in shown]
    for position, about in enumerate(known):
        key = about.key
        cells[f"{about.title}, points"] = [POINTS.text(value) for value in shown[key]]
        for between, low, high in (
            ("by chance", f"{key}_chance_low", f"{key}_chance_high"),
            ("surely", f"{key}_at_least", f"{key}_at_most"),
        ):
            if low in shown:
                # (Two columns of one heading: a mapping needs two names.)
                cells[between + " " * position] = [
                    POINTS.interval_text(*ends)
                    for ends in zip(shown[low], shown[high], strict=True)
                ]
    cells["median effective neighbours"] = [f"{size:.0f}" for size in shown["median_n_eff"]]
    return text_table(cells)
