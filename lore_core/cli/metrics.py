"""``lore metrics``, ``curve`` and ``check``: numbers, over bandwidths, and against limits."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import click

import lore_core as lore
from lore_core import comparison, figures, inference, view as views
from lore_core.cli import source
from lore_core.cli.compare import by_option, changes_since
from lore_core.cli.options import ViewOptions, draws_option, number_option, view_command
from lore_core.cli.output import Output, Progress, Table, interval_texts, note, results, text_table
from lore_core.cli.subgroups import described, output_of_classes, subgroups_text
from lore_core.data.defaults import ALL_CLASSES
from lore_core.data.errors import InputError
from lore_core.data.number_text import HUNDREDTHS, POINTS
from lore_core.metrics.catalogue import CATALOGUE, CURVES
from lore_core.metrics.metric import Metric

#: Fewer have no 2.5 % on either side.
_FEWEST_DRAWS = 39


@view_command(
    "lore metrics demo",
    "lore metrics model_cal.npz model_test.npz --map tsne --gamma 0.2 --json",
    "lore metrics predictions.csv --target Shirt --top 10 -o metrics.parquet",
    "lore metrics predictions.npz --target all",
    "lore metrics 'part-*.parquet' --workers 2 --sums sums",
    sums=True,
)
@number_option("--top", minimum=0, default=3, help="Places of wrong confidence listed.")
@draws_option(fewest=", 39 or more")
@results()
def metrics(given: ViewOptions, *, top: int, draws: int | None, progress: Progress) -> Output:
    """Every metric of the Overview, with interval and chance.

    The verdict in one sentence and what it rests on; global and local metrics of the evaluation
    rows, their 95 % intervals and how often a calibrated model would show as much; and the
    subgroups behind the verdict. With --target all the local error of all probabilities together,
    its noise taken off, compared with calibrated models, and each class.

    Of Parquet files with more than 2,000,000 rows, named by a pattern or one by one, local metrics
    come from sums over cells of the map, with the bounds that surely hold them and without places.
    """
    from lore_core.metrics.proper_scores import clip_note, unclipped_nll
    from lore_core.metrics.tables import metric_columns

    if draws is not None and 0 < draws < _FEWEST_DRAWS:
        raise InputError(f"'--draws' must be 0 or at least {_FEWEST_DRAWS}; got {draws}.")
    view = source.open_source(given, progress, all_classes=True)
    if isinstance(view, views.View) and view.target == ALL_CLASSES:
        source.needs_map(view)
        return output_of_classes(view, progress)
    table, chance = views.methods.metrics_of(view, n_draws=draws, progress=progress)
    columns, basis = metric_columns(table), view.basis()
    by_name = table.set_index("metric").to_dict(orient="index")
    content, sentences, listed = view.settings(), [], None
    if isinstance(view, views.View):
        basis = f"{basis}\n{clip_note({'': unclipped_nll(view.evaluation)})}".rstrip()
        search = views.where.subgroups_of(view, progress=progress)
        listed = described(view, search).head(top)
        conclusion = views.where.verdict_of(view, search)
        sentences = [conclusion.sentence, conclusion.evidence]
        content["verdict"] = {
            name: getattr(conclusion, name) for name in ("level", "sentence", "evidence")
        }
    if chance is not None:
        basis += (
            f"\np: how often {chance.n_draws} simulations in which every confidence is right show "
            "as much."
        )
    content["metrics"] = by_name
    text = ["\n".join(filter(None, sentences)), text_table(columns), basis]
    if listed is not None:
        content["subgroups"] = listed.to_dict(orient="records")
        if len(listed):
            text.append(f"Places:\n{subgroups_text(listed)}")
    return Output(content, table, text)


@view_command(
    "lore curve demo",
    "lore curve model_cal.npz model_test.npz --map tsne --map pca-20 -o curve.svg",
    "lore curve predictions.csv --metric alce -o curve.html -o curve.csv",
    several_maps=True,
    sums=True,
)
@click.option(
    "--metric",
    type=click.Choice(list(CURVES)),
    default="mlce_supported",
    help="What the figure shows (default: mlce_supported, of rows with 10 effective neighbours or "
    "more).",
)
@draws_option("what chance makes")
@results(figure=True)
def curve(given: ViewOptions, *, metric: Any, draws: int | None, progress: Progress) -> Output:
    """Supported MLCE, ALCE and MLCE as the bandwidth γ grows.

    For one feature map or several; of the first also where the whole curve of a calibrated model
    with the same confidences stays, with 95 % (columns *_chance_low, *_chance_high). Towards γ = 0
    each row stands alone; towards infinity the MLCE becomes the MCE, the ALCE the ECE.

    Of Parquet files with more than 2,000,000 rows, named by a pattern or one by one, it comes from
    sums over cells of the map, with bounds (columns *_at_least, *_at_most) and without chance.
    """
    view = source.open_source(given, progress)
    source.needs_map(view)
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
        "limits": {
            name: {of: end for of, end in vars(item).items() if of.endswith(("_zero", "_infinity"))}
            for name, item in curves.items()
        },
        "curve": table.to_dict(orient="records"),
    }
    details = [text.sentence, _text(table), view.basis(at_gamma=False)]
    return Output(content, table, [], details, chart)


def _numbers(curves: Mapping[str, lore.BandwidthCurve], chance: inference.NullBand | None) -> Table:
    import pandas as pd

    tables = []
    for position, (name, item) in enumerate(curves.items()):
        table = item.frame()
        table.insert(0, "map", name)
        if position == 0 and chance is not None:
            for key in CURVES:
                table[f"{key}_chance_low"], table[f"{key}_chance_high"] = chance.band(key)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def _text(table: Table) -> str:
    """Return every third bandwidth, with chance and bounds as ranges."""
    shown = table.groupby("map", sort=False, group_keys=False).nth(slice(None, None, 3))
    cells = {"map": list(shown["map"]), "γ": [f"{gamma:.3g}" for gamma in shown["gamma"]]}
    for position, (key, about) in enumerate(CURVES.items()):
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


EXCEEDED = 3
_PLACE = "max_subgroup"
_CHECKED = {
    **CATALOGUE,
    # (What limits on subgroups and on growth are called: no metrics, but written as such.)
    **{
        name: replace(CATALOGUE["MCE"], name=name, unit=POINTS)
        for name in ("worst subgroup", "growth of the mean gap", "growth of a subgroup's gap")
    },
}


def _option_of(metric: Metric) -> str:
    """Return a metric's option: ``"max-held-out-alce"``."""
    slug = re.sub(r"[^a-z]+", "-", metric.words.lower().replace("'s", "")).strip("-")
    return f"max-{slug.removeprefix('max-')}" if metric.direction == "lower" else f"min-{slug}"


