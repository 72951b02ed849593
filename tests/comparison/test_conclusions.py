"""Conclusions: every claim follows from intervals computed here by hand or by scipy."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import lore_core as lore
from lore_core import group_report
from lore_core.comparison import (
    RunsComparison,
    conclude_bandwidths,
    conclude_groups,
    conclude_recalibration,
    conclude_retraining,
    conclude_runs,
    retraining_in_subgroup,
)
from lore_core.comparison.conclusions import quoted
from lore_core.comparison.effects import closer_to_zero
from lore_core.metrics.gains import Gain, LossParts
from lore_core.regions import find_subgroups


def test_a_planted_error_stands_clear_and_a_calibrated_model_does_not():
    for calibrated in (False, True):
        rows = lore.demo.synthetic(3000, calibrated=calibrated).dataset.evaluation
        points = np.asarray(rows.features)
        curve = lore.bandwidth_curve(rows.confidence, rows.outcome, points)
        band = lore.null_band(rows.confidence, points, n_draws=99)
        said = conclude_bandwidths(curve, band, on="a map")
        above = curve.mlce_supported > band.band("mlce_supported")[1]
        assert said.is_significant == above.any() == (not calibrated)
        if said.is_significant:
            assert (
                f"at {above.sum()} of {np.isfinite(curve.mlce_supported).sum()} band"
                in said.sentence
            )
    assert "cannot be tested" in conclude_bandwidths(curve, None, on="a map").sentence


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
        "Gaps do not differ significantly between the 2 groups (p = 0.094); none is significantly "
        "miscalibrated (2 groups tested together); the largest gap is that of “b”: +10.0 points "
        "(95 % CI −3.5 to +26.6) on 50 rows."
    )
    off = report(a=(200, 0.9, 0.9), tiny=(9, 0.9, 0.0))
    assert not conclude_groups({"No recalibration": off}, 1).is_significant
    assert conclude_groups({"No recalibration": report(tiny=(9, 0.9, 0.0))}, 30).is_significant


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
        "Gaps differ between the 2 groups (p < 0.001), from 0.0 (“b”) to +40.0 points (“a”); 1 of "
        "2 is significantly miscalibrated, “a”: +40.0 points (95 % CI +31."
    )
    assert said.sentence.endswith(
        " “gentle” brings “a” nearest to zero without making another group significantly worse: "
        "+10.0 points (95 % CI +1.9 to +18.1)."
    )
    fixes["rival"] = report(a=(200, 0.45, 0.5), b=(2000, 0.9, 0.9))
    either = conclude_groups({"No recalibration": before, **fixes}, 30).sentence
    # The middle of 0.6 and 0.45, 0.525, lies in the interval of the accuracy, 0.419 to 0.581; that
    # of 0.75 and 0.45, 0.6, above it.
    assert either.endswith(
        "“rival” brings “a” nearest to zero without making another group significantly worse: "
        "−5.0 points (95 % CI −13.1 to +3.1); “gentle” may come as near."
    )
    only = conclude_groups({"No recalibration": before, "harmful": fixes["harmful"]}, 30).sentence
    assert "“harmful” takes it to 0.0 points, and “b” from 0.0 to −10.0." in only
    none = conclude_groups({"Platt scaling": before, "same": before}, 30).sentence
    assert none.startswith("After “Platt scaling”: Gaps differ")
    assert none.endswith("No method brings “a” significantly nearer to zero.")


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


def test_where_nothing_can_be_gained():
    assert quoted(["A"]) == "“A”"
    assert quoted(["A", "B", "C", "D"]) == "“A”, “B” and 2 others"
    rows = lore.Dataset(np.eye(2)[[0, 1] * 20], [0, 1] * 20)
    sentence = conclude_recalibration(compared(rows, same=np.ones(40))).sentence
    assert sentence.startswith("Leave it: ")
    # The two other classes share what is left: 1/3 becomes another 1/3, by one bit.
    p = np.tile([[1 / 3, 2 / 3, 0.0], [0.0, 1 / 3, 2 / 3]], (20, 1))
    rows = lore.Dataset(p, [0, 1] * 20)
    result = compared(rows, same=rows.confidence)
    for name in ("NLL", "Brier"):
        assert result.differences[name].loc["same", "high"] >= 0
    assert not conclude_recalibration(result).is_significant
    rows = lore.Dataset([[0.8, 0.1, 0.1]] * 40, [0, 1] * 20, complete=False)
    conclusion = lore.comparison.conclude_recalibration(
        lore.compare(rows, rows, [lore.NoRecalibration(), lore.TemperatureScaling()])
    )
    assert not conclusion.is_significant
    assert "no proper score" in conclusion.sentence
    alone = lore.compare(rows, rows, [lore.NoRecalibration()])
    assert "nothing to compare it with" in conclude_recalibration(alone).sentence


class Told(lore.NoRecalibration):
    def __init__(self, label, confidence):
        super().__init__()
        self.label, self._given = label, confidence

    def recalibrate(self, evaluation, embedding=None):
        return evaluation.with_confidence(self._given)


@pytest.fixture(scope="module")
def rows():
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
        "“fix” is significantly better than doing nothing and than every other method on NLL: "
    )
    held = search.subgroups[0].held_out
    assert set(held) < set(search.subgroups[0].rows)
    gap = 0.9 - rows.outcome[held].mean()
    subgroup = f"On {len(held)} held-out rows with where east it takes the gap from "
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


def test_alike_methods_are_said_to_be(rows):
    east = rows.metadata["where"].to_numpy() == "east"
    near = np.where(east, 0.501, 0.9)
    result = compared(rows, fix=np.where(east, 0.5, 0.9), near=near)
    assert "may do as well" in conclude_recalibration(result).sentence
    result = compared(rows, mixed=np.where(east, 0.5, 0.99))
    sentence = conclude_recalibration(result, find_subgroups(rows)).sentence
    lower = result.difference(result.ranked_by).loc["mixed"]
    assert lower["low"] < 0 < lower["high"]
    assert (
        "on NLL and Brier “mixed” is not significantly better than doing nothing; the" in sentence
    )
    assert "held-out rows with where east “mixed” takes the gap from" in sentence


def test_rare_mistakes_called_nearly_impossible_are_tested():
    # 15 of 500 wrong where 1 of 1,000 was expected; two values: the interval is a share's.
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


LOSSES = LossParts(
    score=0.101,
    calibration=Gain(0.0023, 0.0012, 0.0042),
    grouping=Gain(0.0212, 0.01697, 0.0265),
    both=Gain(0.0235, 0.019, 0.029),
    n_rows=2443,
)


def test_bounds_are_the_ends_of_intervals():
    conclusion = conclude_retraining(LOSSES)
    assert conclusion.is_significant
    for words in (
        "it can remove at most 0.42 of 10.1 points of Brier score",
        "class and features can remove at least 1.70 more",
    ):
        assert words in conclusion.sentence
    none = replace(LOSSES, grouping=Gain(0.001, 0.0, 0.004))
    sentence = conclude_retraining(none).sentence
    assert "Recalibrate: this can remove at most 0.42 of 10.1" in sentence
    assert "no significant further gain from class and features was found." in sentence
    nothing = replace(none, calibration=Gain(0.001, 0.0, 0.003))
    assert conclude_retraining(nothing).sentence.startswith("Neither recalibration nor retraining")
    assert not conclude_retraining(nothing).is_significant
    small = replace(LOSSES, grouping=Gain(0.002, 0.0005, 0.004))
    assert "of 0.10 or more was found." in conclude_retraining(small).sentence
    assert "that takes 50 rows" in conclude_retraining(None).sentence


@pytest.mark.parametrize(("score", "most"), [(0.101, "0.42"), (0.003, "0.30")])
def test_at_a_place_no_more_can_be_gained_than_is_lost(score, most):
    sentence = retraining_in_subgroup(replace(LOSSES, score=score))
    assert f"can remove at most {most} of their" in sentence
    assert "at least 1.70 more takes class and features: a better model, or" in sentence
    assert retraining_in_subgroup(None) == ""


def runs_of(rng, means, n_runs=12, noise=0.004):
    """Draw runs that differ, in which methods differ by ``means`` and noise of their own."""
    training = rng.normal(0.1, 0.05, n_runs)
    columns = {name: training + mean for name, mean in means.items()}
    rows = [
        {"run": f"seed{k}", "method": name, "ECE": values[k] + rng.normal(0, noise)}
        for name, values in columns.items()
        for k in range(n_runs)
    ]
    return RunsComparison(pd.DataFrame(rows))


def test_the_best_of_runs_is_named_with_its_paired_interval():
    found = runs_of(np.random.default_rng(2), {"as it is": 0.03, "better": 0.0, "worse": 0.05})
    conclusion = conclude_runs(found, "ECE")
    gap = 100 * (found.values("ECE")["as it is"] - found.values("ECE")["better"])
    low, high = stats.t.interval(1 - 0.05 / 2, 11, gap.mean(), stats.sem(gap))
    assert conclusion.is_significant
    assert conclusion.sentence.startswith("“better” is best by ECE")
    assert f"“as it is” is higher by {gap.mean():.1f} points" in conclusion.sentence
    assert f"95 % CI {low:.1f} to {high:.1f}, paired over 12 runs" in conclusion.sentence


def test_methods_that_tie_are_named_where_each_is_better_than_the_first():
    rng = np.random.default_rng(4)
    found = runs_of(rng, {"as it is": 0.1, "one": 0.0, "other": 0.0})
    conclusion = conclude_runs(found, "ECE")
    best, second = found.table["ECE"].sort_values().index[:2]
    assert conclusion.is_significant
    assert conclusion.sentence.startswith(f"“{best}” and “{second}” have a significantly lower ECE")
    apart = found.difference("as it is", level=1 - 0.05 / 2)
    assert (apart.high["ECE"][["one", "other"]] < 0).all()


def test_no_method_is_called_best_of_runs_that_do_not_differ():
    rng = np.random.default_rng(3)
    same = {"one": 0.0, "other": 0.0, "third": 0.0}
    n = 60
    wrong = sum(conclude_runs(runs_of(rng, same), "ECE").is_significant for _ in range(n))
    assert wrong <= stats.binom.ppf(0.999, n, 0.05)
    conclusion = conclude_runs(runs_of(rng, {"one": 0.0, "other": 0.0, "bad": 0.2}), "ECE")
    assert "No method is significantly best by ECE" in conclusion.sentence
    assert "“bad”" not in conclusion.sentence
    for alone in (runs_of(rng, same, n_runs=1), runs_of(rng, {"one": 0.0})):
        assert "no method can be called best" in conclude_runs(alone, "ECE").sentence
