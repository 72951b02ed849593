"""``lore compare``, ``fairness`` and ``decisions``: recalibrators, for whom and at which costs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

import lore_core as lore
from lore_core import comparison, figures, recalibration, view as views
from lore_core.cli import source
from lore_core.cli.options import (
    SHARE,
    ViewOptions,
    cost_options,
    draws_option,
    number_option,
    view_command,
)
from lore_core.cli.output import Output, Progress, Table, interval_texts, note, results, text_table
from lore_core.data.defaults import GAMMA, RUNS_GAMMA, TOP_LABEL
from lore_core.data.errors import InputError, as_path, check_choice, counted
from lore_core.data.number_text import PLAIN, decimal, percent, signed_points
from lore_core.data.progress import part_of
from lore_core.metrics.catalogue import CATALOGUE, COMPARED, MIN_GROUP_SIZE, WORST_CELL, unit_of

if TYPE_CHECKING:
    from lore_core.comparison import ModelComparison, RunsComparison

_MAP = "pca-20"  #: Of a directory

method_option = click.option(
    "--method",
    "names",
    multiple=True,
    metavar="NAME",
    help="Only this recalibrator, by its name in the table. May be repeated; the others are held "
    "against the first.",
)
by_option = click.option(
    "--by",
    metavar="COLUMN",
    help="Column that names the rows of both models (default: row_id or id; else they are matched "
    "by position).",
)


@view_command(
    "lore compare model_cal.npz model_test.npz --map tsne -o methods.parquet",
    "lore compare demo --method LoRe --method 'Temperature scaling' --map pca-20",
    "lore compare old_test.npz --against new_test.npz --by clip",
    "lore compare runs/ --map pca-20 --gamma 0.4 --bins 5 --group race --json",
    several_maps=True,
)
@method_option
@click.option("--group", metavar="COLUMN", help="Group column of the worst group and cell.")
@number_option(
    "--min-group-size",
    help=f"Leave smaller groups out (default: {MIN_GROUP_SIZE}; 1 for a directory of runs).",
)
@click.option(
    "--against",
    multiple=True,
    metavar="DATA",
    help="In place of recalibrators: compare DATA with another model's predictions of the same "
    "rows: a file, or two joined by “;”. May be repeated.",
)
@by_option
@click.option("--all", "all_methods", is_flag=True, help="Every method, not only the usual ones.")
@draws_option("the intervals of calibration errors of one dataset", ", 39 or more")
@results()
def compare(
    given: ViewOptions,
    *,
    names: tuple[str, ...],
    group: str | None,
    min_group_size: int | None,
    against: tuple[str, ...],
    by: str | None,
    all_methods: bool,
    draws: int | None,
    progress: Progress,
) -> Output:
    """Hold every recalibrator against the others.

    Each is fitted on the calibration rows and measured on the evaluation rows. Of one dataset:
    methods × metrics with 95 % intervals. Of a directory of runs (pairs <run>_cal.* and
    <run>_test.*): mean ± standard deviation over the runs, and with --group what goes with the
    worst group. Local errors are measured on the first map; LoRe smooth weighs all, and pca-20.

    With --against, DATA is an old model and the other a new one: which is better, every metric with
    the difference and its joint 95 % interval, and the subgroups whose gap grew or fell.
    """
    from lore_core.comparison.effects import about_predictions

    if against:
        return _models(given, against, by, progress)
    directory = as_path(given.data[0])
    if len(given.data) == 1 and given.data != ("demo",) and directory.is_dir():
        how: dict[str, Any] = {"group": group, "min_group_size": min_group_size}
        found = measure_runs(given, names, **how, all_methods=all_methods, progress=progress)
        return _runs(found, group)
    view = source.open_view(given, progress)
    local, weighted = view.is_local, view.dataset.weights is not None
    methods = methods_of(given, names, local=local, all_methods=all_methods, weighted=weighted)
    result = compare_one(
        view, methods, group=group, min_group_size=min_group_size, n_draws=draws, progress=progress
    )
    conclusion = comparison.conclude_recalibration(
        result, views.where.subgroups_of(view, progress=progress)
    )
    settings = view.settings()
    known = {**settings, "maps": list(view.maps), "conclusion": conclusion.sentence}
    shown = [item for item in COMPARED if item.name in result.table and not item.unfiltered_maximum]
    cells = {item.heading: list(result.table[item.name].map(item.text)) for item in shown}
    on = f"; γ = {view.gamma:g} on {', '.join(view.maps)}" if view.is_local else ""
    rows = (
        f"{view.dataset.name}: fitted on {settings['calibration_rows']:,} calibration rows, "
        f"measured on {view.rows}{on}."
    )
    about = about_predictions(result.most_probable), result.note_on_nll, rows
    text = [
        conclusion.sentence,
        text_table({"": list(result.names.values()), **cells}),
        "\n".join(filter(None, about)),
    ]
    return Output({**known, **result.to_dict()}, result.frame(), text)


def _models(
    given: ViewOptions, against: tuple[str, ...], by: str | None, progress: Progress
) -> Output:
    import pandas as pd

    # (Nothing is fitted: without a split every row is evaluated.)
    view = source.open_view(replace(given, calibration_share=0.0), part_of(progress, 0.0, 0.3))
    found, share = {}, 0.7 / len(against)
    for number, typed in enumerate(against):
        part = part_of(progress, 0.3 + share * number, 0.3 + share * (number + 1))
        other = source.load_other(typed, given)
        pair = comparison.same_rows(view.dataset, other, by=by)
        found[typed] = views.methods.models_of(view, pair, progress=part)
    tables = [item.frame().assign(against=typed) for typed, item in found.items()]
    content = {**view.settings(), "against": [item.to_dict() for item in found.values()]}
    text = [
        (item.sentence, text_table(item.texts), f"{item.how}. {item.measured.note_on_nll}".rstrip())
        for item in found.values()
    ]
    return Output(content, pd.concat(tables, ignore_index=True), [*sum(text, ()), view.basis()])


def changes_since(
    view: views.View, old: lore.Dataset, by: str | None, progress: Progress
) -> ModelComparison:
    """Compare the view's model, on its map, with an old one."""
    pair = comparison.same_rows(view.dataset, old, by=by)
    pair = replace(pair, first=pair.second, second=pair.first)
    return views.methods.models_of(view, pair, progress=progress)


