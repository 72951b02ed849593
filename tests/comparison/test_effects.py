import numpy as np
import pytest
from scipy import stats

from lore_core import Dataset, TemperatureScaling, compare
from lore_core.comparison.effects import about_predictions, most_probable_classes
from lore_core.recalibration import NoRecalibration, VectorScaling

BEFORE = Dataset(np.tile([0.6, 0.4], (10, 1)), [0] * 6 + [1] * 4)


def test_by_hand():
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
        before = Dataset(vectors, labels)
        row = most_probable_classes({"a": before.with_probabilities(new)}).loc["a"]
        held.append(row["low"] <= 40 / 300 * (0.12 - 0.5) <= row["high"])
    assert 0.92 <= np.mean(held) <= 0.99


def test_a_sure_change_is_said_with_its_numbers():
    rng = np.random.default_rng(1)
    labels = rng.choice(2, 2000, p=[0.3, 0.7])
    before = Dataset(np.tile([0.6, 0.4], (2000, 1)), labels)
    said = about_predictions(
        most_probable_classes({"none": before, "new": before.with_confidence(np.full(2000, 0.3))})
    )
    assert "changes up to 100 % of the rows (“new”); the accuracy then surely" in said
    assert "“new” to 7" in said
    unchanged = about_predictions(most_probable_classes({"none": before}))
    assert unchanged.startswith("No method changes a row's most probable class")


def test_a_method_that_did_nothing_says_so_in_its_name():
    data = BEFORE.rows(np.arange(4, 10))

    class Nothing(TemperatureScaling):
        label = "Nothing"

        @staticmethod
        def apply(state, rows):
            return rows

    class Said(VectorScaling):
        label = "Said"
        remark = "of a kind"

    result = compare(data, data, [NoRecalibration(), Nothing(), Said()])
    assert list(result.names.values()) == [
        "No recalibration",
        "Nothing (changed nothing)",
        "Said (of a kind)",
    ]
