import threading

import numpy as np
import pytest

from lore_core.data.progress import Cancelled
from lore_core.embedding import embed, tsne, umap_map

SHORT = {"n_iter": 100, "perplexity": 10}


@pytest.fixture(scope="module")
def embedding(clusters):
    return embed(clusters, "tsne", **SHORT)


def test_clusters_stay_together_and_the_same_seed_gives_the_same_map(clusters, embedding):
    assert embedding.label == "t-SNE 2-D, unit scale"
    np.testing.assert_allclose(embedding.coordinates.std(axis=0), 1.0)
    groups = embedding.coordinates.reshape(3, 40, 2)
    centres = groups.mean(axis=1)
    within = np.linalg.norm(groups - centres[:, None], axis=2).max()
    between = min(np.linalg.norm(centres[i] - centres[j]) for i, j in ((0, 1), (0, 2), (1, 2)))
    assert within < between / 2
    assert embedding.fitted_rows == 120
    assert "placed by transform" not in embedding.description
    assert embed(clusters, "tsne", max_fit_rows=None, **SHORT).digest == embedding.digest


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


def test_cancel(clusters):
    for stop_at in (0.0, 0.1, 0.5, 0.9, "placing"):
        last = []

        def progress(fraction, message, stop_at=stop_at, last=last):
            last.append(fraction)
            if message.startswith("placing") if stop_at == "placing" else fraction >= stop_at:
                raise Cancelled

        rows = 60 if stop_at == "placing" else None
        with pytest.raises(Cancelled):
            embed(clusters, "tsne", progress=progress, max_fit_rows=rows, **SHORT)
        assert stop_at == "placing" or last[-1] < stop_at + 0.05


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
    assert "fitted on 60 of 120 rows" in embedding.rows(slice(0, 5)).description


def test_few_equal_or_many_rows_and_features(clusters):
    embedding = embed(clusters[:10], "tsne", n_iter=20)
    assert "perplexity 3;" in embedding.description + ";"
    assert np.isfinite(embedding.coordinates).all()
    assert np.isfinite(embedding.transform(clusters[20:22])).all()
    embedding = embed(np.repeat(clusters[::10], 10, axis=0), "tsne", **SHORT)
    assert np.isfinite(embedding.coordinates).all()
    rng = np.random.default_rng(0)
    features = rng.normal(size=(80, 55))
    embedding = embed(features, "tsne", n_iter=20)
    assert "neighbours among 50 principal components" in embedding.description
    assert embedding.transform(features[:3]).shape == (3, 2)
    for n_components in (2, 3):  # fewer features than dimensions
        features = rng.normal(size=(60, n_components - 1))
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


SHORT = {"n_epochs": 60, "n_neighbors": 10}

# The first map of a process compiles for seconds: all are made by one.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("umap")]


@pytest.fixture(scope="module")
def embedding(clusters):
    return embed(clusters, "umap", **SHORT)


def test_unit_scale_and_the_same_seed_gives_the_same_map(clusters, embedding):
    assert embedding.label == "UMAP 2-D, unit scale"
    assert "10 neighbours" in embedding.description
    np.testing.assert_allclose(embedding.coordinates.std(axis=0), 1.0)
    assert embed(clusters, "umap", **SHORT).digest == embedding.digest


def test_new_rows_land_near_their_own_kind(others, embedding):
    placed = embedding.transform(others)
    assert np.median(np.linalg.norm(placed - embedding.coordinates, axis=1)) < 0.2
    nearest = np.linalg.norm(placed[:, None] - embedding.coordinates[None], axis=2).argmin(axis=1)
    np.testing.assert_array_equal(nearest // 40, np.arange(120) // 40)


def test_progress_counts_epochs(clusters):
    seen: list[tuple[float, str]] = []
    embed(clusters, "umap", progress=lambda f, message: seen.append((f, message)), **SHORT)
    fractions = [fraction for fraction, _ in seen]
    assert fractions == sorted(fractions)
    assert seen[-1] == (1.0, "done")
    assert "epoch 59 of 60" in [message for _, message in seen]


def digests_in_threads(clusters, n):
    """Of maps made in other threads: a lock left behind would be their own, or nobody's."""
    digests = []
    make = lambda: digests.append(embed(clusters, "umap", **SHORT).digest)  # noqa: E731
    threads = [threading.Thread(target=make, daemon=True) for _ in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    return digests


@pytest.mark.parametrize("stop_at", [0.0, 0.3, 0.5])
def test_cancel_leaves_the_next_map_untouched(clusters, embedding, stop_at):
    def progress(fraction, message):
        if fraction >= stop_at:
            raise Cancelled

    with pytest.raises(Cancelled):
        embed(clusters, "umap", progress=progress, **SHORT)
    assert digests_in_threads(clusters, 1) == [embedding.digest]


def test_threads_take_turns(clusters, embedding):
    assert digests_in_threads(clusters, 3) == [embedding.digest] * 3


def test_waiting_for_another_map_can_be_cancelled(clusters):
    def progress(fraction, message):
        if message.startswith("waiting"):
            raise Cancelled

    with umap_map.turn_lock, pytest.raises(Cancelled):
        embed(clusters, "umap", progress=progress, **SHORT)


def test_few_equal_and_far_rows_raise_no_warning(clusters):
    embedding = embed(clusters, "umap", 3, **SHORT)
    assert embedding.transform(clusters[:2]).shape == (2, 3)
    embedding = embed(clusters[:10], "umap", n_epochs=20)
    assert np.isfinite(embedding.coordinates).all()
    assert "9 neighbours" in embedding.description
    duplicated = np.repeat(clusters[::6], 6, axis=0)
    assert np.isfinite(embed(duplicated, "umap", **SHORT).coordinates).all()
    apart = clusters + np.repeat([0.0, 1e3, 1e6], 40)[:, None]
    assert np.isfinite(embed(apart, "umap", **SHORT).coordinates).all()