def methods_of(
    given: ViewOptions,
    names: tuple[str, ...],
    *,
    local: bool,
    gamma: float = GAMMA,
    all_methods: bool = False,
    weighted: bool = False,
) -> list[lore.Recalibrator]:
    """Return the recalibrators asked for that fit the data, and note the others."""
    settings = given.gamma or gamma, given.n_bins, given.binning
    usual = {item.label for item in recalibration.standard_recalibrators()}
    methods = [
        item
        for item in recalibration.offered_recalibrators(*settings)
        if names or all_methods or item.label in usual
    ]
    known = {method.label: method for method in methods if local or method.is_global}
    local_methods = [method.label for method in methods if method.label not in known]
    if local_methods and not names and given.maps != ("none",):
        note(f"Left out, for the rows have no features: {', '.join(local_methods)}.")
    if weighted and not names:
        refused = [name for name, method in known.items() if not method.takes_weights]
        known = {name: method for name, method in known.items() if method.takes_weights}
        if refused:
            note(f"Left out, for they let every row count once: {', '.join(refused)}.")
    chosen = [check_choice(name, "--method", known) for name in dict.fromkeys(names)]
    return [known[name] for name in chosen or known]


def compare_one(
    view: views.View,
    methods: list[lore.Recalibrator],
    *,
    group: str | None = None,
    min_group_size: int | None = None,
    n_draws: int | None = None,
    progress: Progress,
) -> lore.Comparison:
    """Compare on one dataset, as the Recalibrate page does."""
    if view.calibration is None:
        raise InputError(
            f"'{view.dataset.name}' must have calibration rows to fit on; it has none. Give the "
            "calibration file too, or a '--calibration-share' above 0."
        )
    if view.target != TOP_LABEL:
        raise InputError(
            f"'--target' must be top-label to compare recalibrators; got {view.target_name!r}."
        )
    if group is not None:
        check_choice(group, "--group", views.methods.group_columns(view.dataset))
    grouping = views.methods.grouping_of(view.dataset, group, min_group_size)
    # With the local metrics if that takes some seconds, else the global ones alone.
    options = views.methods.interval_options(view, n_methods=len(methods))
    if n_draws is not None:
        options = {"n_draws": n_draws}
    return views.methods.comparison_of(view, methods, options, grouping=grouping, progress=progress)


