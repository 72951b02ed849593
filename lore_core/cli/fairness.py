"""``lore fairness`` and ``lore decisions``: for whom recalibrators help, and at which costs."""

from __future__ import annotations

import click

from lore_core import comparison, figures, view as views
from lore_core.cli import source
from lore_core.cli.compare import compare_one, method_option, methods_of
from lore_core.cli.options import SHARE, ViewOptions, cost_options, number_option, view_command
from lore_core.cli.output import Output, Progress, Table, interval_texts, results, text_table
from lore_core.data.errors import InputError, check_choice
from lore_core.data.number_text import PLAIN, decimal, percent, signed_points
from lore_core.metrics.catalogue import MIN_GROUP_SIZE, WORST_CELL


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
