import numpy as np
import pytest

from lore_core.data.progress import Cancelled
from lore_core.embedding import embed, tsne

SHORT = {"n_iter": 100, "perplexity": 10}


@pytest.fixture(scope="module")
def embedding(clusters):
    return embed(clusters, "tsne", **SHORT)


def test_unit_scale(embedding):
    assert embedding.label == "t-SNE 2-D, unit scale"
    np.testing.assert_allclose(embedding.coordinates.std(axis=0), 1.0)


def test_clusters_stay_together(embedding):
    groups = embedding.coordinates.reshape(3, 40, 2)
    centres = groups.mean(axis=1)
    within = np.linalg.norm(groups - centres[:, None], axis=2).max()
    between = min(np.linalg.norm(centres[i] - centres[j]) for i, j in ((0, 1), (0, 2), (1, 2)))
    assert within < between / 2


def test_same_seed_same_map(clusters, embedding):
    assert embed(clusters, "tsne", **SHORT).digest == embedding.digest


def test_new_rows_land_near_their_own_kind(clusters, others, embedding):
    placed = embedding.transform(others)
    distance = np.linalg.norm(placed - embedding.coordinates, axis=1)
    assert np.median(distance) < 0.1  # the map's own deviation is 1
    nearest = np.linalg.norm(placed[:, None] - embedding.coordinates[None], axis=2).argmin(axis=1)
    np.testing.assert_array_equal(nearest // 40, np.arange(120) // 40)


def test_progress_counts_iterations(clusters):
    seen: list[tuple[float, str]] = []
    embed(clusters, "tsne", progress=lambda f, message: seen.append((f, message)), **SHORT)
    fractions = [fraction for fraction, _ in seen]
    assert fractions == sorted(fractions)
    assert fractions[0] == 0
    assert seen[-1] == (1.0, "done")
    assert "iteration 120 of 350" in [message for _, message in seen]


@pytest.mark.parametrize("stop_at", [0.0, 0.1, 0.5, 0.9])
def test_cancel(clusters, stop_at):
    last = []

    def progress(fraction, message):
        last.append(fraction)
        if fraction >= stop_at:
            raise Cancelled

    with pytest.raises(Cancelled):
        embed(clusters, "tsne", progress=progress, **SHORT)
    assert last[-1] < stop_at + 0.05


def test_cancel_while_placing_rows(clusters):
    def progress(fraction, message):
        if message.startswith("placing"):
            raise Cancelled

    with pytest.raises(Cancelled):
        embed(clusters, "tsne", progress=progress, max_fit_rows=60, **SHORT)


def test_three_dimensions_with_transform(clusters, others):
    embedding = embed(clusters, "tsne", 3, **SHORT)
    assert embedding.label == "t-SNE 3-D, unit scale"
    np.testing.assert_allclose(embedding.coordinates.std(axis=0), 1.0)
    distance = np.linalg.norm(embedding.transform(others) - embedding.coordinates, axis=1)
    assert np.median(distance) < 0.2


def nearest_of_three(coordinates):
    """By row, to which of three clusters of equal size, one after the other, it is nearest."""
    centres = coordinates.reshape(3, -1, 2).mean(axis=1)
    return np.linalg.norm(coordinates[:, None] - centres, axis=2).argmin(axis=1)


def test_many_rows_are_fitted_in_part_and_placed(clusters):
    embedding = embed(clusters, "tsne", max_fit_rows=60, **SHORT)
    assert (embedding.fitted_rows, embedding.total_rows) == (60, 120)
    assert "fitted on 60 of 120 rows, the rest placed by transform" in embedding.description
    np.testing.assert_allclose(embedding.coordinates.std(axis=0), 1.0)
    np.testing.assert_array_equal(nearest_of_three(embedding.coordinates), np.arange(120) // 40)
    # The words survive a selection of rows: they tell about the map.
    assert "fitted on 60 of 120 rows" in embedding.rows(slice(0, 5)).description


def test_all_rows_are_fitted_by_default_and_with_none(clusters, embedding):
    assert embedding.fitted_rows == 120
    assert "placed by transform" not in embedding.description
    assert embed(clusters, "tsne", max_fit_rows=None, **SHORT).digest == embedding.digest


def test_few_rows_lower_the_perplexity(clusters):
    embedding = embed(clusters[:10], "tsne", n_iter=20)
    assert "perplexity 3;" in embedding.description + ";"
    assert np.isfinite(embedding.coordinates).all()
    assert np.isfinite(embedding.transform(clusters[20:22])).all()


def test_many_features_are_reduced_before_neighbours_are_searched():
    features = np.random.default_rng(0).normal(size=(80, 55))
    embedding = embed(features, "tsne", n_iter=20)
    assert "neighbours among 50 principal components" in embedding.description
    assert embedding.transform(features[:3]).shape == (3, 2)


def test_duplicates_are_fine(clusters):
    embedding = embed(np.repeat(clusters[::10], 10, axis=0), "tsne", **SHORT)
    assert np.isfinite(embedding.coordinates).all()


@pytest.mark.parametrize("n_components", [2, 3])
def test_fewer_features_than_dimensions(n_components):
    features = np.random.default_rng(0).normal(size=(60, n_components - 1))
    embedding = embed(features, "tsne", n_components, **SHORT)
    np.testing.assert_allclose(embedding.coordinates.std(axis=0), 1.0)


@pytest.mark.slow
def test_interpolated_gradient_agrees_with_itself_and_places_rows(monkeypatch):
    # Above 5,000 rows another method computes the gradient, and neighbours are approximate.
    monkeypatch.setattr(tsne, "EARLY_ITERATIONS", 50)
    rng = np.random.default_rng(0)
    features = np.repeat(8.0 * np.eye(3), 1_700, axis=0) + rng.normal(size=(5_100, 3))
    options = {"n_iter": 50, "max_fit_rows": 5_050}
    first = embed(features, "tsne", **options)
    assert first.digest == embed(features, "tsne", **options).digest
    assert (first.fitted_rows, first.total_rows) == (5_050, 5_100)
    np.testing.assert_array_equal(nearest_of_three(first.coordinates), np.arange(5_100) // 1_700)