def measure_runs(
    given: ViewOptions,
    names: tuple[str, ...],
    *,
    group: str | None,
    min_group_size: int | None,
    all_methods: bool = False,
    progress: Progress,
) -> RunsComparison:
    """Compare recalibrators on every run of a directory, as the Runs page does."""
    from lore_core.comparison.runs import compare_runs

    directory, local = as_path(given.data[0]), given.maps != ("none",)
    methods = methods_of(given, names, local=local, gamma=RUNS_GAMMA, all_methods=all_methods)
    return compare_runs(
        lore.reading.load_runs(directory, isolate=True) if given.isolate else directory,
        methods,
        group_column=group,
        min_group_size=min_group_size or 1,
        progress=progress,
        feature_map=list(given.maps or (_MAP,)) if local else None,
        gamma=given.gamma or RUNS_GAMMA,
        n_bins=given.n_bins,
        binning=given.binning,
        n_jobs=given.jobs,
    )


def _runs(result: RunsComparison, group: str | None) -> Output:
    mean, sd = result.table, result.sd
    goes_with = None if group is None else result.correlation()
    cells = {}
    for name in map(str, mean):
        unit, heading = unit_of(name), CATALOGUE[name].heading if name in CATALOGUE else name
        cells[heading] = list(mean[name].map(unit.text) + " ± " + sd[name].map(unit.text))
    text = [text_table({"": list(mean.index), **cells})]
    over = counted(result.n_runs, "run")
    runs = f"Mean ± standard deviation over {over}. {result.note_on_nll}".rstrip()
    if goes_with is None:
        return Output(result.to_dict(), result.runs, ["\n".join([*text, runs])])
    known = goes_with.dropna()
    columns = {"metric": list(known.index), "r": [decimal(r, 2, signed=True) for r in known]}
    about = f"Correlation with {str(goes_with.name).removeprefix('correlation with ')}:"
    return Output(result.to_dict(), result.runs, [*text, f"{about}\n{text_table(columns)}", runs])


@view_command(
    "lore fairness demo --method 'No recalibration' --method 'LoRe smooth'",
    "lore fairness model_cal.npz model_test.npz --group race --group sex -o groups.csv",
)
@click.option(
    "--group",
    "by",
    multiple=True,
    metavar="COLUMN",
    help="Group column (default: the first). Repeated: the intersections.",
)
@number_option(
    "--min-group-size",
    default=MIN_GROUP_SIZE,
    help="Smaller groups do not set the maximum, unless all are smaller.",
)
@method_option
@results("every group under every method")
def fairness(
    given: ViewOptions,
    *,
    by: tuple[str, ...],
    min_group_size: int,
    names: tuple[str, ...],
    progress: Progress,
) -> Output:
    """Measure every group under every recalibrator.

    Which groups are significantly miscalibrated and which method corrects that; the worst under
    each method with its gap and the 95 % interval, for all groups at once; and the worst cell of
    group and confidence bin. The paper's maximum over cells however small is in --json.
    """
    from lore_core.comparison.tables import stacked

    view = source.open_view(given, progress)
    known = views.methods.group_columns(view.dataset)
    chosen = [check_choice(name, "--group", known) for name in by or known[:1]]
    if not chosen:
        raise InputError(f"'{view.dataset.name}' must have a group column; it has none.")
    groups = views.methods.group_names(view.evaluation, chosen)
    min_group_size = views.methods.counted_group_size(groups, min_group_size)
    methods = methods_of(given, names, local=view.is_local)
    result = compare_one(view, methods, group=chosen[0], n_draws=0, progress=progress)
    worst = comparison.compare_groups(
        result.datasets, groups, **view.bins, min_group_size=min_group_size
    )
    by_method = views.methods.group_reports_of(view, result.datasets, groups)
    text = comparison.conclude_groups(by_method, min_group_size)
    reports = stacked(by_method)
    reports = reports[["method", *reports.columns.drop("method")]]
    content = {
        **view.settings(),
        "conclusion": text.sentence,
        "groups_by": chosen,
        "min_group_size": min_group_size,
        "methods": worst.to_dict(orient="index"),
        "groups": reports.to_dict(orient="records"),
    }
    rows = f"Groups by {' × '.join(chosen)} of {min_group_size} rows or more, {view.rows}."
    return Output(content, reports, [text.sentence, text_table(_cells(worst)), rows])


