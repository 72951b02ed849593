import numpy as np
import pandas as pd
import pytest
from scipy import stats
from synthetic import overconfident

import lore_core as lore
from lore_core.regions import recalibrate_region, region_recalibration


@pytest.fixture(scope="module")
def halves():
    return overconfident(800, seed=1)[0], overconfident(900, seed=2)[0]


@pytest.fixture(scope="module")
def found(halves):
    cal, ev = halves
    return recalibrate_region(cal, ev, cal.features[:, 0] > 0, ev.features[:, 0] > 0)


def test_numbers_are_those_of_the_methods_on_the_rows_inside(halves, found):
    cal, ev = (data.rows(data.features[:, 0] > 0) for data in halves)
    assert (found.calibration.n_rows, found.n_measured) == (len(cal), len(ev))
    table = found.table.set_index("method")
    assert list(table.index) == ["as it is", "Temperature scaling", "Platt scaling"]
    for name, after in {
        "as it is": ev,
        "Temperature scaling": lore.TemperatureScaling().fit(cal).recalibrate(ev),
        "Platt scaling": lore.PlattScaling().fit(cal).recalibrate(ev),
    }.items():
        row = table.loc[name]
        assert row["gap"] == pytest.approx(after.confidence.mean() - after.accuracy)
        assert row["NLL"] == pytest.approx(
            lore.negative_log_likelihood(after.probabilities, after.labels)
        )
        assert row["Brier"] == pytest.approx(lore.brier_score(after.probabilities, after.labels))
        change = (after.confidence - after.outcome) - (ev.confidence - ev.outcome)
        assert row["gap_change"] == pytest.approx(change.mean())
        if name != "as it is":
            low, high = stats.t.interval(0.95, len(ev) - 1, change.mean(), stats.sem(change))
            assert (row["gap_change_low"], row["gap_change_high"]) == pytest.approx((low, high))
        assert row["gap_low"] < row["gap"] < row["gap_high"]


def test_an_overconfident_region_is_mended(found, halves):
    before, temperature, platt = found.table["gap"]
    assert before > 0.08
    assert max(abs(temperature), abs(platt)) < 0.04
    assert (found.table["NLL_change_high"][1:] < 0).all()
    assert "they confirm it" in found.sentence
    assert f"Fitted on the {found.calibration.n_rows} calibration rows inside" in found.sentence
    cal, ev = halves
    # Only wrong rows: a region no calibration row can confirm.
    mended = lore.TemperatureScaling().fit(cal)
    cal, ev = mended.recalibrate(cal), mended.recalibrate(ev)
    found = recalibrate_region(cal, ev, np.arange(len(cal)) % 5 == 0, ev.outcome == 0)
    assert "they confirm it" not in found.sentence


def test_only_the_top_confidence_known(halves):
    import dataclasses

    cal, ev = (dataclasses.replace(data, complete=False) for data in halves)
    found = recalibrate_region(cal, ev, np.ones(len(cal), bool), np.ones(len(ev), bool))
    assert "gap" in found.table
    assert "NLL" not in found.table
    cal, ev = halves
    found = recalibrate_region(cal, ev, np.ones(len(cal), bool), np.arange(len(ev)) == 3)
    assert np.isnan(found.table["NLL_low"]).all()
    assert np.isfinite(found.table["gap_low"]).all()
    assert found.sentence
    few, all_ev = np.arange(len(cal)) < 49, np.ones(len(ev), bool)
    with pytest.raises(lore.InputError, match="at least 50 calibration rows .* this one holds 49"):
        recalibrate_region(cal, ev, few, all_ev)
    all_cal = np.ones(len(cal), bool)
    with pytest.raises(lore.InputError, match="this one holds none"):
        recalibrate_region(cal, ev, all_cal, ~all_ev)
    with pytest.raises(lore.InputError, match="as many rows"):
        recalibrate_region(cal, ev, all_cal[:-1], all_ev)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_part_of_the_rows_at_a_time_says_the_same(halves, monkeypatch, weighted):
    cal, ev = halves
    if weighted:
        rng = np.random.default_rng(3)
        cal, ev = (
            lore.Dataset(data.probabilities, data.labels, weights=rng.uniform(0.2, 3, len(data)))
            for data in halves
        )
    inside = [data.probabilities[:, 0] > 0.2 for data in (cal, ev)]
    whole = recalibrate_region(cal, ev, *inside).table
    monkeypatch.setattr(region_recalibration, "_AT_ONCE", 100)
    in_parts = recalibrate_region(cal, ev, *inside).table
    pd.testing.assert_frame_equal(in_parts, whole, rtol=1e-12)
    measured = ev.rows(inside[1])
    gap = measured.confidence - measured.outcome
    assert whole["gap"][0] == pytest.approx(np.average(gap, weights=measured.weights))
