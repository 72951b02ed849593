"""For whom: every claim follows from intervals computed here by hand."""

from __future__ import annotations

import numpy as np
import pytest

from lore_core import group_report
from lore_core.comparison import conclude_groups
from lore_core.comparison.conclusions import quoted
from lore_core.comparison.effects import closer_to_zero


def report(**groups):
    """Groups of (rows, mean confidence, share right)."""
    c = np.concatenate([np.full(n, promised) for n, promised, _ in groups.values()])
    a = np.concatenate([np.arange(n) < round(n * right) for n, _, right in groups.values()])
    names = np.repeat(list(groups), [n for n, _, _ in groups.values()])
    return group_report(c, a.astype(float), names, n_draws=0)


def test_nobody_is_off():
    said = conclude_groups({"No recalibration": report(a=(100, 0.8, 0.82), b=(50, 0.8, 0.7))}, 30)
    assert not said.is_significant
    assert said.sentence == (
        "No sign beyond chance that any of the 2 groups tested together is promised too much or "
        "too little; furthest off is “b” by +10.0 points (95 %: −3.5 to +26.6) on 50 rows."
    )


def test_a_fix_is_named_unless_it_harms_another_group():
    before = report(a=(200, 0.9, 0.5), b=(2000, 0.9, 0.9))
    fixes = {
        "harmful": report(a=(200, 0.5, 0.5), b=(2000, 0.8, 0.9)),
        "gentle": report(a=(200, 0.6, 0.5), b=(2000, 0.895, 0.9)),
        "weak": report(a=(200, 0.75, 0.5), b=(2000, 0.9, 0.9)),
    }
    said = conclude_groups({"No recalibration": before, **fixes}, 30)
    assert said.is_significant
    assert said.sentence.startswith(
        "1 of 2 groups is off beyond chance: “a” by +40.0 points (95 %: +31."
    )
    assert said.sentence.endswith(
        "Of the methods that make no other group surely worse, “gentle” brings “a” nearest to "
        "zero: +40.0 → +10.0 points (95 %: +1.9 to +18.1)."
    )
    fixes["rival"] = report(a=(200, 0.45, 0.5), b=(2000, 0.9, 0.9))
    either = conclude_groups({"No recalibration": before, **fixes}, 30).sentence
    # The middle of 0.6 and 0.45, 0.525, lies in the interval of the accuracy, 0.419 to 0.581; that
    # of 0.75 and 0.45, 0.6, above it.
    assert either.endswith(
        "“rival” takes “a” from +40.0 to −5.0 points (95 %: −13.1 to +3.1); “gentle” may come as "
        "near to zero."
    )
    only = conclude_groups({"No recalibration": before, "harmful": fixes["harmful"]}, 30).sentence
    assert "“harmful” takes it to 0.0 points, and “b” from 0.0 to −10.0." in only
    none = conclude_groups({"Platt scaling": before, "same": before}, 30).sentence
    assert none.startswith("After “Platt scaling”: 1 of 2 groups")
    assert none.endswith("No method brings “a” surely nearer to zero.")


def test_small_groups_do_not_count():
    off = report(a=(200, 0.9, 0.9), tiny=(9, 0.9, 0.0))
    assert not conclude_groups({"No recalibration": off}, 1).is_significant
    assert conclude_groups({"No recalibration": report(tiny=(9, 0.9, 0.0))}, 30).is_significant


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (0.9, 0.7, 1),  # the middle, 0.8, is right of the accuracy, 0.5 to 0.6
        (0.9, 0.25, 0),  # the middle, 0.575, lies in it
        (0.9, 0.05, -1),
        (0.4, 0.3, -1),
        (0.9, 0.895, 0),  # half a point is of no consequence
    ],
)
def test_nearer_is_told_by_the_middle(before, after, verdict):
    assert closer_to_zero(0.5, 0.6, before, after) == verdict


def test_names_are_listed():
    assert quoted(["A"]) == "“A”"
    assert quoted(["A", "B", "C", "D"]) == "“A”, “B” and 2 others"