def _cells(worst: Table) -> dict[str, list[str]]:
    return {
        "": [str(name) for name in worst.index],
        "furthest off": [str(name) for name in worst["furthest_group"]],
        "its rows": [f"{rows:,}" for rows in worst["furthest_rows"]],
        "gap, points": list(worst["gap"].map(signed_points)),
        "95 %": interval_texts(worst["gap_low"], worst["gap_high"], signed=True),
        WORST_CELL.heading: list(worst["cell_gap"].map(signed_points)),
        "cell": list(worst["cell"]),
        "its rows ": [f"{rows:,}" for rows in worst["cell_rows"]],
    }


@view_command(
    "lore decisions demo --wrong-cost 20 --map none",
    "lore decisions model_cal.npz model_test.npz --unsure-cost 1 --wrong-cost 10 -o reward.svg",
    "lore decisions model_cal.npz model_test.npz --risk 0.05 --group race -o risk.svg",
)
@cost_options
@click.option(
    "--risk",
    type=SHARE,
    metavar="SHARE",
    help="Instead of costs, the largest share of wrong answers: from which confidence on it is "
    "guaranteed, under every method; -o writes the error rate over the share answered.",
)
@click.option("--group", "by", metavar="COLUMN", help="With --risk: also in each group.")
@method_option
@results(figure=True)
def decisions(
    given: ViewOptions,
    *,
    unsure_cost: float,
    wrong_cost: float,
    risk: float | None,
    by: str | None,
    names: tuple[str, ...],
    progress: Progress,
) -> Output:
    """Hold recalibrators against each other at your costs.

    Answer only where the confidence reaches 1 − u/w, else say “unsure”: the mean reward a row under
    every method; then what recalibration can gain at most, and what takes the features: a better
    model, or more data. -o writes the reward over many ratios w/u, as a figure or numbers.
    """
    from lore_core.comparison.effects import compare_rewards
    from lore_core.comparison.tables import stacked
    from lore_core.metrics.rewards import describe_rewards, unsure_threshold

    unsure_threshold(unsure_cost, wrong_cost)  # raises before anything is computed
    if by is not None and risk is None:
        raise InputError("'--group' goes with '--risk': thresholds are chosen in each group.")
    ratio = wrong_cost / unsure_cost
    view = source.open_view(given, progress)
    methods = methods_of(given, names, local=view.is_local)
    result = compare_one(view, methods, group=by, n_draws=0, progress=progress)
    if risk is not None:
        return _thresholds(view, result, risk, by)
    first = next(iter(result.datasets))
    own, curves = compare_rewards(result.datasets, [ratio]), compare_rewards(result.datasets)
    table = stacked({name: curve.frame() for name, curve in curves.items()})
    table = table[["method", *table.columns.drop("method")]]
    shown = stacked({name: curve.frame() for name, curve in own.items()}).set_index("method")
    sentence = describe_rewards(own, unsure_cost=unsure_cost, wrong_cost=wrong_cost)
    retraining, steps = views.where.retraining_of(view)
    content = {
        **view.settings(),
        "unsure": unsure_cost,
        "wrong": wrong_cost,
        "sentence": sentence,
        "methods": shown.to_dict(orient="index"),
        "curve": table.to_dict(orient="records"),
        "retraining": retraining,
        "steps": [] if steps is None else steps.reset_index().to_dict(orient="records"),
    }
    columns = {
        "": list(shown.index),
        "reward a row, in u": [decimal(reward, 3) for reward in shown["reward"]],
        "answered": list(shown["answered"].map(percent)),
        "gain": [decimal(gain, 3, signed=True) for gain in shown["gain"]],
        "95 %": interval_texts(shown["gain_low"], shown["gain_high"], PLAIN, signed=True),
    }
    chart = figures.reward_figure(curves, rows=view.rows, ratio=ratio)
    rows = f"{view.dataset.name}: {view.rows}; gains are over {first}."
    return Output(content, table, [sentence, text_table(columns), rows, retraining], chart=chart)


def _thresholds(
    view: views.View, result: comparison.Comparison, risk: float, by: str | None
) -> Output:
    """Lay out from which confidence on an error rate is guaranteed."""
    groups = {} if by is None else views.methods.group_masks(view.evaluation, by)
    found = views.methods.abstention_of(view, result, risk, groups=groups)
    thresholds = {name: vars(item) for name, item in found.thresholds.items()}
    content = {**view.settings(), "sentence": found.sentence, "thresholds": thresholds}
    text = [found.sentence, text_table(found.table()), views.methods.ABOUT_ABSTENTION]
    chart = figures.risk_figure(found.curves, found.thresholds, rows=view.rows)
    return Output(content, chart.table, text, chart=chart)