_LIMITED = {
    _option_of(metric).replace("-", "_"): metric
    for metric in CATALOGUE.values()
    if metric.direction is not None
}


def _limit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command an option for every metric with a better side."""
    for name, metric in reversed(_LIMITED.items()):
        side = "Largest" if metric.direction == "lower" else "Smallest"
        command = click.option(
            f"--{name.replace('_', '-')}",
            name,
            type=float,
            metavar="N",
            help=f"{side} {', in '.join(filter(None, [metric.words, metric.unit.name]))}.",
        )(command)
    return command


@view_command(
    "lore check demo --max-ece 5 --max-subgroup 20",
    "lore check model_cal.npz model_test.npz --min-accuracy 80 --max-held-out-alce 3",
    "lore check new_test.npz --against old_test.npz --no-worse-by 5",
)
@_limit_options
@click.option(
    "--max-subgroup",
    _PLACE,
    type=float,
    metavar="N",
    help="Largest gap, in points, of any subgroup of `lore subgroups`.",
)
@click.option(
    "--against",
    metavar="OLD",
    help="Another model's predictions of the same rows: the old model's.",
)
@click.option(
    "--no-worse-by",
    type=float,
    metavar="N",
    help="Largest growth of the mean gap, and of any subgroup's, since --against, in points.",
)
@by_option
@click.option("--strict", is_flag=True, help="Fail also where the rows are too few to be sure.")
@draws_option("intervals")
@results()
def check(
    given: ViewOptions,
    *,
    max_subgroup: float | None,
    against: str | None,
    no_worse_by: float | None,
    by: str | None,
    strict: bool,
    draws: int | None,
    progress: Progress,
    **limits: float | None,
) -> Output:
    """Check a model against limits, as a test of it.

    The exit code is 3 where a limit is exceeded for sure: where the value is beyond it, and its
    whole 95 % interval is too. Where the interval reaches back to the limit, the rows are too few
    to tell: that is said, and fails with --strict only. A subgroup counts with its gap on
    held-out rows. With --against and --no-worse-by DATA is a new model that is compared with an old
    one on the same rows.
    """
    import pandas as pd

    from lore_core.comparison.tables import (
        check_growth,
        check_metrics,
        check_subgroups,
        metric_table,
    )
    from lore_core.metrics.proper_scores import clip_note

    wanted = {
        _LIMITED[name].name: limit / _LIMITED[name].unit.scale
        for name, limit in limits.items()
        if limit is not None
    }
    if (against is None) != (no_worse_by is None):
        raise InputError("'--against' and '--no-worse-by' must be given together.")
    if not wanted and max_subgroup is None and against is None:
        raise InputError("a limit must be given, such as --max-ece 5 or --max-subgroup 10.")
    view = source.open_view(given, progress)
    tables, clips = [], ""
    if wanted:
        summary = views.methods.summary_of(view, n_draws=draws, progress=progress)
        tables.append(check_metrics(metric_table(summary), wanted))
        clips = clip_note({"": summary.unclipped_nll}) if "NLL" in wanted else ""
    if max_subgroup is not None:
        found = views.where.subgroup_table(view, views.where.subgroups_of(view, progress=progress))
        tables.append(check_subgroups(found, max_subgroup / HUNDREDTHS))
    if against is not None and no_worse_by is not None:
        changes = changes_since(view, source.load_other(against, given), by, progress)
        tables.append(check_growth(changes, no_worse_by / HUNDREDTHS))
    table = tables[0] if len(tables) == 1 else pd.concat(tables, ignore_index=True)
    failed = table["result"].isin(["exceeded", "not sure"] if strict else ["exceeded"])
    content = {**view.settings(), "strict": strict, "checks": table.to_dict(orient="records")}
    sentence = f"{int(failed.sum())} of {len(table)} limits exceeded"
    if (table["result"] == "not sure").any() and not strict:
        sentence += "; “not sure”: beyond the limit, but by no more than chance may be"
    text = [_as_text(table), f"{view.dataset.name}, {view.rows}: {sentence}. {clips}".rstrip()]
    return Output(content, table, text, exit_code=EXCEEDED if failed.any() else 0)


def _as_text(table: Table) -> str:
    metrics = [_CHECKED[name] for name in table["check"]]
    ends = zip(metrics, table["low"], table["high"], strict=True)
    where = {"where": list(table["where"])} if table["where"].any() else {}
    return text_table(
        {
            "check": [metric.heading for metric in metrics],
            "limit": [m.text(limit) for m, limit in zip(metrics, table["limit"], strict=True)],
            "value": [m.text(value) for m, value in zip(metrics, table["value"], strict=True)],
            "95 % CI": [metric.interval_text(low, high) for metric, low, high in ends],
            "result": list(table["result"]),
            **where,
        }
    )
