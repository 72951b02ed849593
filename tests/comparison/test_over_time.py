"""Changes between batches of rows: the planted one is named, and no other."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from lore_core import InputError, demo
from lore_core.comparison import RowBatches, conclude_batches

LEVEL = 0.01


def batches_of(rows):
    return RowBatches.of(rows, rows.metadata["day"])


def conclusion_of(rows):
    batches = batches_of(rows)
    return conclude_batches(batches, batches.movement(n_draws=39), LEVEL).sentence


def gap(rows, chosen):
    return 100 * float((rows.confidence - rows.outcome)[chosen].mean())


def test_the_planted_change_is_named_with_its_numbers():
    rows = demo.batches()
    day, weather = rows.metadata["day"].to_numpy(), rows.metadata["weather"].to_numpy()
    since = (day >= "day-07") & (weather == "rain")
    conclusion = conclusion_of(rows)
    assert conclusion.startswith(f"Since day-07 overconfident by {gap(rows, since):.0f} points on ")
    assert f"on {since.sum():,} rows with weather rain (" in conclusion


def test_the_simultaneous_interval_holds_the_planted_change():
    held = []
    for seed in range(8):
        batches = batches_of(demo.batches(8, 800, changed=5, random_state=seed))
        found = batches.changes(batches.batch < 4, batches.batch >= 4)
        (rain,) = [item for item in found if item.name == "rows with weather rain"]
        held.append(rain.low <= 0.2 <= rain.high)
    assert all(held)


@pytest.mark.parametrize(
    ("last", "start"), [(10, "Since day-07"), (7, "In day-07, but not since,")]
)
def test_a_change_that_has_not_stayed_is_not_said_to_have(last, start):
    rows, fair = demo.batches(10, 800, overconfidence=0.4), demo.batches(10, 800, changed=None)
    changed = rows.metadata["day"].to_numpy() <= f"day-{last:02d}"
    labels = np.where(changed, rows.labels, fair.labels)
    assert np.array_equal(rows.predictions, fair.predictions)
    assert conclusion_of(replace(rows, labels=labels)).startswith(f"{start} overconfident by")


def test_batches_of_a_model_that_does_not_change_are_seldom_marked():
    rng, n_days, ps = np.random.default_rng(0), 6, []
    for seed in range(15):
        rows = demo.batches(n_days, 500, changed=None, random_state=seed)
        sure = rng.uniform(0.9, 0.99, len(rows))  # where few rows are wrong, z is least normal
        right = rng.random(len(rows)) < sure
        table = np.where(rows.predictions[:, None] == [0, 1], sure[:, None], 1 - sure[:, None])
        labels = np.where(right, rows.predictions, 1 - rows.predictions)
        batches = batches_of(replace(rows, probabilities=table, labels=labels))
        ps += [(batches.slices_of(k) or [None])[0] for k in range(1, n_days)]
    ps = np.array([1.0 if of is None else of.p_value for of in ps])
    assert (ps <= 0.05).sum() <= stats.binom.ppf(0.999, len(ps), 0.05)
    assert (ps <= LEVEL / 2).sum() <= stats.binom.ppf(0.999, len(ps), LEVEL / 2)


def test_more_rows_where_errors_were_large_before_are_no_change():
    rows = demo.batches(2, 6000, changed=1, overconfidence=0.3)
    day, weather = rows.metadata["day"].to_numpy(), rows.metadata["weather"].to_numpy()
    rainy = (day == "day-02") | (weather != "rain") | (np.arange(len(rows)) % 4 == 0)
    batches = batches_of(rows.rows(rainy))
    later = batches.batch == 1
    assert abs(gap(batches.rows, later) - gap(batches.rows, ~later)) > 3
    assert batches.changes(~later, later)[0].p_value > 0.05


def test_copies_of_rows_change_no_test_where_they_are_units():
    """Rows that are there five times say no more than once."""
    once = demo.batches(3, 800, changed=2, overconfidence=0.25)
    row = np.repeat(np.arange(len(once)), 5)
    copies = once.rows(row)
    single, units, without = map(batches_of, (once, replace(copies, units=row), copies))
    z, of_units, five = ({of.name: of.z for of in b.slices_of(2)} for b in (single, units, without))
    known = [name for name in z if name in of_units and abs(z[name]) > 1]
    assert len(known) > 5
    ratio = np.array([(of_units[name] / z[name], five[name] / z[name]) for name in known])
    np.testing.assert_allclose(ratio[:, 0], 1.0, atol=0.15)
    assert (ratio[:, 1] > 2).all()
    p = [b.movement(n_draws=99)[2].change_p for b in (single, units, without)]
    assert min(p[:2]) > 0.1 > p[2] == 0.01


def test_rows_with_weights_are_refused_and_names_are_in_order():
    rows = demo.batches(2, 60)
    with pytest.raises(InputError, match="no weights"):
        RowBatches.of(replace(rows, weights=np.arange(1, len(rows) + 1.0)), rows.metadata["day"])
    assert RowBatches.of(rows, ["b10"] * 60 + ["b9"] * 60).names == ["b9", "b10"]
