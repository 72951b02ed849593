import dataclasses
import json
import zipfile
from io import BytesIO

import numpy as np
import pytest
from synthetic import found_in

import lore_core as lore
from lore_core.embedding import learned_maps
from lore_core.embedding.result import NeighbourMap
from lore_core.recalibration import BoostingRecalibration
from lore_core.recalibration.registry import offered_recalibrators
from lore_core.shipping import describe
from lore_core.view import View
from lore_core.view.methods import comparison_of

METHODS = {method.label: method for method in offered_recalibrators(0.3, 5)} | {
    "histogram, equal mass": lore.HistogramBinning(6, "equal-mass"),
    "lore, equal mass": lore.LoRe(0.2, 7, "equal-mass"),
    "boosting, five trees": BoostingRecalibration(n_trees=5),
}


@pytest.fixture(scope="module", params=["pca", "identity", "tsne", "reduced"])
def fitted_on(request, make_rows):
    rows = make_rows(400, 1)
    if request.param in ("pca", "identity"):
        return rows, lore.embed(rows.features, request.param)
    if request.param == "reduced":
        rows = of_many_features(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learned_maps, "EARLY_ITERATIONS", 5)
        return rows, lore.embed(rows.features, "tsne", n_iter=5)


@pytest.fixture(scope="module", params=METHODS)
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
    listed = [array for _, array in mentions]
    assert {array for _, array in mentions} == set(arrays)
    assert sum(item.n_bytes for item in contents.held) == sum(arrays[a].nbytes for a in listed)


def numbers_of(dataset, embedding, rows=slice(None), *more):
    """Return all numbers of some rows, sorted: their own, and what the map knows of them."""
    tables = [dataset.features[rows], dataset.probabilities[rows], embedding.coordinates[rows]]
    if embedding.known_rows:
        tables += [embedding.projection.points[rows], embedding.projection.places[rows]]
    return np.unique(np.concatenate([np.ravel(table) for table in (*tables, *more)]))


def readable(content, of_rows):
    flat = [array.ravel() for array in opened(content)[1].values() if array.dtype.kind == "f"]
    return len(found_in(of_rows, np.concatenate([[], *flat]))) > 0


def of_many_features(rows):
    random, n = np.random.default_rng(0), len(rows)
    wide = rows.features @ random.normal(size=(5, 60)) + random.normal(size=(n, 60))
    return dataclasses.replace(rows, features=wide)


def test_single_rows_are_readable_where_it_says_so(method, fitted_on):
    of_rows = numbers_of(*fitted_on)
    content = method.to_bytes()
    contents = describe(content)
    if method.label == "Histogram binning" and method.binning == "equal-width":
        # No number of a row is in it, yet a bin of one row says its outcome.
        assert contents.single_rows == (1 in method.count_)
    else:
        assert contents.single_rows == readable(content, of_rows)
    content = method.to_bytes(rows=False)
    contents = describe(content)
    assert not readable(content, of_rows)
    assert not contents.single_rows
    assert "No single row can be read from the file" in contents.sentence
    assert (contents.smallest_cell is not None) == method.needs_embedding
    if method.needs_embedding:
        assert contents.smallest_cell >= 10


MAPS = {
    "PCA": ("pca", {"n_components": 2}),
    "t-SNE of many features": ("tsne", {"n_iter": 20}),
    "UMAP": ("umap", {"n_epochs": 20}),
}
COMPARED = [*offered_recalibrators(0.3, 5), BoostingRecalibration(n_trees=5)]
COMPARED[-1].label = "Boosting, five trees"

#: (The first UMAP of a process compiles for seconds: all are made by one.)
MARKS = {"UMAP": pytest.mark.xdist_group("umap")}


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=MARKS.get(name, ())) for name in MAPS]
)
def view(request, make_rows):
    method, options = MAPS[request.param]
    rows = make_rows(300, 7)
    if request.param == "t-SNE of many features":
        rows = of_many_features(rows)
    rows = rows.with_split(0.5, random_state=0)
    # Sums of exactly 1, by which making a dataset once more changes no bit.
    vectors = np.round(rows.probabilities * 2**30) / 2**30
    vectors[:, 2] = 1.0 - vectors[:, 0] - vectors[:, 1]
    rows = dataclasses.replace(rows, probabilities=vectors)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learned_maps, "EARLY_ITERATIONS", 20)
        made = lore.embed(rows.features, method, **options)
    return View(rows, gamma=0.3, n_bins=5, maps={"map": made})


def compared(view):
    """All methods; on maps other than PCA only those that work on a map."""
    is_first = view.embedding.method == "pca"
    methods = [method.clone() for method in COMPARED if is_first or method.needs_embedding]
    return comparison_of(view, methods, {"n_draws": 0})


@pytest.fixture(scope="module")
def result(view):
    return compared(view)


@pytest.fixture(scope="module")
def numbers(view):
    """All numbers of calibration rows, and those of evaluation rows that are none of them."""
    made, found = view.embedding, []
    for split in ("calibration", "evaluation"):
        rows = view.dataset.in_split(split)
        more = [made.coordinates[rows] * made.scale_factors]
        if split == "evaluation":
            more.append(view.as_new(made).coordinates)
        found.append(numbers_of(view.dataset, made, rows, *more))
    # (UMAP's coordinates have 32 bits: rows of both halves can have the same one.)
    return found[0], np.setdiff1d(found[1], found[0])


def test_no_number_of_an_evaluation_row_is_in_the_file(result, numbers):
    calibration, evaluation = numbers
    for label, method in result.recalibrators.items():
        assert not readable(method.to_bytes(), evaluation), label
        # Calibration rows are found, or the search would be worth nothing.
        assert readable(method.to_bytes(), calibration) or not method.needs_embedding, label


def test_the_file_of_other_evaluation_rows_is_the_same_and_what_was_measured(
    view, result, of_other_rows
):
    """What the map made of all rows together is kept; all that is of evaluation rows is another."""
    rows = view.evaluation
    for label, method in result.recalibrators.items():
        assert of_other_rows.recalibrators[label].to_bytes() == method.to_bytes(), label
        predictor, expected = lore.Predictor.load(method.to_bytes()), result.datasets[label]
        found = predictor.predict(rows.probabilities, rows.features)
        np.testing.assert_allclose(found, expected.probabilities, atol=1e-9, err_msg=label)


@pytest.fixture(scope="module")
def of_other_rows(view):
    random = np.random.default_rng(1)
    rows = view.dataset.in_split("evaluation")

    def with_others(array):
        changed = np.array(array)
        changed[rows] = random.permuted(changed[rows], axis=0)[::-1] + random.normal()
        return changed

    embedding, replace = view.embedding, dataclasses.replace
    made = embedding.projection
    if isinstance(made, NeighbourMap):
        made = replace(made, points=with_others(made.points), places=with_others(made.places))
    vectors, labels = np.array(view.dataset.probabilities), np.array(view.dataset.labels)
    vectors[rows], labels[rows] = vectors[rows][::-1], 0
    features = with_others(view.dataset.features)
    dataset = replace(view.dataset, probabilities=vectors, labels=labels, features=features)
    other = replace(embedding, coordinates=with_others(embedding.coordinates), projection=made)
    return compared(view.with_(dataset=dataset, maps={"map": other}))
