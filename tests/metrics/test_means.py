import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lore_core.metrics import joint_intervals, mean_interval
from lore_core.metrics.means import difference_range, holm
from lore_core.metrics.proper_scores import class_nll


def test_one_mean_by_hand():
    # Mean 2, standard error 1/√3, two degrees of freedom: 4.3027 standard errors.
    assert mean_interval([1.0, 2.0, np.nan, 3.0]) == pytest.approx((2.0, -0.4841, 4.4841), abs=1e-4)
    assert np.isnan(mean_interval([1.0])[1:]).all()
    first, other = np.array([[0.5, 0.5], [0.8, 0.2]]), np.array([[0.6, 0.4], [1.0, 0.0]])
    least, most = difference_range(class_nll, class_nll(first), other)
    assert least == pytest.approx(np.log(0.8))
    assert most == pytest.approx(np.log(0.2 / 1e-6))
    weighted = difference_range(class_nll, class_nll(first), other, np.array([1.8, 0.2]))
    assert weighted == pytest.approx((1.8 * np.log(0.5 / 0.6), 0.2 * np.log(0.2 / 1e-6)))


@pytest.mark.parametrize("size", [1, 5])
def test_independent_columns_are_sidaks(size):
    # (More than 1,000 rows are averaged in blocks.)
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(2000 * size, 4)), columns=list("abcd"))
    alone = joint_intervals(rows[["a"]]).iloc[0]
    ends = stats.t.interval(0.95, len(rows) - 1, rows["a"].mean(), stats.sem(rows["a"]))
    assert alone[["low", "high"]].tolist() == pytest.approx(ends, abs=0.1 * np.ptp(ends))
    assert alone["p_value"] == pytest.approx(stats.ttest_1samp(rows["a"], 0).pvalue, abs=0.06)
    found = joint_intervals(rows)
    half = (found["high"] - found["low"]) / 2 / rows.sem()
    assert half.to_numpy() == pytest.approx(stats.norm.ppf((1 + 0.95**0.25) / 2), rel=0.1)


@pytest.mark.parametrize(("rare", "n"), [(0, 100), (3, 100), (15, 500), (15, 6000)])
def test_two_values_have_clopper_and_pearsons_interval(rare, n):
    rows = pd.DataFrame({"a": np.where(np.arange(n) < rare, 3, -0.1)})
    found = joint_intervals(rows, [(-0.1, 3)]).loc["a"]
    exact = stats.binomtest(rare, n).proportion_ci(0.95, "exact")
    assert found["difference"] == pytest.approx(3.1 * rare / n - 0.1)
    shares = (found[["low", "high"]].to_numpy(float) + 0.1) / 3.1
    assert shares == pytest.approx([exact.low, exact.high], abs=0.05 * (exact.high - exact.low))
    assert (found["p_value"] < 0.05) == (found["low"] > 0 or found["high"] < 0)


def test_columns_that_are_one_cost_nothing_and_nothing_has_no_width():
    rng = np.random.default_rng(1)
    one = rng.normal(size=200)
    rows = pd.DataFrame({"a": one, "b": 2 * one, "c": 0.0})
    found = joint_intervals(rows)
    alone = joint_intervals(rows[["a"]])
    assert found.loc["a", "high"] == pytest.approx(alone.loc["a", "high"])
    assert found.loc["c"].tolist() == [0, 0, 0, 1]
    same = joint_intervals(pd.DataFrame({"d": [0.25] * 200}), [(-0.5, 0.5)]).loc["d"]
    assert same["low"] < 0.25 < same["high"]
    assert joint_intervals(rows[["c"]]).loc["c", "p_value"] == 1
    assert joint_intervals(rows.head(1))["low"].isna().all()


def test_a_mean_of_one_rare_row_may_be_anything():
    found = joint_intervals(pd.DataFrame({"a": np.eye(1, 500)[0]})).loc["a"]
    assert found["difference"] == pytest.approx(1 / 500)
    assert found["low"] < 0 < found["high"]
    assert found["p_value"] > 0.3
    # True means 0: six gain 0.1 with a share of 0.98 and lose 4.9 else, of which 60 rows show one.
    rng = np.random.default_rng(2)
    worlds = np.where(rng.random((300, 60, 6)) < 0.98, -0.1, 4.9)
    worlds[:, :, 3:] *= -1
    found = [joint_intervals(pd.DataFrame(world), [(-4.9, 4.9)] * 6) for world in worlds]
    assert np.mean([((item["low"] > 0) | (item["high"] < 0)).any() for item in found]) < 0.05


def test_p_values_after_holm():
    # .01 · 3; .03 · 2; .04 · 1, but not below the one before it.
    np.testing.assert_allclose(holm(np.array([0.04, 0.01, 0.03])), [0.06, 0.03, 0.06])
    np.testing.assert_allclose(holm(np.array([0.9, 0.6])), [1.0, 1.0])
