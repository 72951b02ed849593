import dataclasses
import json
import zipfile
from io import BytesIO

import numpy as np
import pytest
from synthetic import found_in

from lore_core import (
    GroupWise,
    HistogramBinning,
    IsotonicRegression,
    LoRe,
    PlattScaling,
    TemperatureScaling,
    embed,
)
from lore_core.embedding import tsne
from lore_core.recalibration import BoostingRecalibration
from lore_core.recalibration.registry import own_recalibrators
from lore_core.shipping import describe

METHODS = {method.label: method for method in own_recalibrators(0.3, 5)} | {
    "histogram, equal mass": HistogramBinning(6, "equal-mass"),
    "lore, equal mass": LoRe(0.2, 7, "equal-mass", base=PlattScaling()),
    "boosting, five trees": BoostingRecalibration(n_trees=5),
    "temperature by group": GroupWise(TemperatureScaling()),
    "isotonic by group": GroupWise(IsotonicRegression()),
    "lore by group": GroupWise(LoRe(0.3, 5)),
}


@pytest.fixture(scope="module", params=["pca", "identity", "tsne", "reduced"])
def fitted_on(request, make_rows):
    rows = make_rows(400, 1)
    if request.param == "reduced":
        random = np.random.default_rng(0)
        wide = rows.features @ random.normal(size=(5, 60)) + random.normal(size=(400, 60))
        rows = dataclasses.replace(rows, features=wide)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tsne, "EARLY_ITERATIONS", 5)
        if request.param in ("pca", "identity"):
            return rows, embed(rows.features, request.param)
        return rows, embed(rows.features, "tsne", n_iter=5)


@pytest.fixture(params=METHODS)
def method(request, fitted_on):
    rows, embedding = fitted_on
    made = METHODS[request.param].clone()
    return made.fit(rows, embedding if made.needs_embedding else None)


def opened(content):
    with zipfile.ZipFile(BytesIO(content)) as archive:
        header = json.loads(archive.read("header.json"))
    with np.load(BytesIO(content), allow_pickle=False) as file:
        return header, {name: file[name] for name in file.files if name != "header.json"}


def named(value, name=""):
    if isinstance(value, list):
        return [found for item in value for found in named(item, name)]
    if not isinstance(value, dict):
        return []
    if set(value) == {"array"}:
        return [(name, value["array"])]
    return [found for key, item in value.items() for found in named(item, key)]


def test_every_byte_of_every_array_is_listed(method):
    header, arrays = opened(method.to_bytes())
    contents = describe(method.to_bytes())
    mentions = named(header["method"]) + named(header["feature_maps"])
    # Without a base what is left over are the outcomes: one array, listed once.
    outcomes = {array for name, array in mentions if name == "outcome"}
    listed = [a for name, a in mentions if not (name == "leftover" and a in outcomes)]
    assert {array for _, array in mentions} == set(arrays)
    assert sum(item.n_bytes for item in contents.held) == sum(arrays[a].nbytes for a in listed)


def numbers_of(rows, embedding):
    tables = [rows.features, rows.probabilities, embedding.coordinates]
    if embedding.known_rows:
        tables += [embedding.projection.points, embedding.projection.places]
    return np.unique(np.concatenate([table.ravel() for table in tables]))


def readable(content, of_rows):
    flat = [array.ravel() for array in opened(content)[1].values() if array.dtype.kind == "f"]
    return len(found_in(of_rows, np.concatenate([[], *flat]))) > 0


def test_single_rows_are_readable_where_it_says_so(method, fitted_on):
    of_rows = numbers_of(*fitted_on)
    content = method.to_bytes()
    contents = describe(content)
    by_group = isinstance(method, GroupWise)
    if method.label == "Histogram binning" and method.binning == "equal-width":
        # No number of a row is in it, yet a bin of one row says its outcome.
        assert contents.single_rows == (1 in method.count_)
    else:
        assert contents.single_rows == (
            readable(content, of_rows) or (by_group and 1 in method.sizes_)
        )
    if by_group and not isinstance(method.recalibrator, TemperatureScaling):
        return
    content = method.to_bytes(rows=False)
    contents = describe(content)
    assert not readable(content, of_rows)
    assert not contents.single_rows
    assert "No single row can be read from the file" in contents.sentence
    assert (contents.smallest_cell is not None) == method.needs_embedding
    if method.needs_embedding:
        assert contents.smallest_cell >= 10


def test_in_words(calibration):
    method = LoRe(0.3, 5, "equal-mass", base=PlattScaling())
    made = embed(calibration.features)
    table = describe(method.fit(calibration, made).to_bytes()).table()
    assert list(zip(*table.values(), strict=True)) == [
        ("bandwidth and other settings", "", "", "no"),
        ("edges of confidence bins, some of them confidences of single rows", "6", "0.1 kB", "yes"),
        ("places of 400 calibration rows on the map", "400 × 2", "6.4 kB", "yes"),
        ("confidence bins of 400 calibration rows", "400", "3.2 kB", "yes"),
        ("outcomes (right or wrong) of 400 calibration rows", "400", "3.2 kB", "yes"),
        (
            "outcomes of 400 calibration rows, less what a global method says of them",
            "400",
            "3.2 kB",
            "yes",
        ),
        ("Platt scaling, a part of it: slope and intercept of a curve", "", "", "no"),
        ("scale of PCA 2-D, from sums over all rows the map was made of", "2", "0.1 kB", "no"),
        (
            "centre and axes of 2 principal components of 5 features, from sums over all rows the "
            "map was made of",
            "3 × 5",
            "0.1 kB",
            "no",
        ),
        ("names of classes (3) and features (5) and columns of groups (1)", "", "", "no"),
    ]
