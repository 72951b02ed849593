"""Conclusion about groups: whose confidence is wrong, and which method helps without harm."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lore_core.comparison.conclusions.conclusion import Conclusion, quoted
from lore_core.comparison.effects import closer_to_zero
from lore_core.data.number_text import gap_words, rows_words, signed_points
from lore_core.metrics.global_metrics import counted_groups
from lore_core.recalibration import NoRecalibration

#: Groups that are named.
_NAMED = 3


def conclude_groups(reports: Mapping[str, pd.DataFrame], min_group_size: int) -> Conclusion:
    """Say which groups are off beyond chance, and what brings the worst of them near to zero.

    ``reports``: :func:`~lore_core.comparison.groups.group_report` of the same rows by method; the
    first is what the others are compared with. ``min_group_size``: smaller groups do not count.

    The intervals of all groups hold at once with 95 % (Clopper–Pearson, Bonferroni), and everything
    rests on them: a group is off where its interval leaves out 0, a method is surely nearer (or
    further off) than another where the whole interval of the accuracy is; where several are left
    that may be the nearest, they are named as such. So where every confidence is right, at
    most 5 % of such sentences call a group off, or a method harmful, that is not.
    """
    first, *others = reports
    before = reports[first].set_index("group")
    before = before[counted_groups(before["rows"], min_group_size)]
    before = before.loc[before["gap"].abs().sort_values(ascending=False, kind="stable").index]
    off = before[(before["gap_low"] > 0) | (before["gap_high"] < 0)]
    start = "" if first == NoRecalibration().label else f"After “{first}”: "
    if off.empty:
        n = len(before)
        tested = "the one group tested" if n == 1 else f"any of the {n} groups tested together"
        return Conclusion(
            f"{start}No sign beyond chance that {tested} is promised too much or too little; "
            f"furthest off is {_group(before, 0)}."
        )
    named = "; ".join(_group(off, k) for k in range(min(len(off), _NAMED)))
    more = len(off) - _NAMED
    text = (
        f"{start}{len(off)} of {len(before)} group{'s' * (len(before) > 1)} "
        f"{'is' if len(off) == 1 else 'are'} off beyond chance: {named}"
        f"{f'; and {more} more' if more > 0 else ''}."
    )
    mended = _improved(before, {name: reports[name] for name in others}, str(off.index[0]))
    return Conclusion(f"{text}{mended}", is_significant=True)


def _group(table: pd.DataFrame, number: int) -> str:
    rows = rows_words(int(table["rows"].iloc[number]))
    return f"“{table.index[number]}” by {gap_words(*_gaps(table)[number])} on {rows}"


def _gaps(table: pd.DataFrame) -> NDArray[np.float64]:
    """Gaps of groups with their intervals, shape (groups, 3)."""
    return table[["gap", "gap_low", "gap_high"]].to_numpy(np.float64)


def _improved(before: pd.DataFrame, reports: Mapping[str, pd.DataFrame], worst: str) -> str:
    """Say which methods bring a group near to zero without making another worse."""
    if not reports:
        return ""
    gap, at = _gaps(before), list(before.index).index(worst)
    promised = before["mean_confidence"].to_numpy(np.float64)
    low, high = promised - gap[:, 2], promised - gap[:, 1]
    after, told, change = {}, {}, {}
    for name, report in reports.items():
        table = report.set_index("group").loc[before.index]
        after[name] = _gaps(table)
        told[name] = table["mean_confidence"].to_numpy(np.float64)
        change[name] = closer_to_zero(low, high, promised, told[name])
    helping = [name for name in reports if change[name][at] > 0]
    if not helping:
        return f" No method brings “{worst}” surely nearer to zero."
    helping.sort(key=lambda name: abs(after[name][at, 0]))
    harmless = [name for name in reports if (change[name] >= 0).all()]
    if best := next((name for name in helping if name in harmless), None):
        rivals = [name for name in harmless if name != best]
        alike = [n for n in rivals if closer_to_zero(low, high, told[n], told[best])[at] <= 0]
        start, now = signed_points(gap[at, 0]), gap_words(*after[best][at])
        return " Of the methods that make no other group surely worse, " + (
            f"“{best}” takes “{worst}” from {start} to {now}; {quoted(alike)} may come as near to "
            "zero."
            if alike
            else f"“{best}” brings “{worst}” nearest to zero: {start} → {now}."
        )
    name = helping[0]
    hurt = int(np.argmin(change[name]))
    return (
        f" Every method that brings “{worst}” surely nearer to zero makes another group worse: "
        f"“{name}” takes it to {signed_points(after[name][at, 0])} points, and "
        f"“{before.index[hurt]}” from {signed_points(gap[hurt, 0])} to "
        f"{signed_points(after[name][hurt, 0])}."
    )
