import numpy as np
import pytest

from lore_core.embedding import embed
from lore_core.embedding.result import N_NEIGHBOURS, LinearMap, NeighbourMap


def placed_by_hand(points, places, row):
    distance = np.sqrt(((points - row) ** 2).sum(axis=1))
    order = np.argsort(distance)
    reach = distance[order[N_NEIGHBOURS]]
    total, weights = np.zeros(places.shape[1]), 0.0
    for near in order[:N_NEIGHBOURS]:
        weight = ((reach - distance[near]) / (reach * distance[near])) ** 2
        total, weights = total + weight * places[near], weights + weight
    return total / weights


@pytest.mark.parametrize("far", [0.0, 1e4])
def test_the_formula(far):
    random = np.random.default_rng(0)
    points, places = random.normal(size=(40, 3)) + far, random.normal(size=(40, 2))
    rows = random.normal(size=(9, 3)) + far
    expected = [placed_by_hand(points, places, row) for row in rows]
    np.testing.assert_allclose(NeighbourMap(points, places).place(rows), expected, rtol=1e-9)


def test_known_rows_few_rows_and_a_reduction():
    random = np.random.default_rng(1)
    points, places = random.normal(size=(30, 3)), random.normal(size=(30, 2))
    points[1] = points[0]  # two at one point share the place between theirs
    found = NeighbourMap(points, places).place(points)
    np.testing.assert_array_equal(found[2:], places[2:])
    np.testing.assert_allclose(found[:2], [places[:2].mean(axis=0)] * 2)
    random = np.random.default_rng(2)
    for n in (1, 2, 5):
        points, places = random.normal(size=(n, 3)), random.normal(size=(n, 2))
        found = NeighbourMap(points, places).place(random.normal(size=(4, 3)))
        assert (found >= places.min(axis=0) - 1e-12).all()
        assert (found <= places.max(axis=0) + 1e-12).all()
    points, places = np.vstack([np.eye(9), -np.eye(9)]), np.arange(36.0).reshape(18, 2)
    assert np.isfinite(NeighbourMap(points, places).place(np.zeros((1, 9)))).all()
    random = np.random.default_rng(3)
    features, places = random.normal(size=(30, 5)), random.normal(size=(30, 2))
    axes = LinearMap(features.mean(axis=0), np.linalg.qr(random.normal(size=(5, 2)))[0].T)
    new = random.normal(size=(6, 5))
    found = NeighbourMap(axes.place(features), places, axes).place(new)
    expected = NeighbourMap(axes.place(features), places).place(axes.place(new))
    np.testing.assert_array_equal(found, expected)


@pytest.fixture(scope="module", params=[("tsne", {"n_iter": 20}), ("pca", {}), ("identity", {})])
def made(request, clusters):
    method, options = request.param
    return embed(clusters, method, **options)


def test_rows_as_new_are_where_a_map_of_the_others_places_them(made, clusters):
    among = np.arange(120) % 2 == 0
    expected = made.rows(among).transform(clusters[~among])
    found = made.as_new(~among, among=among)
    np.testing.assert_allclose(found.coordinates, expected, atol=1e-9)
    assert found.label == made.label
    assert found.known_rows == (60 if made.method == "tsne" else 0)
    # On the map itself they lie elsewhere, if it is a learned one.
    same = np.allclose(found.coordinates, made.coordinates[~among], atol=1e-9)
    assert same == (made.method != "tsne")
    part = made.rows(slice(0, 50))
    np.testing.assert_allclose(part.transform(clusters[:50]), part.coordinates, atol=1e-12)
    if made.method == "tsne":
        assert part.known_rows == len(part.projection.points) == len(part.projection.places) == 50
