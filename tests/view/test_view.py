import dataclasses

import numpy as np
import pytest

import lore_core as lore
from lore_core.view import View
from lore_core.view.view import ALL_PARTS


@pytest.fixture(scope="module")
def dataset():
    p = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]])
    split = ["evaluation", "calibration", "evaluation", "evaluation"]
    features = [[0.0, 1.0], [1.0, 3.0], [2.0, 5.0], [4.0, 8.0]]
    return lore.Dataset(p, [0, 1, 1, 1], features, split=split, class_names=["cat", "dog"])


@pytest.fixture(scope="module")
def maps(dataset):
    return {
        "PCA 2-D": lore.embed(dataset.features, "pca", 2),
        "All features": lore.embed(dataset.features, "identity"),
    }


def test_rows_and_the_kernel(dataset, maps):
    view = View(dataset, target=1, maps=maps)
    np.testing.assert_array_equal(view.target_rows.confidence, [0.1, 0.4, 0.7])
    np.testing.assert_array_equal(view.target_rows.outcome, [0, 1, 1])
    assert view.rows == "3 evaluation rows, target class dog"
    assert View(dataset).rows == "3 evaluation rows"
    assert View(dataset).target_name == "top-label"
    view = View(dataset, gamma=0.5, maps=maps)
    assert (view.is_local, view.map_name, view.embedding) == (True, "PCA 2-D", maps["PCA 2-D"])
    assert view.kernel_in_words == "γ = 0.5 on PCA 2-D"
    np.testing.assert_array_equal(view.points(), maps["PCA 2-D"].coordinates[[0, 2, 3]])
    other = maps["All features"]
    np.testing.assert_array_equal(view.points("calibration", on=other), other.coordinates[[1]])
    view = View(dataset)
    assert (view.is_local, view.map_name, view.points_if_any) == (False, "", None)
    assert view.settings()["gamma"] is None
    with pytest.raises(lore.InputError, match="must have features to say where"):
        view.points()


def test_options_are_those_of_the_functions(dataset, maps):
    view = View(dataset, gamma=0.3, n_bins=4, binning="equal-mass", maps=maps)
    c, a = view.target_rows.confidence, view.target_rows.outcome
    errors = lore.local_errors(c, a, view.points(), **view.local)
    assert (errors.gamma, errors.bins.n_bins) == (
        0.3,
        lore.data.confidence_bins(c, **view.bins).n_bins,
    )
    assert view.bins_in_words == "4 equal-mass bins"
    expected = {"data": "data", "evaluation_rows": 3, "calibration_rows": 1, "target": "class cat"}
    expected |= {"map": "PCA 2-D", "gamma": 0.2, "bins": 15, "binning": "equal-width", "seed": 3}
    assert View(dataset, target=0, maps=maps, seed=3).settings() == expected


CHANGES = {"target": 1, "gamma": 0.3, "n_bins": 4, "binning": "equal-mass", "maps": {}, "seed": 1}


@pytest.mark.parametrize("part", ALL_PARTS)
def test_the_key_changes_with_what_is_asked_of_it(dataset, maps, part):
    view = View(dataset, maps=maps)
    changed = view.with_(**{part: CHANGES[part]})
    others = [name for name in ALL_PARTS if name != part]
    assert changed.key() != view.key()
    assert changed.key(part) != view.key(part)
    assert changed.key(*others) == view.key(*others)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gamma": 0.0}, "'gamma' must be a finite number above 0; got 0"),
        ({"n_bins": 0}, r"'n_bins' must be a whole number in \[1, inf\); got 0"),
    ],
)
def test_settings_are_checked_first(dataset, change, message):
    with pytest.raises(lore.InputError, match=message):
        View(dataset, **change)


def test_a_map_of_other_rows(dataset, maps):
    few = lore.embed(np.eye(3), "pca", 2)
    with pytest.raises(lore.InputError, match="must hold all 4 rows of the dataset; got 3"):
        View(dataset, maps={"PCA 2-D": few})
    view = View(dataset, maps=maps)
    again = View(dataclasses.replace(dataset), maps=dict(maps))
    assert again is not view
    assert again.key() == view.key()
    assert hash(again.key()) == hash(view.key())
    renamed = dataclasses.replace(dataset, name="other")
    assert View(renamed, maps=maps).key("gamma") != view.key("gamma")
