"""Recalibrate, or retrain? in words: bounds are the ends of the intervals."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lore_core.comparison import conclude_retraining, retraining_in_subgroup
from lore_core.metrics.gains import Gain, LossParts, RewardParts

LOSSES = LossParts(
    score=0.101,
    calibration=Gain(0.0023, 0.0012, 0.0042),
    grouping=Gain(0.0212, 0.01697, 0.0265),
    both=Gain(0.0235, 0.019, 0.029),
    n_rows=2443,
    n_bins=15,
    n_cells=60,
)
GAIN = Gain(0.5, 0.4, 0.6, 0.2)
REWARDS = RewardParts(10.0, 0.06, Gain(0.0, float("nan"), float("nan"), 0.0), GAIN, GAIN, 2443)


def test_bounds_are_the_ends_of_intervals_at_the_readers_costs():
    conclusion = conclude_retraining(LOSSES, REWARDS, unsure_cost=2.0)
    assert conclusion.is_significant
    for words in (
        "10.1 points, a curve of the confidence alone gains at most 0.42",
        "apart by their class and features gains at least 1.70 more",
        "gains at most 0.12 a row",
        "gain 1 more than a fitted curve (95 %: 0.8 to 1.2)",
    ):
        assert words in conclusion.sentence


def test_what_is_not_shown_is_not_said():
    none = replace(LOSSES, grouping=Gain(0.001, 0.0, 0.004))
    unknown = replace(REWARDS, improved=REWARDS.recalibrated)
    sentence = conclude_retraining(none, unknown).sentence
    assert "that class and features tell rows of one confidence apart is not shown." in sentence
    assert "cannot be told on these rows." in sentence
    small = replace(LOSSES, grouping=Gain(0.002, 0.0005, 0.004))
    assert "not shown to be worth 0.10." in conclude_retraining(small).sentence
    assert "takes 50 rows" in conclude_retraining(None).sentence


@pytest.mark.parametrize(("score", "most"), [(0.101, "0.42"), (0.003, "0.30")])
def test_at_a_place_no_more_can_be_gained_than_is_lost(score, most):
    sentence = retraining_in_subgroup(replace(LOSSES, score=score))
    assert f"gains at most {most} of their" in sentence
    assert "at least 1.70 more, and takes a better model, or more rows like these." in sentence
    assert retraining_in_subgroup(None) == ""
