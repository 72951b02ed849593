import json
import zipfile
from io import BytesIO

import numpy as np
import pandas as pd
import pytest

from lore_core import (
    Dataset,
    GroupWise,
    HistogramBinning,
    InputError,
    LoRe,
    PlattScaling,
    Predictor,
    SmoothLoRe,
    TemperatureScaling,
    embed,
    load_recalibrator,
)
from lore_core.recalibration import BoostingRecalibration, MCGrad
from lore_core.recalibration.registry import own_recalibrators

METHODS = {method.label: method for method in own_recalibrators(0.3, 5)} | {
    "histogram, equal mass": HistogramBinning(6, "equal-mass"),
    "lore with all options": LoRe(
        0.2, 7, "equal-mass", floor=True, prior_strength=3.0, base=PlattScaling(), feature_map="all"
    ),
    "lore toward its bin": LoRe(0.2, 4, prior_strength=2),
    "lore toward its base alone": LoRe(0.2, prior_strength=np.inf, base=TemperatureScaling()),
    "boosting, five trees": BoostingRecalibration(n_trees=5),
    "temperature by group": GroupWise(TemperatureScaling(), "region"),
    "lore by group": GroupWise(LoRe(0.3, 5)),
    "smooth by group": GroupWise(SmoothLoRe(gammas=[0.2, 0.8])),
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
    found = predictor.predict(given, rows.features, rows.groups)
    assert np.array_equal(found, expected)
    unsaved = Predictor(method).predict(given, rows.features, rows.groups)
    assert np.array_equal(unsaved, expected)
    features = rows.features if method.needs_features else None
    placed = predictor.predict(given, features, rows.groups["region"], coordinates=points)
    assert np.array_equal(placed, expected)


def test_candidates_of_lore_smooth(calibration, maps):
    method = SmoothLoRe(gammas=[0.2, 0.8]).fit(calibration, maps)
    again = load_recalibrator(method.to_bytes())
    pd.testing.assert_frame_equal(again.candidates_, method.candidates_, check_dtype=False)
    assert again.line_ == method.line_


def test_one_calibration_row(calibration, new):
    one = calibration.rows(slice(0, 1))
    method = SmoothLoRe().fit(one, embed(calibration.features, "identity").rows(slice(0, 1)))
    found = Predictor.load(method.to_bytes()).predict(new.probabilities, new.features)
    np.testing.assert_allclose(found, new.probabilities, atol=1e-15)


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


def test_two_classes_by_one_column(calibration):
    two = Dataset(calibration.probabilities[:, 0], (calibration.labels == 0).astype(int))
    method = PlattScaling().fit(two)
    found = Predictor.load(method.to_bytes()).predict(calibration.probabilities[:, 0])
    np.testing.assert_allclose(found, method.recalibrate(two).probabilities, atol=1e-15)


def test_header_says_what_it_is(calibration, maps):
    content = LoRe(0.3).fit(calibration, maps).to_bytes()
    with zipfile.ZipFile(BytesIO(content)) as archive:
        header = json.loads(archive.read("header.json"))
        others = [name for name in archive.namelist() if name != "header.json"]
    assert header["format"] == "lore-recalibrator"
    assert header["schema"] == 1
    assert header["method"]["recalibrator"]["class"] == "LoRe"
    assert header["method"]["recalibrator"]["calibration_rows"] == 400
    assert header["class_names"] == ["ash", "birch", "cedar"]
    assert header["feature_names"] == [f"f_{k}" for k in range(5)]
    (only,) = header["feature_maps"]
    assert only["object"]["name"] == "two"
    assert only["object"]["map"]["Embedding"]["method"] == "pca"
    arrays = np.load(BytesIO(content), allow_pickle=False)
    assert all(arrays[name.removesuffix(".npy")].dtype.kind in "fiuUb" for name in others)


def test_what_cannot_be_saved(calibration, tmp_path):
    class Mine(TemperatureScaling):
        pass

    with pytest.raises(InputError, match="TemperatureScaling must be fitted before"):
        TemperatureScaling().to_bytes()
    with pytest.raises(InputError, match="MCGrad cannot be saved: what it fitted"):
        MCGrad().to_bytes()
    with pytest.raises(InputError, match="Mine cannot be saved"):
        Mine().fit(calibration).to_bytes()
    with pytest.raises(InputError, match="Mine cannot be saved"):
        GroupWise(Mine()).fit(calibration).to_bytes()
    with pytest.raises(InputError, match="the directory of .* must exist"):
        TemperatureScaling().fit(calibration).save(tmp_path / "no" / "m.lore")
