import numpy as np
import pytest
from synthetic import overconfident

from lore_core import Dataset
from lore_core.recalibration.dataset_rows import rows_of
from lore_core.recalibration.temperature_scaling import OtherClasses


def shares_by_hand(p, predicted, temperature, offset):
    q = np.zeros(len(p))
    for k in range(len(p)):
        if k != predicted:
            q[k] = (p[k] + offset) ** (1 / temperature)
    return q / q.sum()


def test_shares_are_the_formula():
    data = Dataset([[0.7, 0.2, 0.1, 0.0], [0.1, 0.1, 0.2, 0.6]], [0, 1])
    found = OtherClasses(2.0, 0.01).shares(data.probabilities, data.predictions)
    for row in range(2):
        expected = shares_by_hand(data.probabilities[row], data.predictions[row], 2.0, 0.01)
        np.testing.assert_allclose(found[row], expected, atol=1e-12)
    # Temperature one without offset leaves the proportions.
    data, _ = overconfident(50, k=4)
    confidence = np.linspace(0.1, 0.9, 50)
    np.testing.assert_allclose(
        OtherClasses().complete(rows_of(data, None, ""), confidence).probabilities,
        data.with_confidence(confidence).probabilities,
        atol=1e-9,
    )


def test_the_fit_beats_every_point_of_a_fine_grid():
    data, _ = overconfident(150, k=4, seed=3)
    wrong = np.flatnonzero(data.outcome == 0)

    def loss(temperature, offset):
        total = np.log(temperature) ** 2 / 2
        for i in wrong:
            q = shares_by_hand(data.probabilities[i], data.predictions[i], temperature, offset)
            total -= max(np.log(q[data.labels[i]]), np.log(1e-6))
        return total

    found = OtherClasses.fit(data)
    lowest = min(
        loss(temperature, offset)
        for temperature in np.geomspace(0.05, 20, 120)
        for offset in (1e-12, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
    )
    assert loss(found.temperature, found.offset) <= lowest + 1e-9
    # The classifier was sharpened by 2.5, its other classes too.
    assert 1.2 < found.temperature < 4
    # Right rows say nothing about the other classes.
    assert OtherClasses.fit(data.rows(data.outcome == 0)) == found


def test_zeros_are_given_a_share():
    """A forest that votes 0 for a class that does come up: (0.2 + ε)^1/T : ε^1/T as it does."""
    labels = np.repeat([0, 1, 2], [200, 150, 50])
    data = Dataset(np.tile([0.8, 0.2, 0.0], (400, 1)), labels)
    assert OtherClasses().shares(data.probabilities, data.predictions)[0, 2] < 1e-9
    found = OtherClasses.fit(data).shares(data.probabilities, data.predictions)
    assert found[0, 2] == pytest.approx(0.25, abs=0.02)
    data = Dataset([[1.0, 1e-310, 0.0], [1.0, 0.0, 0.0]], [0, 1])
    after = OtherClasses().complete(rows_of(data, None, ""), np.array([0.4, 0.4])).probabilities
    np.testing.assert_allclose(after.sum(axis=1), 1)
    np.testing.assert_allclose(after, [[0.4, 0.3, 0.3]] * 2)


def test_two_classes_have_nothing_to_share():
    data = Dataset([[0.9, 0.1]] * 5, [0, 1] * 2 + [0])
    assert OtherClasses.fit(data) == OtherClasses()
    after = OtherClasses.fit(data).complete(rows_of(data, None, ""), np.full(5, 0.3))
    np.testing.assert_allclose(after.probabilities, np.tile([0.3, 0.7], (5, 1)))
    # Nor has data without a wrong row.
    assert OtherClasses.fit(Dataset([[0.8, 0.15, 0.05]] * 5, [0] * 5)) == OtherClasses()
