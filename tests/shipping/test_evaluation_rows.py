import dataclasses
from io import BytesIO

import numpy as np
import pytest
from synthetic import found_in

from lore_core import GroupWise, Predictor, SmoothLoRe, embed
from lore_core.embedding import tsne
from lore_core.embedding.maps import NeighbourMap
from lore_core.recalibration import BoostingRecalibration
from lore_core.recalibration.registry import own_recalibrators
from lore_core.view import View
from lore_core.view.methods import comparison_of

MAPS = {
    "PCA": ("pca", {"n_components": 2}),
    "identity": ("identity", {}),
    "t-SNE": ("tsne", {"n_iter": 20}),
    "t-SNE of many features": ("tsne", {"n_iter": 20}),
    "UMAP": ("umap", {"n_epochs": 20}),
}
METHODS = [
    *own_recalibrators(0.3, 5),
    GroupWise(SmoothLoRe(gammas=[0.2, 0.8]), "region"),
    BoostingRecalibration(n_trees=5),
]
METHODS[-1].label = "Boosting, five trees"
LABELS = [method.label for method in METHODS]


#: (The first UMAP of a process compiles for seconds: all are made by one.)
MARKS = {"UMAP": pytest.mark.xdist_group("umap")}


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=MARKS.get(name, ())) for name in MAPS]
)
def view(request, make_rows):
    method, options = MAPS[request.param]
    rows = make_rows(300, 7)
    if request.param == "t-SNE of many features":
        random = np.random.default_rng(0)
        wide = rows.features @ random.normal(size=(5, 60)) + random.normal(size=(300, 60))
        rows = dataclasses.replace(rows, features=wide)
    rows = rows.with_split(0.5, random_state=0)
    # Sums of exactly 1, by which making a dataset once more changes no bit.
    vectors = np.round(rows.probabilities * 2**30) / 2**30
    vectors[:, 2] = 1.0 - vectors[:, 0] - vectors[:, 1]
    rows = dataclasses.replace(rows, probabilities=vectors)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tsne, "EARLY_ITERATIONS", 20)
        return View(
            rows, gamma=0.3, n_bins=5, maps={"map": embed(rows.features, method, **options)}
        )


def fitted_on(view):
    methods = [method.clone() for method in METHODS]
    return comparison_of(view, methods, {"n_draws": 0})


@pytest.fixture(scope="module")
def result(view):
    return fitted_on(view)


def numbers_of(view, split):
    rows, embedding = view.dataset.in_split(split), view.embedding
    part = view.dataset.rows(rows)
    tables = [
        part.features,
        part.probabilities,
        embedding.coordinates[rows],
        embedding.coordinates[rows] * embedding.scale_factors,
        view.as_new(embedding).coordinates if split == "evaluation" else part.features,
    ]
    if isinstance(embedding.projection, NeighbourMap):
        tables += [embedding.projection.points[rows], embedding.projection.places[rows]]
    return np.unique(np.concatenate([np.ravel(table) for table in tables]))


def numbers_in(content):
    with np.load(BytesIO(content), allow_pickle=False) as file:
        arrays = [file[name] for name in file.files if name != "header.json"]
    flat = [array.ravel() for array in arrays if array.dtype.kind == "f"]
    return np.concatenate([[], *flat])


@pytest.mark.parametrize("label", LABELS)
def test_no_number_of_an_evaluation_row_is_in_the_file(label, view, result):
    method = result.recalibrators[label]
    held = numbers_in(method.to_bytes())
    calibration = numbers_of(view, "calibration")
    # (UMAP's coordinates have 32 bits: rows of both halves can have the same one.)
    evaluation = np.setdiff1d(numbers_of(view, "evaluation"), calibration)
    for split, of_rows, there in (
        ("evaluation", evaluation, False),
        ("calibration", calibration, method.needs_embedding),
    ):
        found = found_in(of_rows, held)
        # Calibration rows are found, or the search would be worth nothing.
        if split == "evaluation" or there:
            assert bool(len(found)) == there, (split, found)


@pytest.mark.parametrize("label", LABELS)
def test_other_evaluation_rows_give_the_same_file(label, result, of_other_rows):
    """What the map made of all rows together is kept; all that is of evaluation rows is another."""
    assert of_other_rows.recalibrators[label].to_bytes() == result.recalibrators[label].to_bytes()


@pytest.fixture(scope="module")
def of_other_rows(view):
    random = np.random.default_rng(1)
    rows = view.dataset.in_split("evaluation")

    def with_others(array):
        changed = np.array(array)
        changed[rows] = random.permuted(changed[rows], axis=0)[::-1] + random.normal()
        return changed

    embedding = view.embedding
    made = embedding.projection
    if isinstance(made, NeighbourMap):
        made = dataclasses.replace(
            made, points=with_others(made.points), places=with_others(made.places)
        )
    vectors, labels = np.array(view.dataset.probabilities), np.array(view.dataset.labels)
    vectors[rows], labels[rows] = vectors[rows][::-1], 0
    dataset = dataclasses.replace(
        view.dataset,
        probabilities=vectors,
        labels=labels,
        features=with_others(view.dataset.features),
    )
    other = dataclasses.replace(
        embedding, coordinates=with_others(embedding.coordinates), projection=made
    )
    return fitted_on(view.with_(dataset=dataset, maps={"map": other}))


@pytest.mark.parametrize("label", LABELS)
def test_what_is_shipped_is_what_was_measured(label, view, result):
    predictor = Predictor.load(result.recalibrators[label].to_bytes())
    rows = view.evaluation
    found = predictor.predict(rows.probabilities, rows.features, rows.groups)
    np.testing.assert_allclose(found, result.datasets[label].probabilities, atol=1e-9)
