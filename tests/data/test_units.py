import numpy as np
import pandas as pd
import pytest
from scipy import stats

import lore_core as lore
from lore_core import reading
from lore_core.data.units import Dependence, as_units, by_unit, design_effects, random_folds
from lore_core.inference.intervals import calibration_intervals
from lore_core.inference.simulation import null_errors
from lore_core.metrics.bandwidth import suggest_bandwidth
from lore_core.metrics.rewards import reward_curves, risk_curve
from lore_core.recalibration.smooth_tuning import parts
from lore_core.regions.selection import region_report
from lore_core.regions.subgroups.find import halves_of
from lore_core.regions.subgroups.overall import mean_gap_p

RNG = np.random.default_rng(3)
#: 60 units of 1 to 8 rows, in no order; all rows of a unit come true by one draw.
UNITS = RNG.permutation(np.repeat(np.arange(60), RNG.integers(1, 9, 60)))
N = len(UNITS)
C = RNG.uniform(0.5, 0.95, N)
A = (RNG.random(60)[UNITS] < C).astype(float)
Z = RNG.normal(size=(N, 2))
W = RNG.uniform(0.5, 3.0, N)
FILE = {"label": A.astype(int), "p_0": 1 - C, "p_1": C, "f_0": Z[:, 0], "f_1": Z[:, 1]}


def rows(units):
    site = {"site": np.array(list("ab"))[UNITS % 2]}
    return lore.Dataset(np.c_[1 - C, C], A.astype(int), features=Z, groups=site, units=units)


def test_units_of_single_rows_are_no_units():
    assert as_units(["b", "a", "b", None, np.nan]).tolist() == [0, 1, 0, 2, 3]
    assert as_units(["b", "a", None]) is None
    plain, single = rows(None), rows(np.arange(N)[::-1])
    assert single.content_digest == plain.content_digest  # so every number is the same
    assert rows(UNITS).rows(np.unique(UNITS, return_index=True)[1]).units is None


@pytest.mark.parametrize("weights", [None, W])
def test_the_error_of_a_mean_is_cluster_robust(weights):
    r, w = C - A, np.ones(N) if weights is None else weights
    mean = (w * r).sum() / w.sum()
    meat = sum((w * (r - mean))[g == UNITS].sum() ** 2 for g in range(60))
    error = np.sqrt(60 / 59 * meat) / w.sum()
    t = stats.t.ppf(0.975, 59)
    found = region_report(C, A, np.ones(N, dtype=bool), weights=weights, units=UNITS)
    expected = mean, mean - t * error, mean + t * error
    np.testing.assert_allclose((found.gap, found.gap_low, found.gap_high), expected, rtol=1e-10)
    alone = np.sqrt(N / (N - 1) * ((w * (r - mean)) ** 2).sum()) / w.sum()
    design = design_effects(r, np.zeros(N, int), 1, weights, UNITS)
    assert design == pytest.approx((error / alone * t / stats.norm.ppf(0.975)) ** 2)


def test_a_row_given_several_times_is_one():
    units, c, a = (np.repeat(of, 4) for of in (np.arange(N), C, A))
    np.testing.assert_allclose(by_unit(c - a, None, units), C - A, atol=1e-12)
    assert Dependence.of(c, a, units).correlation == pytest.approx(1.0, abs=0.1)
    assert mean_gap_p(c, a, None, units) > 5 * mean_gap_p(c, a)


def test_the_correlation_is_that_of_pairs_over_what_one_draw_gives():
    c, units, rng = np.full(N, 0.7), as_units(UNITS), np.random.default_rng(0)
    a = (np.where(units < 30, rng.random(60)[units], rng.random(N)) < 0.7).astype(float)
    i, j = np.nonzero((units[:, None] == units) & ~np.eye(N, dtype=bool))
    expected = ((a - a.mean())[i] * (a - a.mean())[j]).mean() / 0.21
    assert Dependence.of(c, a, units).correlation == pytest.approx(expected, rel=0.1)
    fixed, scale = Dependence(units, 0.4), RNG.uniform(0, 2, N)
    drawn = np.stack([fixed.uniform(rng, sure=True) for _ in range(4000)]) < 0.7
    together = np.mean((drawn[:, i] - 0.7) * (drawn[:, j] - 0.7)) / 0.21
    assert together == pytest.approx(0.4, abs=0.02)
    assert fixed.variance(scale) == pytest.approx(np.var(drawn @ scale) / 0.21, rel=0.1)
    assert fixed.variance(scale) <= (fixed.inflation() * scale**2).sum()


