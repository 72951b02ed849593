"""Does it help: on made-up rows whose paired t intervals are computed by scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import lore_core as lore
from lore_core.comparison import conclude_recalibration
from lore_core.regions import find_subgroups


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
    assert 0.97 * one < half < 1.1 * two
    search = find_subgroups(rows)
    conclusion = conclude_recalibration(result, search)
    assert conclusion.is_significant
    assert conclusion.sentence.startswith(
        "“fix” is significantly better than doing nothing, the best of 2 on NLL: "
    )
    held = search.subgroups[0].held_out
    assert set(held) < set(search.subgroups[0].rows)
    gap = 0.9 - rows.outcome[held].mean()
    subgroup = f"On the {len(held)} held-out rows of “Rows with where east” it takes the gap from "
    assert (
        f"{subgroup}{gap * 100:+.1f} to {gap * 100 - 40:+.1f} points"
        in conclusion.sentence.replace("−", "-")
    )
    assert len(held) == search.subgroups[0].held.n_rows


def test_nothing_helps(rows):
    result = compared(rows, worse=np.full(2000, 0.99), same=np.full(2000, 0.9))
    conclusion = conclude_recalibration(result)
    assert not conclusion.is_significant
    assert conclusion.sentence == (
        "Leave it: on NLL and Brier none of 2 methods is significantly better than doing nothing; "
        "the NLL of 0.459 can fall by 0.000 at most (95 % CI)."
    )
    with_subgroup = conclude_recalibration(result, find_subgroups(rows)).sentence
    assert with_subgroup.startswith("No significant improvement found: on NLL and Brier none of 2 ")
    assert "no method significantly narrows it without a significantly worse NLL" in with_subgroup


def test_a_method_that_narrows_the_gap_but_is_not_better_on_average(rows):
    # Right in the east, a little off everywhere else.
    east = rows.metadata["where"].to_numpy() == "east"
    result = compared(rows, mixed=np.where(east, 0.5, 0.99))
    sentence = conclude_recalibration(result, find_subgroups(rows)).sentence
    lower = result.difference(result.ranked_by).loc["mixed"]
    assert lower["low"] < 0 < lower["high"]
    assert (
        "on NLL and Brier “mixed” is not significantly better than doing nothing; the" in sentence
    )
    assert "held-out rows of “Rows with where east” “mixed” takes the gap from" in sentence


def test_alike_methods_are_said_to_be(rows):
    east = rows.metadata["where"].to_numpy() == "east"
    near = np.where(east, 0.501, 0.9)
    result = compared(rows, fix=np.where(east, 0.5, 0.9), near=near)
    assert "may do as well" in conclude_recalibration(result).sentence


def test_rare_mistakes_called_nearly_impossible_are_tested():
    # 15 of 500 wrong where 1 of 1,000 was expected. The differences have two values, so their
    # interval is that of a share.
    rows = lore.Dataset([[0.999, 0.001]] * 500, [1] * 15 + [0] * 485)
    result = compared(rows, modest=np.full(500, 0.97))
    right, wrong = np.log(0.999 / 0.97), np.log(0.001 / 0.03)
    shares = np.array(stats.binomtest(15, 500).proportion_ci(0.95, "exact"))
    ends = result.difference(result.ranked_by).loc["modest", ["high", "low"]].to_numpy(float)
    assert ends == pytest.approx(right + shares * (wrong - right), rel=0.05)
    conclusion = conclude_recalibration(result)
    assert conclusion.is_significant
    assert conclusion.sentence.startswith(
        "“modest” is significantly better than doing nothing on NLL: "
    )


def test_no_mistake_was_seen_of_those_called_impossible():
    rows = lore.Dataset([[0.9, 0.1]] * 100, [0] * 100)
    result = compared(rows, sure=np.ones(100))
    share = stats.binomtest(0, 100).proportion_ci(0.95, "exact").high
    gain, loss = np.log(0.9), np.log(0.1 / 1e-6)
    found = result.differences["NLL"].loc["sure"]
    assert found["high"] == pytest.approx(gain + share * (loss - gain), rel=0.06)
    # A Brier score is never much worse; by it the method is better.
    conclusion = conclude_recalibration(result)
    assert conclusion.is_significant
    assert conclusion.sentence.startswith(
        "On NLL “sure” is not significantly better than doing nothing. “sure” is significantly "
        "better than doing nothing on Brier: "
    )


def test_rounding_is_no_improvement():
    # The two other classes share what is left: 1/3 becomes another 1/3, by one bit.
    p = np.tile([[1 / 3, 2 / 3, 0.0], [0.0, 1 / 3, 2 / 3]], (20, 1))
    rows = lore.Dataset(p, [0, 1] * 20)
    result = compared(rows, same=rows.confidence)
    for name in ("NLL", "Brier"):
        assert result.differences[name].loc["same", "high"] >= 0
    assert not conclude_recalibration(result).is_significant


def test_where_nothing_can_be_gained():
    rows = lore.Dataset(np.eye(2)[[0, 1] * 20], [0, 1] * 20)
    sentence = conclude_recalibration(compared(rows, same=np.ones(40))).sentence
    assert sentence.startswith("Leave it: ")


def test_a_gain_that_few_rows_cannot_show_is_not_ruled_out():
    rows = lore.Dataset([[0.9, 0.1]] * 20, [0] * 17 + [1] * 3)
    result = compared(rows, lower=np.full(20, 0.7))
    gain = -result.differences["NLL"].loc["lower", "low"]
    conclusion = conclude_recalibration(result)
    assert not conclusion.is_significant
    assert conclusion.sentence == (
        "No significant improvement found: on NLL and Brier “lower” is not significantly better "
        f"than doing nothing; the NLL of 0.435 can fall by {gain:.3f} at most (95 % CI)."
    )
    # No wrong row was seen, but some may come: a gain of more than the whole NLL is none.
    few = conclude_recalibration(compared(rows.rows(range(8)), lower=np.full(8, 0.7))).sentence
    assert few.endswith("the rows are too few to limit what can be gained on NLL (95 % CI).")
    one = rows.rows([0])
    alone = conclude_recalibration(compared(one, lower=np.array([0.7])))
    assert not alone.is_significant
    assert "on a single evaluation row" in alone.sentence


def test_confidences_alone_have_no_proper_score():
    rows = lore.Dataset([[0.8, 0.1, 0.1]] * 40, [0, 1] * 20, complete=False)
    conclusion = lore.comparison.conclude_recalibration(
        lore.compare(rows, rows, [lore.NoRecalibration(), lore.TemperatureScaling()])
    )
    assert not conclusion.is_significant
    assert "no proper score" in conclusion.sentence
    alone = lore.compare(rows, rows, [lore.NoRecalibration()])
    assert "nothing to hold it against" in conclude_recalibration(alone).sentence
