"""The sections of the page about what can be done: recalibrators, groups, decisions."""

from __future__ import annotations

from typing import Any

import numpy as np

from lore_core.figures.style import series_place
from lore_core.metrics.global_metrics import MAX_GROUPWISE
from lore_core.report.drawings import curve_drawing, forest_drawing, reward_drawing
from lore_core.report.findings import Findings
from lore_core.report.markup import (
    Cell,
    bounds,
    heading,
    number,
    points,
    signed_points,
    table,
    text,
)
from lore_core.report.tables import rank_metric, ranked

__all__ = [
    "decisions_section", "groups_drawing", "groups_section", "ranking_drawing",
    "recalibrators_section",
]  # fmt: skip

#: Metrics of the table, in its order.
_SHOWN = ("NLL", "Brier", "ECE", "MCE", "ALCE", "MLCE", MAX_GROUPWISE)
_GROUPS_DRAWN = 14
_GROUPS_LISTED = 30


def method_places(names: list[str]) -> dict[str, int]:
    """Return each method's colour: the one it has in the dashboard."""
    return {name: series_place(name, position) for position, name in enumerate(names)}


def key(names: list[str]) -> str:
    """Write which colour is which method."""
    places = method_places(names)
    return "".join(f'<span><i class="m{places[name]}"></i>{text(name)}</span>' for name in names)


def recalibrators_section(found: Findings) -> str:
    """Write the methods from best to worst, and what sets each apart from the first.

    Parameters
    ----------
    found : Findings
        What the report is about.
    """
    result: Any = found.comparison
    if result is None:
        return f'<p class="missing">{text(found.missing.get("recalibrators", ""))}</p>'
    order, by = ranked(found), rank_metric(found)
    first = str(result.table.index[0])
    calibration = found.dataset.calibration
    n = 0 if calibration is None else len(calibration)
    lead = [
        f"<p>Fitted on {n:,} calibration rows, measured on {len(found.evaluation):,} others; "
        f"ranked by {by}{', a proper score' if by != 'ECE' else ''}. "
        f"{_best(found, order, by, first)}</p>"
    ]
    if found.settings.target != "top-label":
        lead.append(
            '<p class="missing">Recalibration works on the top label: these are the numbers of the '
            f"top-label confidence, not of class {text(found.target_name)}.</p>"
        )
    parts = [*lead, _method_table(found, order), _difference_table(found, order, first)]
    drawings = [
        f"<figure>{ranking_drawing(found)}<figcaption>{by} of every method with its 95 % interval, "
        f"n = {len(found.evaluation):,}. Methods share their rows: compare them by the "
        "paired differences, not by overlap."
        "</figcaption></figure>"
    ]  # fmt: skip
    if found.method_curves:
        names = list(found.method_curves)
        drawings.append(
            "<figure>"
            + curve_drawing(
                found.method_curves, gamma=found.settings.gamma, places=method_places(names)
            )
            + f'<figcaption><span class="key">{key(names)}</span>Largest local error of rows with '
            "10 or more effective neighbours, at every bandwidth; dashed: the report’s γ. LoRe is "
            "measured on the map it uses itself.</figcaption></figure>"
        )
    return "".join(parts) + f'<div class="pair">{"".join(drawings)}</div>'


def ranking_drawing(found: Findings) -> str:
    """Draw the metric methods are ranked by, best first.

    Parameters
    ----------
    found : Findings
        With a comparison.
    """
    result: Any = found.comparison
    order, by = ranked(found), rank_metric(found)
    low, high = (
        [
            float(frame.loc[name, by]) if frame is not None and by in frame else np.nan
            for name in order
        ]
        for frame in (result.low, result.high)
    )
    return forest_drawing(
        order, list(result.table[by].reindex(order)), low, high,
        axis=heading(by).replace(", points", ""), percent=by == "ECE",
    )  # fmt: skip


def groups_drawing(found: Findings) -> str:
    """Draw the gap of each group before recalibration, largest group first.

    Parameters
    ----------
    found : Findings
        With group reports.
    """
    drawn: Any = next(iter(found.group_reports.values())).head(_GROUPS_DRAWN)
    return forest_drawing(
        [f"{name} ({n:,})" for name, n in zip(drawn["group"], drawn["rows"], strict=True)],
        list(drawn["gap"]), list(drawn["gap_low"]), list(drawn["gap_high"]),
        axis="confidence − accuracy", signed=True,
    )  # fmt: skip