def test_no_split_fold_or_half_cuts_a_unit():
    data = rows(UNITS)
    split = data.with_split(0.4, random_state=2).in_split("calibration")
    assert 0.2 < split.mean() < 0.6
    halves = [np.isin(np.arange(N), half.searched) for half, _ in halves_of(data).turns]
    for part in (split, random_folds(data.units, N, 4), parts(data), *halves):
        assert (pd.Series(part).groupby(UNITS).nunique() == 1).all()


def test_simulations_keep_units_together():
    found = []
    for units in (None, as_units(UNITS)):
        known = Dependence.of(C, A, units)
        null = null_errors(C, Z, n_draws=100, n_bins=1, dependence=known).ece.mean()
        gain = reward_curves({"one": C, "two": C**2}, A, [2.0], units=units)["two"]
        intervals = calibration_intervals(C / 2, A, Z, n_bins=1, units=units)
        low = intervals.loc[["ECE", "ALCE"], "low"].tolist()
        found.append([null, gain.gain_high[0] - gain.gain_low[0], *(0.5 - np.array(low))])
    assert (np.array(found[1]) > 1.03 * np.array(found[0])).all()
    with pytest.raises(lore.InputError, match="'units'"):
        risk_curve(C, A, C, units=UNITS)


def test_the_role_is_read_saved_and_shown(tmp_path):
    patient = np.char.add("p", UNITS.astype(str))
    read = reading.read(pd.DataFrame(FILE | {"unit": patient}))
    assert any(f"{N:,} rows of 60 units" in fact for fact in read.report.facts)
    given = lore.load(pd.DataFrame(FILE | {"patient": patient}), mapping={"unit": "patient"})
    lore.save_npz(given, tmp_path / "some.npz")
    for made in (read.dataset, given, lore.load(tmp_path / "some.npz")):
        assert (made.units == as_units(UNITS)).all()


def test_checks_notice_units_that_are_not_named():
    def level(name, order=slice(None), **more):
        checks = reading.read(pd.DataFrame(FILE | more).iloc[order]).report.checks
        return next(item.level for item in checks if item.name == name)

    halves = np.where(np.arange(N) < N // 2, "calibration", "evaluation")
    assert level("units", patient_id=UNITS) == level("units", unit=UNITS, split=halves) == "look"
    assert level("units", length=UNITS) == level("units", patient_id=np.arange(N)) == "fine"
    order, name = np.argsort(UNITS, kind="stable"), "neighbouring rows"
    assert level(name, order) == "look"
    assert level(name) == level(name, order, unit=UNITS) == "fine"


@pytest.mark.parametrize("weights", [None, W])
def test_bandwidths_are_chosen_by_units_left_out(weights):
    w, gammas = np.ones(N) if weights is None else weights / weights.mean(), [0.1, 0.5, 2.0]
    found = suggest_bandwidth(C, A, Z, gammas, n_bins=3, weights=weights, units=UNITS)
    index = np.minimum((C * 3).astype(int), 2)
    other = (index[:, None] == index) & (UNITS[:, None] != UNITS)
    share = (other * w) @ A / (other * w).sum(axis=1)
    apart = np.abs(Z[:, None] - Z).sum(axis=2)
    for gamma, loss in zip(gammas, found.loss[0], strict=True):
        kernel = np.exp(-apart / (2 * gamma)) * other * w
        p = (kernel @ A + share) / (kernel.sum(axis=1) + 1)
        assert loss == pytest.approx(-np.average(np.log(np.where(A == 1, p, 1 - p)), weights=w))
