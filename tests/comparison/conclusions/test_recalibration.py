"""Does it help: on made-up rows whose paired t intervals are computed by scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import lore_core as lore
from lore_core.comparison import conclude_recalibration
from lore_core.regions import find_places


class Told(lore.NoRecalibration):
    """Knows the answer: confidences are set, not fitted."""

    def __init__(self, label, confidence):
        super().__init__()
        self.label, self._given = label, confidence

    def recalibrate(self, evaluation, embedding=None):
        return evaluation.with_confidence(self._given)


@pytest.fixture(scope="module")
def rows():
    """Promised 0.9, right 0.9 of the time, but in the east 0.5."""
    rng = np.random.default_rng(0)
    east = np.arange(2000) < 300
    right = rng.random(2000) < np.where(east, 0.5, 0.9)
    return lore.Dataset(
        np.tile([0.9, 0.1], (2000, 1)),
        np.where(right, 0, 1),
        metadata={"where": np.where(east, "east", "west")},
    )


def compared(rows, **methods):
    first = lore.NoRecalibration()
    return lore.compare(rows, rows, [first, *(Told(k, v) for k, v in methods.items())])


def test_the_best_method_and_the_place(rows):
    east = rows.metadata["where"].to_numpy() == "east"
    result = compared(rows, fix=np.where(east, 0.5, 0.9), flat=np.full(2000, 0.85))
    nll = [
        -np.log(np.where(d.outcome == 1, d.confidence, 1 - d.confidence))
        for d in result.datasets.values()
    ]
    test = stats.ttest_1samp(nll[1] - nll[0], 0)
    apart = result.difference(result.ranked_by)
    # For both methods at once: wider than one interval, no wider than Bonferroni's of two.
    half = np.diff(apart.loc["fix", ["low", "high"]].to_numpy(float))[0]
    one, two = (np.diff(test.confidence_interval(1 - 0.05 / k))[0] for k in (1, 2))
    assert 0.97 * one < half < 1.03 * two
    search = find_places(rows)
    said = conclude_recalibration(result, search)
    assert said.claims
    assert said.sentence.startswith("“fix” is the best of 2 on NLL: ")
    held = search.places[0].held_out
    assert set(held) < set(search.places[0].rows)
    gap = 0.9 - rows.outcome[held].mean()
    place = f"On the {len(held)} held-out rows of “Rows with where east” it takes the gap from "
    assert f"{place}{gap * 100:+.1f} to {gap * 100 - 40:+.1f} points" in said.sentence.replace(
        "−", "-"
    )
    assert len(held) == search.places[0].held.n_rows


def test_nothing_helps(rows):
    result = compared(rows, worse=np.full(2000, 0.99), same=np.full(2000, 0.9))
    said = conclude_recalibration(result)
    assert not said.claims
    assert said.sentence == (
        "On NLL none of 2 methods is surely better than doing nothing: leave it."
    )
    with_place = conclude_recalibration(result, find_places(rows)).sentence
    assert "leave it" not in with_place
    assert "no method surely narrows it without a surely worse NLL" in with_place


def test_a_method_that_narrows_the_gap_but_is_not_better_on_average(rows):
    # Right in the east, a little off everywhere else.
    east = rows.metadata["where"].to_numpy() == "east"
    result = compared(rows, mixed=np.where(east, 0.5, 0.99))
    said = conclude_recalibration(result, find_places(rows)).sentence
    lower = result.difference(result.ranked_by).loc["mixed"]
    assert lower["low"] < 0 < lower["high"]
    assert "the one method compared is not surely better than doing nothing" in said
    assert "held-out rows of “Rows with where east” “mixed” takes the gap from" in said


def test_alike_methods_are_said_to_be(rows):
    east = rows.metadata["where"].to_numpy() == "east"
    near = np.where(east, 0.501, 0.9)
    result = compared(rows, fix=np.where(east, 0.5, 0.9), near=near)
    assert "may do as well" in conclude_recalibration(result).sentence


def test_a_mistake_called_impossible_is_not_tested_where_mistakes_are_rare():
    rows = lore.Dataset([[0.9, 0.1]] * 100, [0] * 100)
    result = compared(rows, sure=np.ones(100), surer=np.full(100, 0.92))
    assert result.untold == {"NLL": ["sure"], "Brier": ["sure"]}
    assert np.isnan(result.differences["NLL"].loc["sure", "low"])
    assert result.differences["NLL"].loc["sure", "difference"] == pytest.approx(np.log(0.9))
    assert result.about_untold().startswith("Not tested on NLL, which rows too rare ")
    assert "“sure” reads lower, but not surely" in conclude_recalibration(result).sentence


def test_confidences_alone_have_no_proper_score():
    rows = lore.Dataset([[0.8, 0.1, 0.1]] * 40, [0, 1] * 20, complete=False)
    said = lore.comparison.conclude_recalibration(
        lore.compare(rows, rows, [lore.NoRecalibration(), lore.TemperatureScaling()])
    )
    assert not said.claims
    assert "no proper score" in said.sentence
    alone = lore.compare(rows, rows, [lore.NoRecalibration()])
    assert "nothing to hold it against" in conclude_recalibration(alone).sentence
