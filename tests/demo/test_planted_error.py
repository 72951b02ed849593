import numpy as np
import pytest

from lore_core.data.validation import InputError
from lore_core.demo import synthetic


@pytest.fixture(scope="module")
def made():
    return synthetic(100_000)


def standard_errors(outcome, accuracy):
    """How many standard errors the mean outcome is from its expectation."""
    return abs((outcome - accuracy).sum()) / np.sqrt((accuracy * (1 - accuracy)).sum())


def test_shapes():
    made = synthetic(1_001, n_features=5)
    dataset = made.dataset
    assert len(dataset) == len(made.true_gap) == 1_001
    assert dataset.n_classes == 2
    assert dataset.features.shape == (1_001, 5)
    assert (len(dataset.calibration), len(dataset.evaluation)) == (500, 501)
    assert list(dataset.metadata.columns) == ["region", "true_gap"]
    assert list(dataset.groups.columns) == ["region"]
    np.testing.assert_array_equal(dataset.metadata["true_gap"], made.true_gap)


def test_same_seed_same_data():
    assert synthetic(500).dataset.digest == synthetic(500).dataset.digest
    assert synthetic(500).dataset.digest != synthetic(500, random_state=1).dataset.digest


def test_gap_at_the_hearts_of_the_blobs():
    # Far to the left every row is of the overconfident blob, far to the right of the other:
    # +0.35 and -0.35 * 0.10 / 0.35 = -0.10.
    made = synthetic(20_000)
    x = made.dataset.features[:, 0]
    np.testing.assert_allclose(made.true_gap[x < -5], 0.35, atol=1e-3)
    np.testing.assert_allclose(made.true_gap[x > 5], -0.10, atol=1e-3)
    np.testing.assert_allclose(made.true_gap[np.abs(x) < 0.1], 0.0, atol=1e-3)


def test_accuracies_are_probabilities(made):
    accuracy = made.dataset.confidence - made.true_gap
    assert accuracy.min() >= 0.15 - 1e-9
    assert accuracy.max() <= 1 + 1e-9


@pytest.mark.parametrize("region", ["overconfident", "calibrated", "underconfident"])
def test_outcomes_follow_the_truth_in_each_region(made, region):
    rows = (made.dataset.metadata["region"] == region).to_numpy()
    accuracy = np.clip(made.dataset.confidence - made.true_gap, 0, 1)
    assert standard_errors(made.dataset.outcome[rows], accuracy[rows]) < 4


def test_gap_cancels_at_every_confidence(made):
    confidence = made.dataset.confidence
    assert (confidence.min(), confidence.max()) == pytest.approx((0.5, 0.9), abs=1e-4)
    index = np.floor(confidence * 15).astype(int)
    for one in np.unique(index):
        gap = made.true_gap[index == one]
        assert abs(gap.mean()) < 4 * gap.std() / np.sqrt(len(gap))
        assert np.abs(gap).mean() > 0.05


def test_calibrated_has_no_gap():
    made = synthetic(20_000, calibrated=True)
    np.testing.assert_array_equal(made.true_gap, 0.0)
    assert standard_errors(made.dataset.outcome, made.dataset.confidence) < 4


def test_truth_is_read_only():
    with pytest.raises(ValueError, match="read-only"):
        synthetic(10).true_gap[0] = 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 1}, "'n' must be a whole number in"),
        ({"n_features": 1}, "'n_features' must be a whole number in"),
        ({"overconfidence": 0.4}, r"'overconfidence' must lie in \[0, 0.35\]; got 0.4"),
        ({"overconfidence": float("nan")}, "'overconfidence' must lie in"),
        ({"random_state": 0.5}, "'random_state' must be a whole number"),
    ],
)
def test_arguments_are_checked(arguments, message):
    with pytest.raises(InputError, match=message):
        synthetic(**arguments)
