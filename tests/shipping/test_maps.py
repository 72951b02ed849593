import dataclasses

import numpy as np
import pytest

from lore_core import InputError, LoRe, Predictor, TemperatureScaling, embed, load_recalibrator
from lore_core.embedding import tsne


@pytest.fixture(autouse=True)
def few_iterations(monkeypatch):
    for name, value in {"EARLY_ITERATIONS": 5, "N_THREADS": 1}.items():
        monkeypatch.setattr(tsne, name, value)


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
    again = load_recalibrator(content).fitted_on_.feature_maps[None]
    some = new.features[:100]
    assert np.array_equal(again.transform(some), made.transform(some))
    assert load_recalibrator(content).to_bytes() == content
    assert Predictor.load(content).predict(new.probabilities[:100], some).shape == (100, 3)


def test_tsne_with_reduced_features(make_rows):
    """More than 50 features: neighbours among principal components."""
    rows = make_rows(100, 5)
    random = np.random.default_rng(0)
    wide = rows.features @ random.normal(size=(5, 60)) + random.normal(size=(100, 60))
    made = embed(wide, "tsne", n_iter=5)
    content = LoRe(0.3).fit(rows, made).to_bytes()
    again = load_recalibrator(content).fitted_on_.feature_maps[None]
    some = wide[:50] + 0.1
    assert np.array_equal(again.transform(some), made.transform(some))


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


def test_plain_coordinates(calibration, new):
    method = LoRe(0.3).fit(calibration, calibration.features[:, :2])
    predictor = Predictor.load(method.to_bytes())
    with pytest.raises(InputError, match="fitted on plain coordinates"):
        predictor.predict(new.probabilities, new.features)
    assert predictor.predict(new.probabilities, coordinates=new.features[:, :2]).shape == (900, 3)


def test_the_map_given_when_it_is_saved(calibration, new):
    two, all_ = embed(calibration.features), embed(calibration.features, "identity")
    expected = Predictor.load(LoRe(0.3).fit(calibration, two).to_bytes())
    method = LoRe(0.3).fit(calibration, two.coordinates)
    for maps in (two, {"any": two}):
        found = Predictor.load(method.to_bytes(maps=maps))
        np.testing.assert_array_equal(
            found.predict(new.probabilities, new.features),
            expected.predict(new.probabilities, new.features),
        )
    named = LoRe(0.3).fit(calibration, {"a": all_.coordinates, "b": two.coordinates})
    assert Predictor.load(named.to_bytes(maps={"b": two, "a": all_})).needs_features
    with pytest.raises(InputError, match="'maps' must hold the map 'a'"):
        named.to_bytes(maps={"b": two})
    with pytest.raises(InputError, match="'maps' must be True, False, an Embedding"):
        method.to_bytes(maps=two.coordinates)


def test_a_map_of_other_rows_is_refused(calibration, new):
    """The maps given may be drawn from evaluation rows too; those are not to be shipped."""
    both = embed(np.vstack([calibration.features, new.features[:50]]), "tsne", n_iter=5)
    method = LoRe(0.3).fit(calibration, both.coordinates[:400])
    with pytest.raises(InputError, match=r"the t-SNE 2-D map must hold the 400 calibration rows"):
        method.to_bytes(maps=both)
    assert Predictor.load(method.to_bytes(maps=both.rows(slice(0, 400)))).needs_features
