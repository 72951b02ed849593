"""``lore curve``: MLCE and ALCE over bandwidths, beside what chance makes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

import lore_core as lore
from lore_core import comparison, figures, inference, metrics as measures, view as views
from lore_core.cli import source
from lore_core.cli.options import ViewOptions, draws_option, view_command
from lore_core.cli.output import Output, Progress, Table, interval_texts, note, results, text_table
from lore_core.data.defaults import ALL_CLASSES
from lore_core.data.errors import InputError
from lore_core.data.number_text import POINTS
from lore_core.metrics.catalogue import CURVES, VECTOR_CURVES

_ALL_CURVES = CURVES | VECTOR_CURVES


@view_command(
    "lore curve demo",
    "lore curve model_cal.npz model_test.npz --map tsne --map pca-20 -o curve.svg",
    "lore curve predictions.csv --metric alce -o curve.html -o curve.csv",
    several_maps=True,
    sums=True,
)
@click.option(
    "--metric",
    type=click.Choice(list(_ALL_CURVES)),
    help="What the figure shows (default: mlce_supported, of rows with 10 effective neighbours or "
    "more; with --target all average, or largest).",
)
@draws_option("what chance makes")
@results(figure=True)
def curve(given: ViewOptions, *, metric: Any, draws: int | None, progress: Progress) -> Output:
    """Supported MLCE, ALCE and MLCE as the bandwidth γ grows.

    For one feature map or several; of the first also where the whole curve of a calibrated model
    with the same confidences stays, with 95 % (columns *_chance_low, *_chance_high). Towards γ = 0
    each row stands alone; towards infinity the MLCE becomes the MCE, the ALCE the ECE. With
    --target all the average and the largest error of the whole probability vector.

    Of Parquet files with more than 2,000,000 rows, named by a pattern or one by one, it comes from
    sums over cells of the map, with bounds (columns *_at_least, *_at_most) and without chance.
    """
    view = source.open_source(given, progress, all_classes=True)
    source.needs_map(view)
    curves: Mapping[str, lore.BandwidthCurve | measures.VectorCurve]
    chance: inference.NullBand | inference.VectorBand | None = None
    of_all = isinstance(view, views.View) and view.target == ALL_CLASSES
    known = list(VECTOR_CURVES if of_all else CURVES)
    if metric is None:
        metric = known[0]
    elif metric not in known:
        raise InputError(f"'--metric' must be one of {', '.join(known)} here; got {metric!r}.")
    if isinstance(view, views.View) and of_all:
        curves = {
            name: views.inference.vector_curve_of(on, progress) for name, on in view.by_map.items()
        }
        if draws != 0:
            chance = views.inference.vector_band_of(view, n_draws=draws, progress=progress)
    else:
        curves = {name: views.where.curve_of(on, progress) for name, on in view.by_map.items()}
        chance = views.inference.chance_band_of(view, n_draws=draws, progress=progress)
    if chance is None and draws is None and isinstance(view, views.View):
        note(
            "what chance makes is left out: simulating it on so many rows would take long "
            "(--draws 100 does it all the same)."
        )
    table = _numbers(curves, chance)
    text = comparison.conclude_bandwidths(curves[view.map_name], chance, on=view.map_name)
    chart = figures.bandwidth_figure(
        curves,
        metric=metric,
        rows=f"{view.rows}, {view.bins_in_words}",
        gamma=view.gamma,
        null=None if chance is None else (view.map_name, chance),
    )
    content = {
        **view.settings(),
        "conclusion": text.sentence,
        "chance_draws": 0 if chance is None else chance.n_draws,
        "limits": {name: _limits(item) for name, item in curves.items()},
        "curve": table.to_dict(orient="records"),
    }
    details = [text.sentence, _text(table), view.basis(at_gamma=False)]
    return Output(content, table, [], details, chart)


def _numbers(
    curves: Mapping[str, lore.BandwidthCurve | measures.VectorCurve],
    chance: inference.NullBand | inference.VectorBand | None,
) -> Table:
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


def _limits(item: lore.BandwidthCurve | measures.VectorCurve) -> dict[str, float]:
    return {name: end for name, end in vars(item).items() if name.endswith(("_zero", "_infinity"))}


def _text(table: Table) -> str:
    """Return every third bandwidth, with chance and bounds as ranges."""
    shown = table.groupby("map", sort=False, group_keys=False).nth(slice(None, None, 3))
    cells = {"map": list(shown["map"]), "γ": [f"{gamma:.3g}" for gamma in shown["gamma"]]}
    known = [about for key, about in _ALL_CURVES.items() if key in shown]
    for position, about in enumerate(known):
        key = about.key
        cells[f"{about.title}, points"] = [POINTS.text(value) for value in shown[key]]
        for between, low, high in (
            ("if calibrated", f"{key}_chance_low", f"{key}_chance_high"),
            ("guaranteed", f"{key}_at_least", f"{key}_at_most"),
        ):
            if low in shown:
                # (Two columns of one heading: a mapping needs two names.)
                cells[between + " " * position] = interval_texts(shown[low], shown[high])
    cells["median effective neighbours"] = [f"{size:.0f}" for size in shown["median_n_eff"]]
    return text_table(cells)