def _best(found: Findings, order: list[str], by: str, first: str) -> str:
    result: Any = found.comparison
    assert result is not None
    low, high = result.difference_low, result.difference_high
    if order[0] == first:
        return f"None is better than “{text(first)}”."
    if low is None or high is None or by not in low:
        return f"“{text(order[0])}” comes first; these rows were not resampled, so chance is open."
    sure = float(high.loc[order[0], by]) < 0
    verdict = (
        f"“{text(order[0])}” comes first, beyond chance better than “{text(first)}”"
        if sure
        else f"“{text(order[0])}” comes first, but not beyond chance"
    )
    interval = bounds(by, float(low.loc[order[0], by]), float(high.loc[order[0], by]))
    return f"{verdict} (paired difference in {heading(by)}, 95 %: {interval})."


def _method_table(found: Findings, order: list[str]) -> str:
    result: Any = found.comparison
    assert result is not None
    shown = [name for name in _SHOWN if name in result.table]
    rows: list[list[Cell]] = []
    for place, method in enumerate(order, start=1):
        row: list[Cell] = [f"{place}. {text(method)}"]
        for metric in shown:
            value = number(metric, float(result.table.loc[method, metric]))
            interval = ""
            if result.low is not None and result.high is not None and metric in result.low:
                interval = bounds(
                    metric, float(result.low.loc[method, metric]),
                    float(result.high.loc[method, metric]),
                )  # fmt: skip
            row.append(f"{value}<small>{interval}</small>")
        rows.append(row)
    notes = (
        f"Small print: 95 % intervals, n = {len(found.evaluation):,} evaluation rows. Lower is "
        "better everywhere. Recalibration never changes the predicted class, so the accuracy stays."
    )
    without = [m for m in shown if result.low is None or m not in result.low]
    if without:
        notes += (
            f" Without an interval: {', '.join(without)}: resampling or simulating them takes too "
            "long on so many rows, or was switched off."
        )
    if MAX_GROUPWISE in shown:
        notes += (
            f" {MAX_GROUPWISE}: the worst group by {text(found.group_column)} with "
            f"{found.min_group_size} rows or more, a maximum over noisy cells whose interval leans "
            "upwards."
        )
    return table(["method", *map(heading, shown)], rows, caption=notes)


def _difference_table(found: Findings, order: list[str], first: str) -> str:
    result: Any = found.comparison
    assert result is not None
    low, high = result.difference_low, result.difference_high
    if low is None or high is None or len(order) < 2:
        return ""
    shown = [name for name in _SHOWN if name in low]
    rows: list[list[Cell]] = []
    for method in order:
        if method == first:
            continue
        row: list[Cell] = [text(method)]
        for metric in shown:
            change = float(result.table.loc[method, metric] - result.table.loc[first, metric])
            a, b = float(low.loc[method, metric]), float(high.loc[method, metric])
            signed = f"{'+' if change > 0 else ''}{number(metric, change)}".replace("-", "−")
            kind = "better" if b < 0 else "worse" if a > 0 else ""
            row.append((f"{signed}<small>{bounds(metric, a, b)}</small>", kind))
        rows.append(row)
    return table(
        [f"minus {first}", *map(heading, shown)],
        rows,
        caption="Paired differences on the same resampled rows, 95 %. Green: better beyond chance; "
        "amber: worse beyond chance; plain: could be chance. No correction for the number of "
        "comparisons.",
    )


