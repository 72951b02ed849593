import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.neighbors import NearestNeighbors

from lore_core.data.validation import InputError
from lore_core.demo import digits


@pytest.fixture(scope="module")
def dataset():
    return digits()


def bin_gaps(confidence, outcome, n_bins=15):
    """Signed gap and share of rows of each occupied bin, the slow plain way."""
    index = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    bins = np.unique(index)
    gaps = np.array([(confidence - outcome)[index == b].mean() for b in bins])
    return gaps, np.array([(index == b).mean() for b in bins])


def sideways(dataset):
    return (dataset.metadata["corruption"] == "rotated 90°").to_numpy()


def _source(dataset):
    return dataset.metadata["source_image"].str.removeprefix("image ").astype(int).to_numpy()


def test_shapes(dataset):
    n = len(dataset)
    assert n == 4_879
    assert dataset.n_classes == 10
    assert dataset.class_names == tuple("0123456789")
    assert dataset.features.shape == (n, 64)
    assert dataset.images.shape == (n, 32, 32)
    assert dataset.images.dtype == np.uint8
    assert list(dataset.groups.columns) == ["corruption", "digit"]
    assert list(dataset.metadata.columns) == ["corruption", "digit", "ink", "source_image", "copy"]
    assert dataset.metadata["ink"].between(0, 1).all()
    assert 2_000 <= len(dataset.calibration) <= len(dataset.evaluation) <= 5_000
    np.testing.assert_array_equal(dataset.groups["digit"].astype(int), dataset.labels)


def test_labels_are_those_of_the_source_images(dataset):
    source = _source(dataset)
    np.testing.assert_array_equal(load_digits().target[source], dataset.labels)


def test_no_image_is_on_both_sides_or_in_what_the_network_saw(dataset):
    calibration = set(dataset.calibration.metadata["source_image"])
    evaluation = set(dataset.evaluation.metadata["source_image"])
    assert not calibration & evaluation
    # 700 training and 400 tuning images are none of these.
    assert len(calibration) + len(evaluation) == 1_797 - 700 - 400


def test_the_rows_look_like_their_source_images(dataset):
    source = _source(dataset)
    original = load_digits().images[source].reshape(len(dataset), -1)
    shown = dataset.images[:, ::4, ::4].astype(float)

    def similarity(images, rows):
        pairs = zip(images[rows].reshape(len(images[rows]), -1), original[rows], strict=True)
        return np.mean([np.corrcoef(a, b)[0, 1] for a, b in pairs])

    turned = sideways(dataset)
    assert similarity(shown, ~turned) > 0.85
    assert similarity(shown, turned) < 0.5
    assert similarity(np.rot90(shown, 1, axes=(1, 2)), turned) > 0.85


def test_a_known_share_is_sideways_on_both_sides(dataset):
    assert sideways(dataset).mean() == pytest.approx(0.08, abs=0.001)
    for part in (dataset.calibration, dataset.evaluation):
        assert 0.06 < sideways(part).mean() < 0.10


@pytest.mark.parametrize("seed", [0, 1])
def test_globally_calibrated_locally_not(dataset, seed):
    evaluation = (dataset if seed == 0 else digits(seed)).evaluation
    confidence, outcome = evaluation.confidence, evaluation.outcome
    turned = sideways(evaluation)
    gaps, shares = bin_gaps(confidence, outcome)
    assert 0.80 < outcome.mean() < 0.95
    assert (np.abs(gaps) * shares).sum() < 0.04
    assert outcome[~turned].mean() > 0.9
    # Confident and wrong, nearly always as a 4; a sideways 4 is among the few that are right.
    assert confidence[turned].mean() > 0.85
    assert outcome[turned].mean() < 0.3
    assert (evaluation.predictions[turned] == 4).mean() > 0.85


def test_the_hidden_layer_shows_the_fault_where_the_bin_does_not(dataset):
    evaluation = dataset.evaluation
    confidence, outcome = evaluation.confidence, evaluation.outcome
    index = np.minimum((confidence * 15).astype(int), 14)
    rows = np.flatnonzero(index == np.bincount(index).argmax())
    gap = (confidence - outcome)[rows]
    assert abs(gap.mean()) < 0.03
    # The mean gap of each row's 25 nearest rows of the bin, in the features.
    features = evaluation.features[rows].astype(float)
    nearest = NearestNeighbors(n_neighbors=25).fit(features).kneighbors(return_distance=False)
    local = gap[nearest].mean(axis=1)
    turned = sideways(evaluation)[rows]
    assert local[turned].mean() > 0.5
    assert abs(local[~turned].mean()) < 0.1


def test_the_same_seed_gives_the_same_data(dataset):
    again = digits()
    np.testing.assert_array_equal(again.images, dataset.images)
    np.testing.assert_allclose(again.probabilities, dataset.probabilities)
    assert not np.array_equal(digits(1).labels, dataset.labels)


def test_the_prediction_is_the_most_probable_class(dataset):
    np.testing.assert_array_equal(dataset.probabilities.argmax(axis=1), dataset.predictions)


def test_random_state_is_checked():
    with pytest.raises(InputError, match="'random_state' must be a whole number"):
        digits(-1)
