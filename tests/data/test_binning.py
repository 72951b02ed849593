import numpy as np
import pytest

from lore_core import InputError
from lore_core.data import confidence_bins
from lore_core.data.binning import accuracy_without_self


def test_equal_width_index_is_floor_of_confidence_times_bins():
    bins = confidence_bins([0.5], 5)
    # 0.6·5 is 3 exactly in float64; 1.0 belongs to the last bin.
    assert bins.assign([0.0, 0.19, 0.2, 0.6, 0.999, 1.0]).tolist() == [0, 0, 1, 3, 4, 4]
    c = np.arange(0, 1001) / 1000
    for n_bins in (3, 7, 15, 49):
        expected = np.minimum(np.floor(c * n_bins), n_bins - 1)
        assert np.array_equal(confidence_bins(c, n_bins).assign(c), expected)
    bins = confidence_bins(1 - np.linspace(1e-5, 9e-5, 80), 8, "equal-mass")
    names = [bins.name(i) for i in range(bins.n_bins)]
    assert len(set(names)) == bins.n_bins
    assert names[0].startswith("0.0")
    assert confidence_bins([0.5], 10).name(9) == "90–100 %"


def test_equal_mass_fills_bins_evenly_and_keeps_ties_together():
    c = np.linspace(0.01, 0.99, 100)
    count = np.bincount(confidence_bins(c, 4, "equal-mass").assign(c))
    assert count.tolist() == [25, 25, 25, 25]
    c = np.array([0.2] * 6 + [0.9] * 2 + [0.95] * 2)
    bins = confidence_bins(c, 5, "equal-mass")
    index = bins.assign(c)
    assert len(set(index[:6])) == 1
    assert bins.n_bins == len(np.unique(index))  # no empty bin
    assert confidence_bins([0.7] * 9, 5, "equal-mass").n_bins == 1


@pytest.mark.parametrize(
    ("weights", "expected"),
    [(None, [1 / 2, 1 / 2, 1.0, 0.3]), ([1.0, 2.0, 3.0, 1.0], [2 / 5, 1 / 4, 1.0, 0.3])],
)
def test_accuracy_of_the_others_in_the_bin_by_hand(weights, expected):
    """Rows 0 to 2 share a bin; row 3 is alone and takes what it is given."""
    index, outcome = np.array([0, 0, 0, 1]), np.array([1.0, 1.0, 0.0, 1.0])
    if weights is not None:
        weights = np.array(weights)
    found = accuracy_without_self(index, outcome, np.full(4, 0.3), weights)
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5], 0), r"'n_bins' must be a whole number in \[1, 10000\]; got 0"),
        (([0.5], 2.5), "'n_bins' must be a whole number"),
        (([0.5], 5, "quantile"), "'binning' must be one of"),
        (([1.5], 5, "equal-mass"), r"'confidence' must lie in \[0, 1\]; got 1.5 at row 0"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(InputError, match=message):
        confidence_bins(*arguments)