def groups_section(found: Findings) -> str:
    """Write the groups before recalibration, and the worst one under every method.

    Parameters
    ----------
    found : Findings
        What the report is about.
    """
    if found.group_table is None or not found.group_reports:
        return f'<p class="missing">{text(found.missing.get("groups", ""))}</p>'
    first = next(iter(found.group_reports))
    report: Any = found.group_reports[first]
    drawing = groups_drawing(found)
    rows: list[list[Cell]] = [
        [
            text(item.group) + (" <small>few rows: mostly noise</small>" if item.small else ""),
            f"{item.rows:,}",
            f"{signed_points(item.gap)}<small>{signed_points(item.gap_low)} to "
            f"{signed_points(item.gap_high)}</small>",
            f"{points(item.ece)}<small>{bounds('ECE', item.ece_low, item.ece_high)}</small>",
            f"{points(item.mce)}<small>{bounds('MCE', item.mce_low, item.mce_high)}</small>",
        ]
        for item in report.head(_GROUPS_LISTED).itertuples()
    ]
    worst: list[list[Cell]] = []
    group_table: Any = found.group_table
    for method, item in group_table.iterrows():
        a, b = float(item["difference_low"]), float(item["difference_high"])
        kind = "better" if b < 0 else "worse" if a > 0 else ""
        worst.append(
            [
                text(method),
                f"{text(item['worst_group'])} ({item['worst_rows']:,} rows)",
                f"{points(item['max_group_mce'])}<small>{bounds('MCE', item['low'], item['high'])}"
                "</small>",
                (
                    f"{signed_points(item['difference'])}<small>{signed_points(a)} to "
                    f"{signed_points(b)}</small>"
                    if method != first
                    else "",
                    kind,
                ),
            ]
        )
    hidden = len(report) - len(rows)
    more = f" {hidden} smaller groups are in tables/groups.csv." if hidden > 0 else ""
    return (
        f"<p>By <strong>{text(found.group_column)}</strong>, {len(report)} groups of "
        f"{len(found.evaluation):,} evaluation rows. Groups are used to measure only: no "
        "method saw them when it was fitted.</p>"
        f'<div class="pair"><figure>{drawing}<figcaption>Gap of each group before recalibration '
        "with its 95 % interval (Wilson); rows in brackets. Red: overconfident.</figcaption>"
        "</figure>"
        + "<div>"
        + table(
            ["group", "rows", "gap, points", "ECE", "MCE"],
            rows,
            caption=f"Before recalibration ({text(first)}), 95 % intervals.{more}",
        )
        + "</div></div>"
        + table(
            ["method", "worst group", "its MCE, points", f"minus {first}"],
            worst,
            words=2,
            caption=f"The MCE of the worst group with {found.min_group_size} rows or more: a "
            "maximum over noisy cells, so its bootstrap interval leans upwards. Differences are "
            "paired.",
        )
    )


def decisions_section(found: Findings) -> str:
    """Write whether recalibration pays at the report's costs and at others.

    Parameters
    ----------
    found : Findings
        What the report is about.
    """
    if not found.own_rewards:
        return f'<p class="missing">{text(found.missing.get("decisions", ""))}</p>'
    settings, names = found.settings, list(found.own_rewards)
    ratio = settings.wrong_cost / settings.unsure_cost
    u = settings.unsure_cost
    order = sorted(names, key=lambda name: -float(found.own_rewards[name].reward[0]))
    rows: list[list[Cell]] = []
    for name in order:
        item = found.own_rewards[name]
        gain, low, high = (float(v[0]) * u for v in (item.gain, item.gain_low, item.gain_high))
        kind = "better" if low > 0 else "worse" if high < 0 else ""
        said = f"{gain:+.3f}<small>{low:+.3f} to {high:+.3f}</small>".replace("-", "−")
        rows.append(
            [
                text(name), f"{float(item.reward[0]) * u:.3f}".replace("-", "−"),
                f"{item.answered[0]:.1%}", ("" if name == names[0] else said, kind),
            ]
        )  # fmt: skip
    return (
        f"<p><strong>{text(found.reward_sentence)}</strong></p>"
        f'<div class="pair"><div>'
        + table(
            ["method", "reward a row", "answered", f"gain over {names[0]}"],
            rows,
            caption=f"At a cost of {settings.wrong_cost:g} for a wrong answer and {u:g} for "
            f"“unsure” (w/u = {ratio:g}), n = {len(found.evaluation):,} evaluation rows, paired "
            "95 % intervals. Choosing the best of several methods on the rows it is measured on "
            "flatters it a little.",
        )
        + "</div><figure>"
        + reward_drawing(found.rewards, ratio=ratio, places=method_places(names))
        + f'<figcaption><span class="key">{key(names)}</span>Gain of each method at other costs; '
        "dashed: those of the table.</figcaption></figure></div>"
    )
