import dataclasses

import numpy as np
import pytest

from lore_core import (
    Dataset,
    HistogramBinning,
    InputError,
    LoRe,
    PlattScaling,
    Predictor,
    TemperatureScaling,
    embed,
    load_recalibrator,
)
from lore_core.embedding import learned_maps
from lore_core.recalibration import BoostingRecalibration
from lore_core.recalibration.registry import offered_recalibrators

METHODS = {method.label: method for method in offered_recalibrators(0.3, 5)} | {
    "histogram, equal mass": HistogramBinning(6, "equal-mass"),
    "lore with all options": LoRe(0.2, 7, "equal-mass", feature_map="all"),
    "boosting, five trees": BoostingRecalibration(n_trees=5),
}


@pytest.fixture(scope="module")
def maps(calibration):
    return {
        "two": embed(calibration.features, "pca", 2),
        "all": embed(calibration.features, "identity"),
    }


@pytest.mark.parametrize("name", METHODS)
def test_every_method(name, calibration, as_given, maps):
    given, rows = as_given
    method = METHODS[name].clone()
    method.fit(calibration, maps if method.needs_embedding else None)
    points = {key: item.transform(rows.features) for key, item in maps.items()}
    expected = method.recalibrate(rows, points).probabilities
    content = method.to_bytes()

    again = load_recalibrator(content)
    assert type(again) is type(method)
    assert (again.label, again.n_rows_) == (method.label, 400)
    assert np.array_equal(again.recalibrate(rows, points).probabilities, expected)
    assert again.to_bytes() == content == method.to_bytes()

    predictor = Predictor.load(content)
    found = predictor.predict(given, rows.features)
    assert np.array_equal(found, expected)
    unsaved = Predictor(method).predict(given, rows.features)
    assert np.array_equal(unsaved, expected)
    features = rows.features if method.needs_features else None
    placed = predictor.predict(given, features, coordinates=points)
    assert np.array_equal(placed, expected)


def test_predicted_classes_that_are_not_the_most_probable(calibration, new):
    method = LoRe(0.5, 3).fit(calibration, embed(calibration.features, "identity"))
    predictions = np.zeros(len(new), dtype=np.int64)
    rows = Dataset(
        new.probabilities, new.labels, predictions=predictions, class_names=new.class_names
    )
    map_ = embed(calibration.features, "identity")
    expected = method.recalibrate(rows, map_.transform(new.features)).probabilities
    found = Predictor.load(method.to_bytes()).predict(
        new.probabilities, new.features, predictions=predictions
    )
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15)
    two = Dataset(calibration.probabilities[:, 0], (calibration.labels == 0).astype(int))
    method = PlattScaling().fit(two)
    found = Predictor.load(method.to_bytes()).predict(calibration.probabilities[:, 0])
    np.testing.assert_allclose(found, method.recalibrate(two).probabilities, atol=1e-15)


def test_what_cannot_be_saved(calibration, tmp_path):
    class Mine(TemperatureScaling):
        pass

    with pytest.raises(InputError, match="TemperatureScaling must be fitted before"):
        TemperatureScaling().to_bytes()
    with pytest.raises(InputError, match="Mine cannot be saved: a file does not hold its code"):
        Mine().fit(calibration).to_bytes()
    with pytest.raises(InputError, match="the directory of .* must exist"):
        TemperatureScaling().fit(calibration).save(tmp_path / "no" / "m.lore")


@pytest.fixture(autouse=True)
def few_iterations(monkeypatch):
    for name, value in {"EARLY_ITERATIONS": 5, "N_THREADS": 1}.items():
        monkeypatch.setattr(learned_maps, name, value)


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("pca", {"n_components": 3}),
        ("pca", {"scale": "unit"}),
        ("identity", {}),
        ("identity", {"scale": "none"}),
        ("tsne", {"n_iter": 5}),
        ("tsne", {"n_iter": 5, "n_components": 3, "random_state": 4}),
    ],
)
def test_the_same_places(method, options, calibration, new):
    made = embed(calibration.features, method, **options)
    content = LoRe(0.3).fit(calibration, made).to_bytes()
    again = load_recalibrator(content).fitted_on_.feature_maps[0]["map"]
    some = new.features[:100]
    assert np.array_equal(again.transform(some), made.transform(some))
    assert load_recalibrator(content).to_bytes() == content
    assert Predictor.load(content).predict(new.probabilities[:100], some).shape == (100, 3)


def test_a_map_that_is_none_of_ours_is_refused(calibration, new):
    two = embed(calibration.features)

    class Given:
        def place(self, features, progress=None):
            return two.projection.place(features)

    made = dataclasses.replace(two, method="own", projection=Given())
    method = LoRe(0.3).fit(calibration, made)
    with pytest.raises(InputError, match="a map of type Given cannot be applied to new rows"):
        method.to_bytes()
    predictor = Predictor.load(method.to_bytes(maps=False))
    with pytest.raises(InputError, match="'coordinates' must be given"):
        predictor.predict(new.probabilities, new.features)
    places = made.transform(new.features)
    np.testing.assert_allclose(
        predictor.predict(new.probabilities, coordinates=places),
        method.recalibrate(new, places).probabilities,
        atol=1e-15,
    )
    assert TemperatureScaling().fit(calibration, made).to_bytes()
    plain = LoRe(0.3).fit(calibration, calibration.features[:, :2])
    predictor = Predictor.load(plain.to_bytes())
    with pytest.raises(InputError, match="holds no map"):
        predictor.predict(new.probabilities, new.features)
    assert predictor.predict(new.probabilities, coordinates=new.features[:, :2]).shape == (900, 3)
