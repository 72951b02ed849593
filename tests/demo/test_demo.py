import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.neighbors import NearestNeighbors

from lore_core.data.validation import InputError
from lore_core.demo import digits, synthetic


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (synthetic, {"n": 1}, "'n' must be a whole number in"),
        (synthetic, {"n_features": 1}, "'n_features' must be a whole number in"),
        (synthetic, {"random_state": 0.5}, "'random_state' must be a whole number"),
        (digits, {"random_state": -1}, "'random_state' must be a whole number"),
    ],
)
def test_arguments_are_checked(make, arguments, message):
    with pytest.raises(InputError, match=message):
        make(**arguments)


@pytest.fixture(scope="module")
def made():
    return synthetic(100_000)


def standard_errors(outcome, accuracy):
    return abs((outcome - accuracy).sum()) / np.sqrt((accuracy * (1 - accuracy)).sum())


def test_gap_at_the_hearts_of_the_blobs():
    # Far left all rows are of the overconfident blob, far right of the other: −0.35 · 0.10 / 0.35.
    made = synthetic(20_000)
    x = made.dataset.features[:, 0]
    for rows, gap in ((x < -5, 0.35), (x > 5, -0.10), (np.abs(x) < 0.1, 0.0)):
        np.testing.assert_allclose(made.true_gap[rows], gap, atol=1e-3)
    calibrated = synthetic(20_000, calibrated=True)
    np.testing.assert_array_equal(calibrated.true_gap, 0.0)
    assert standard_errors(calibrated.dataset.outcome, calibrated.dataset.confidence) < 4


def test_outcomes_follow_the_truth_in_each_region(made):
    accuracy = made.dataset.confidence - made.true_gap
    assert accuracy.min() >= 0.15 - 1e-9
    assert accuracy.max() <= 1 + 1e-9
    for region in ("overconfident", "calibrated", "underconfident"):
        rows = (made.dataset.metadata["region"] == region).to_numpy()
        outcome = made.dataset.outcome[rows]
        assert standard_errors(outcome, np.clip(accuracy[rows], 0, 1)) < 4, region
    confidence = made.dataset.confidence
    assert (confidence.min(), confidence.max()) == pytest.approx((0.5, 0.9), abs=1e-4)
    index = np.floor(confidence * 15).astype(int)
    for one in np.unique(index):
        gap = made.true_gap[index == one]
        assert abs(gap.mean()) < 4 * gap.std() / np.sqrt(len(gap))
        assert np.abs(gap).mean() > 0.05


@pytest.fixture(scope="module")
def dataset():
    return digits()


def sideways(dataset):
    return (dataset.metadata["corruption"] == "rotated 90°").to_numpy()


def test_the_rows_are_their_source_images_and_on_one_side_alone(dataset):
    calibration = set(dataset.calibration.metadata["source_image"])
    evaluation = set(dataset.evaluation.metadata["source_image"])
    assert not calibration & evaluation
    # 700 training and 400 tuning images are none of these.
    assert len(calibration) + len(evaluation) == 1_797 - 700 - 400
    source = dataset.metadata["source_image"].str.removeprefix("image ").astype(int).to_numpy()
    np.testing.assert_array_equal(load_digits().target[source], dataset.labels)

    turned = sideways(dataset)
    assert turned.mean() == pytest.approx(0.08, abs=0.001)
    for part in (dataset.calibration, dataset.evaluation):
        assert 0.06 < sideways(part).mean() < 0.10


def test_globally_calibrated_locally_not(dataset):
    other_seed = digits(1)
    for evaluation in (dataset.evaluation, other_seed.evaluation):
        confidence, outcome = evaluation.confidence, evaluation.outcome
        turned = sideways(evaluation)
        index = np.minimum((confidence * 15).astype(int), 14)
        rows_of = [index == b for b in np.unique(index)]
        error = sum(abs((confidence - outcome)[rows].mean()) * rows.mean() for rows in rows_of)
        assert error < 0.04
        assert 0.80 < outcome.mean() < 0.95
        assert outcome[~turned].mean() > 0.9
        # Confident and wrong, nearly always as a 4; a sideways 4 is among the few that are right.
        assert confidence[turned].mean() > 0.85
        assert outcome[turned].mean() < 0.3
        assert (evaluation.predictions[turned] == 4).mean() > 0.85
    evaluation = dataset.evaluation
    index = np.minimum((evaluation.confidence * 15).astype(int), 14)
    rows = np.flatnonzero(index == np.bincount(index).argmax())
    gap = (evaluation.confidence - evaluation.outcome)[rows]
    assert abs(gap.mean()) < 0.03
    # The mean gap of each row's 25 nearest rows of the bin, in the features.
    features = evaluation.features[rows].astype(float)
    nearest = NearestNeighbors(n_neighbors=25).fit(features).kneighbors(return_distance=False)
    local = gap[nearest].mean(axis=1)
    turned = sideways(evaluation)[rows]
    assert local[turned].mean() > 0.5
    assert abs(local[~turned].mean()) < 0.1


def test_the_trained_demo_is_read_from_disk_and_made_again_if_damaged(tmp_path, monkeypatch):
    for variable in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "USERPROFILE"):
        monkeypatch.setenv(variable, str(tmp_path))
    made = digits()
    (path,) = tmp_path.rglob("digits-*")
    written = path.stat().st_mtime_ns
    assert digits().digest == made.digest
    assert path.stat().st_mtime_ns == written
    path.write_bytes(path.read_bytes()[:-9])
    assert digits().digest == made.digest
    assert path.stat().st_mtime_ns > written
