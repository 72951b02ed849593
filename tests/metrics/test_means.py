"""Intervals of means: by hand, and holding at once as often as they say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lore_core.metrics import joint_intervals, mean_interval
from lore_core.metrics.means import MOST_SKEWED, expected_skewness
from lore_core.metrics.proper_scores import class_nll


def test_one_mean_by_hand():
    # Mean 2, standard error 1/√3, two degrees of freedom: 4.3027 standard errors.
    assert mean_interval([1.0, 2.0, np.nan, 3.0]) == pytest.approx((2.0, -0.4841, 4.4841), abs=1e-4)
    assert np.isnan(mean_interval([1.0])[1:]).all()


def test_one_column_is_students_and_independent_ones_are_sidaks():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(400, 4)), columns=list("abcd"))
    alone = joint_intervals(rows[["a"]]).iloc[0]
    ends = stats.t.interval(0.95, 399, rows["a"].mean(), stats.sem(rows["a"]))
    assert alone[["low", "high"]].tolist() == pytest.approx(ends, abs=2e-3)
    assert alone["p_value"] == pytest.approx(stats.ttest_1samp(rows["a"], 0).pvalue, abs=0.02)
    found = joint_intervals(rows)
    half = (found["high"] - found["low"]) / 2 / rows.sem()
    assert half.to_numpy() == pytest.approx(stats.t.ppf((1 + 0.95**0.25) / 2, 399), rel=0.03)


def test_columns_that_are_one_cost_nothing_and_constant_ones_have_no_width():
    rng = np.random.default_rng(1)
    one = rng.normal(size=200)
    rows = pd.DataFrame({"a": one, "b": -2 * one, "c": 0.0, "d": 0.25})
    found = joint_intervals(rows)
    alone = joint_intervals(rows[["a"]])
    assert found.loc["a", "high"] == pytest.approx(alone.loc["a", "high"])
    assert found.loc["c"].tolist() == [0, 0, 0, 1]
    assert found.loc["d"].tolist() == [0.25, 0.25, 0.25, 0]
    assert joint_intervals(rows[["c"]]).loc["c", "p_value"] == 1
    assert joint_intervals(rows.head(1))["low"].isna().all()


def test_a_mean_of_one_rare_row_has_no_interval():
    rows = pd.DataFrame({"a": np.eye(1, 500)[0]})
    found = joint_intervals(rows).loc["a"]
    assert found["difference"] == pytest.approx(1 / 500)
    assert np.isnan(found["low"])
    assert found["p_value"] > 0.3


def test_they_hold_at_once():
    rng = np.random.default_rng(2)
    common = rng.normal(size=(300, 60, 1))
    worlds = common + rng.normal(size=(300, 60, 5))
    found = [joint_intervals(pd.DataFrame(world)) for world in worlds]
    held = np.mean([((item["low"] <= 0) & (item["high"] >= 0)).all() for item in found])
    assert held == pytest.approx(0.95, abs=0.035)


def test_skewness_by_hand():
    # Midway between 0.5 and 0.9 the first class comes with 0.7: the score differs by 1 or by 0,
    # so the third central moment is p(1 − p)(1 − 2p), the second p(1 − p).
    first, other = np.tile([0.5, 0.5], (25, 1)), np.tile([0.9, 0.1], (25, 1))
    found = expected_skewness(lambda p: np.where(p == 0.9, 1.0, 0.0), first, other)
    assert found == pytest.approx((1 - 1.4) / np.sqrt(0.21) / 5)
    assert expected_skewness(lambda p: p * 0.0, first, other) == 0


def test_a_class_called_impossible_is_seen_before_it_comes():
    first = np.tile([0.98, 0.02], (500, 1))
    sure = np.tile([1.0, 0.0], (500, 1))
    assert abs(expected_skewness(class_nll, first, sure)) > MOST_SKEWED
    assert abs(expected_skewness(class_nll, first, first * [0.99, 1.49])) < MOST_SKEWED
