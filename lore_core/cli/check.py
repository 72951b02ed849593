"""``lore check``: limits on metrics and subgroups, for the tests of a model."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from lore_core import view as views
from lore_core.cli import source
from lore_core.cli.options import ViewOptions, draws_option, view_command
from lore_core.cli.output import Output, Progress, Table, output_path, results, text_table
from lore_core.data.atomic_files import replaced_at_once
from lore_core.data.errors import InputError
from lore_core.data.number_text import HUNDREDTHS, POINTS
from lore_core.metrics.catalogue import CATALOGUE
from lore_core.metrics.metric import Metric

EXCEEDED = 3
_PLACE = "max_subgroup"
_CHECKED = {
    **CATALOGUE,
    # (What `check_subgroups` calls it: no metric, but written as one.)
    "worst subgroup": replace(CATALOGUE["MCE"], name="worst subgroup", unit=POINTS),
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
    "lore check model_cal.npz model_test.npz --min-accuracy 80 --max-held-out-alce 3 "
    "--junit checks.xml",
)
@_limit_options
@click.option(
    "--max-subgroup",
    _PLACE,
    type=float,
    metavar="N",
    help="Largest gap, in points, of any subgroup of `lore subgroups`.",
)
@click.option("--strict", is_flag=True, help="Fail also where the rows are too few to be sure.")
@click.option("--junit", metavar="FILE", help="Also write the checks as JUnit XML, for CI.")
@draws_option("intervals")
@results()
def check(
    given: ViewOptions,
    *,
    max_subgroup: float | None,
    strict: bool,
    junit: str | None,
    draws: int | None,
    progress: Progress,
    **limits: float | None,
) -> Output:
    """Check a model against limits, as a test of it.

    The exit code is 3 where a limit is exceeded for sure: where the value is beyond it, and its
    whole 95 % interval is too. Where the interval reaches back to the limit, the rows are too few
    to tell: that is said, and fails with --strict only. A subgroup counts with its gap on
    held-out rows.
    """
    import pandas as pd

    from lore_core.comparison.tables import check_metrics, check_subgroups, metric_table

    wanted = {
        _LIMITED[name].name: limit / _LIMITED[name].unit.scale
        for name, limit in limits.items()
        if limit is not None
    }
    if not wanted and max_subgroup is None:
        raise InputError("a limit must be given, such as --max-ece 5 or --max-subgroup 10.")
    path = None if junit is None else output_path(junit, (".xml",), "--junit")
    view = source.open_view(given, progress)
    tables = []
    if wanted:
        summary = views.methods.summary_of(view, n_draws=draws, progress=progress)
        tables.append(check_metrics(metric_table(summary), wanted))
    if max_subgroup is not None:
        found = views.where.subgroup_table(view, views.where.subgroups_of(view, progress=progress))
        tables.append(check_subgroups(found, max_subgroup / HUNDREDTHS))
    table = tables[0] if len(tables) == 1 else pd.concat(tables, ignore_index=True)
    failed = table["result"].isin(["exceeded", "not sure"] if strict else ["exceeded"])
    if path is not None:
        _write_junit(path, view.dataset.name, table.assign(failed=failed))
    content = {**view.settings(), "strict": strict, "checks": table.to_dict(orient="records")}
    sentence = f"{int(failed.sum())} of {len(table)} limits exceeded"
    if (table["result"] == "not sure").any() and not strict:
        sentence += "; “not sure”: beyond the limit, but by no more than chance may be"
    text = [_as_text(table), f"{view.dataset.name}, {view.rows}: {sentence}."]
    return Output(content, table, text, exit_code=EXCEEDED if failed.any() else 0)


def _as_text(table: Table) -> str:
    metrics = [_CHECKED[name] for name in table["check"]]
    ends = zip(metrics, table["low"], table["high"], strict=True)
    return text_table(
        {
            "check": [metric.heading for metric in metrics],
            "limit": [m.text(limit) for m, limit in zip(metrics, table["limit"], strict=True)],
            "value": [m.text(value) for m, value in zip(metrics, table["value"], strict=True)],
            "95 % CI": [metric.interval_text(low, high) for metric, low, high in ends],
            "result": list(table["result"]),
        }
    )


def _sentence(row: Mapping[Any, Any]) -> str:
    metric = _CHECKED[row["check"]]
    if not math.isfinite(row["value"]):
        return f"{metric.words}: none is significant"
    ends = metric.interval_text(row["low"], row["high"])
    measured = metric.text_alone(row["value"]) + (f" (95 % CI {ends})" if ends else "")
    where = f", {row['where']}" if row["where"] else ""
    return f"{metric.words} is {measured}, limit {metric.text(row['limit'])}{where}"


def _write_junit(path: Path, name: str, table: Table) -> None:
    """Write checks as JUnit XML for continuous integration."""
    from xml.etree import ElementTree

    n_failed = str(int(table["failed"].sum()))
    suite = ElementTree.Element("testsuite", name=name, tests=str(len(table)), failures=n_failed)
    for row in table.to_dict(orient="records"):
        case = ElementTree.SubElement(suite, "testcase", classname="lore.check", name=row["check"])
        if row["failed"]:
            ElementTree.SubElement(case, "failure", message=f"{row['result']}: {_sentence(row)}")
        else:
            ElementTree.SubElement(case, "system-out").text = f"{row['result']}: {_sentence(row)}"
    ElementTree.indent(suite)
    with replaced_at_once(path) as part:
        ElementTree.ElementTree(suite).write(part, encoding="utf-8", xml_declaration=True)
