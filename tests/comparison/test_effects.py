import numpy as np
import pytest
from scipy import stats

import lore_core as lore
from lore_core.comparison import confidence_difference
from lore_core.comparison.effects import about_predictions, most_probable_classes
from lore_core.recalibration import VectorScaling

BEFORE = lore.Dataset(np.tile([0.6, 0.4], (10, 1)), [0] * 6 + [1] * 4)


def test_most_probable_classes_by_hand():
    # Rows 4, 5 were right and become wrong; 6, 7, 8 become right; row 9 is a tie.
    p = np.array([0.6, 0.6, 0.6, 0.6, 0.3, 0.3, 0.3, 0.3, 0.3, 0.5])
    found = most_probable_classes(
        {"none": BEFORE, "new": BEFORE.with_probabilities(np.column_stack([p, 1 - p]))}
    )
    assert found.loc["none"].to_list() == [0.0, 0.6, 0.0, 0.0, 0.0]
    changed, accuracy, difference, low, high = found.loc["new"]
    assert (changed, accuracy, difference) == pytest.approx((0.5, 0.7, 0.1))
    z = stats.norm.ppf(1 - 0.0125)
    half = z * np.sqrt(5 + 1 - 1 / 12) / 12
    assert (low, high) == pytest.approx((1 / 12 - half, 1 / 12 + half))
    assert "up to 50 % of the rows (“new”); with no method does" in about_predictions(found)


def test_the_interval_holds_what_it_promises():
    rng = np.random.default_rng(0)
    held = []
    for _ in range(400):
        labels = rng.choice(3, 300, p=[0.5, 0.12, 0.38])
        vectors = np.tile([0.6, 0.1, 0.3], (300, 1))
        new = vectors.copy()
        new[:40] = [0.3, 0.6, 0.1]
        before = lore.Dataset(vectors, labels)
        row = most_probable_classes({"a": before.with_probabilities(new)}).loc["a"]
        held.append(row["low"] <= 40 / 300 * (0.12 - 0.5) <= row["high"])
    assert 0.92 <= np.mean(held) <= 0.99


def test_a_method_that_did_nothing_says_so_in_its_name():
    data = BEFORE.rows(np.arange(4, 10))

    class Nothing(lore.TemperatureScaling):
        label = "Nothing"

        @staticmethod
        def apply(state, rows):
            return rows

    class Said(VectorScaling):
        label = "Said"
        remark = "of a kind"

    result = lore.compare(data, data, [lore.NoRecalibration(), Nothing(), Said()])
    names = ["No recalibration", "Nothing (changed nothing)", "Said (of a kind)"]
    assert list(result.names.values()) == names


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    c = random.uniform(0.5, 1, 400)
    labels = np.where(random.random(400) < c - 0.1, 0, 1)
    return lore.Dataset(np.column_stack([c, 1 - c]), labels, features=random.normal(size=(400, 3)))


def test_the_difference_by_hand(rows):
    exact, shipped = lore.NoRecalibration().fit(rows), lore.PlattScaling().fit(rows)
    found = confidence_difference(exact, shipped, rows)
    after = shipped.recalibrate(rows)
    off = np.abs(after.confidence - rows.confidence)
    assert (found.n_rows, found.mean, found.greatest) == pytest.approx((400, off.mean(), off.max()))
    assert found.above == pytest.approx({0.01: (off > 0.01).mean(), 0.05: (off > 0.05).mean()})
    nll = -np.log(after.probabilities[np.arange(400), after.labels]).mean()
    assert found.table.loc["shipped", "NLL"] == pytest.approx(nll)
    assert list(found.table) == ["NLL", "Brier"]
    sentence = found.sentence()
    assert f"400 evaluation rows differ by {off.mean() * 100:.1f} points on average" in sentence
    assert f"and {off.max() * 100:.1f} at most" in sentence
    assert f"NLL {nll:.3f} instead of" in sentence


def test_local_metrics_where_there_is_a_map_and_nothing_changed(rows):
    method = lore.PlattScaling().fit(rows)
    found = confidence_difference(method, method.without_rows(), rows)
    assert found.greatest == 0
    assert found.sentence("calibration") == (
        "Without single rows, the confidences of 400 calibration rows are exactly the same."
    )
    made = lore.embed(rows.features)
    method = lore.LoRe(0.3, 5).fit(rows, made)
    found = confidence_difference(
        method, method.without_rows(), rows, made, gamma=0.3, n_bins=5, binning="equal-width"
    )
    assert list(found.table) == ["NLL", "Brier", "ALCE"]
    assert 0 < found.mean < found.greatest < 0.5
    assert found.sentence().endswith("points.")
