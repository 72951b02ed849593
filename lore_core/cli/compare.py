"""``lore compare``: recalibrators on one dataset, and on many runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

import lore_core as lore
from lore_core import comparison, recalibration, view as views
from lore_core.cli import source
from lore_core.cli.options import ViewOptions, draws_option, number_option, view_command
from lore_core.cli.output import Output, Progress, note, results, text_table
from lore_core.data.defaults import GAMMA, RUNS_GAMMA, TOP_LABEL
from lore_core.data.errors import InputError, as_path, check_choice, counted
from lore_core.data.number_text import decimal
from lore_core.data.progress import part_of
from lore_core.metrics.catalogue import CATALOGUE, COMPARED, MIN_GROUP_SIZE, unit_of

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
    worst group. Local errors are measured on the first map; LoRe smooth weighs them all.

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
    text = [
        conclusion.sentence,
        text_table({"": list(result.names.values()), **cells}),
        f"{about_predictions(result.most_probable)}\n{rows}",
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
    text = [(item.sentence, text_table(item.texts), f"{item.how}.") for item in found.values()]
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
    runs = f"Mean ± standard deviation over {counted(result.n_runs, 'run')}."
    if goes_with is None:
        return Output(result.to_dict(), result.runs, ["\n".join([*text, runs])])
    known = goes_with.dropna()
    columns = {"metric": list(known.index), "r": [decimal(r, 2, signed=True) for r in known]}
    about = f"Correlation with {str(goes_with.name).removeprefix('correlation with ')}:"
    return Output(result.to_dict(), result.runs, [*text, f"{about}\n{text_table(columns)}", runs])
