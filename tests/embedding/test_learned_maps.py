import threading

import numpy as np
import pytest

from lore_core.data.progress import Cancelled
from lore_core.embedding import embed, learned_maps

SHORT = {"tsne": {"n_iter": 100, "perplexity": 10}, "umap": {"n_epochs": 60, "n_neighbors": 10}}
# The first UMAP of a process compiles for seconds: all are made by one.
of_umap = [pytest.mark.slow, pytest.mark.xdist_group("umap")]
METHODS = ["tsne", pytest.param("umap", marks=of_umap)]


def short(features, method, n_components=2, **options):
    return embed(features, method, n_components, **SHORT[method], **options)


@pytest.fixture(scope="module", params=METHODS)
def embedding(request, clusters):
    return short(clusters, request.param)


def distance(coordinates, places):
    return np.linalg.norm(coordinates - places, axis=-1)


def nearest_of_three(coordinates):
    """By row, to which of three clusters of equal size, one after the other, it is nearest."""
    centres = coordinates.reshape(3, -1, 2).mean(axis=1)
    return distance(coordinates[:, None], centres).argmin(axis=1)


def test_clusters_stay_together_and_the_same_seed_gives_the_same_map(clusters, embedding):
    name, options = ("t-SNE", "perplexity 10"), ("UMAP", "10 neighbours")
    name, options = name if embedding.method == "tsne" else options
    assert embedding.label == f"{name} 2-D, unit scale"
    assert options in embedding.description
    assert "placed by transform" not in embedding.description
    np.testing.assert_allclose(embedding.coordinates.std(axis=0), 1.0)
    groups = embedding.coordinates.reshape(3, 40, 2)
    centres = groups.mean(axis=1)
    within = distance(groups, centres[:, None]).max()
    assert within < min(distance(centres[i], centres[j]) for i, j in ((0, 1), (0, 2), (1, 2))) / 2
    assert embedding.fitted_rows == 120
    more = {"max_fit_rows": None} if embedding.method == "tsne" else {}
    assert short(clusters, embedding.method, **more).digest == embedding.digest


def test_new_rows_land_near_their_own_kind(others, embedding):
    placed = embedding.transform(others)
    most = {"tsne": 0.1, "umap": 0.2}[embedding.method]  # the map's own deviation is 1
    assert np.median(distance(placed, embedding.coordinates)) < most
    nearest = distance(placed[:, None], embedding.coordinates).argmin(axis=1)
    np.testing.assert_array_equal(nearest // 40, np.arange(120) // 40)


@pytest.mark.parametrize("method", METHODS)
def test_progress_counts_iterations_or_epochs(clusters, method):
    seen = []
    short(clusters, method, progress=lambda share, message: seen.append((share, message)))
    shares, messages = zip(*seen, strict=True)
    assert list(shares) == sorted(shares)
    assert seen[-1] == (1.0, "done")
    counted = {"tsne": "iteration 120 of 350", "umap": "epoch 59 of 60"}[method]
    assert counted in messages
    assert method == "umap" or shares[0] == 0


@pytest.mark.parametrize("stop_at", [0.0, 0.5, "placing"])
def test_cancel(clusters, stop_at):
    last = []

    def progress(share, message):
        last.append(share)
        if message.startswith("placing") if stop_at == "placing" else share >= stop_at:
            raise Cancelled

    rows = 60 if stop_at == "placing" else None
    with pytest.raises(Cancelled):
        short(clusters, "tsne", progress=progress, max_fit_rows=rows)
    assert stop_at == "placing" or last[-1] < stop_at + 0.05


def test_three_dimensions_with_transform(clusters, others):
    embedding = short(clusters, "tsne", 3)
    assert embedding.label == "t-SNE 3-D, unit scale"
    np.testing.assert_allclose(embedding.coordinates.std(axis=0), 1.0)
    assert np.median(distance(embedding.transform(others), embedding.coordinates)) < 0.2
    embedding = short(clusters, "tsne", max_fit_rows=60)
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
    equal = short(np.repeat(clusters[::10], 10, axis=0), "tsne")
    assert np.isfinite(equal.coordinates).all()
    rng = np.random.default_rng(0)
    features = rng.normal(size=(80, 55))
    embedding = embed(features, "tsne", n_iter=20)
    assert "neighbours among 50 principal components" in embedding.description
    assert embedding.transform(features[:3]).shape == (3, 2)
    for n_components in (2, 3):  # fewer features than dimensions
        embedding = short(rng.normal(size=(60, n_components - 1)), "tsne", n_components)
        np.testing.assert_allclose(embedding.coordinates.std(axis=0), 1.0)


@pytest.mark.slow
def test_interpolated_gradient_agrees_with_itself_and_places_rows(monkeypatch):
    # Above 5,000 rows another method computes the gradient, and neighbours are approximate.
    monkeypatch.setattr(learned_maps, "EARLY_ITERATIONS", 50)
    rng = np.random.default_rng(0)
    features = np.repeat(8.0 * np.eye(3), 1_700, axis=0) + rng.normal(size=(5_100, 3))
    first = embed(features, "tsne", n_iter=50, max_fit_rows=5_050, perplexity=15)
    assert (first.fitted_rows, first.total_rows) == (5_050, 5_100)
    np.testing.assert_array_equal(nearest_of_three(first.coordinates), np.arange(5_100) // 1_700)
    monkeypatch.setattr(learned_maps, "EARLY_ITERATIONS", 2)
    few = {"n_iter": 2, "max_fit_rows": None, "perplexity": 5}
    one, two = (embed(features, "tsne", **few).digest for _ in range(2))
    assert one == two


@pytest.fixture(scope="module")
def digest(clusters):
    return short(clusters, "umap").digest


def digests_in_threads(clusters, n):
    """Of maps made in other threads: a lock left behind would be their own, or nobody's."""
    found = []
    make = lambda: found.append(short(clusters, "umap").digest)  # noqa: E731
    threads = [threading.Thread(target=make, daemon=True) for _ in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    return found


class TestUMAP:
    pytestmark = of_umap

    @pytest.mark.parametrize("stop_at", [0.0, 0.5])
    def test_cancel_leaves_the_next_map_untouched(self, clusters, digest, stop_at):
        def progress(fraction, message):
            if fraction >= stop_at:
                raise Cancelled

        with pytest.raises(Cancelled):
            short(clusters, "umap", progress=progress)
        assert digests_in_threads(clusters, 1) == [digest]

    def test_threads_take_turns(self, digest, clusters):
        assert digests_in_threads(clusters, 3) == [digest] * 3

        def progress(fraction, message):
            if message.startswith("waiting"):
                raise Cancelled

        with learned_maps.turn_lock, pytest.raises(Cancelled):
            short(clusters, "umap", progress=progress)

    def test_few_equal_and_far_rows_raise_no_warning(self, clusters):
        assert short(clusters, "umap", 3).transform(clusters[:2]).shape == (2, 3)
        embedding = embed(clusters[:10], "umap", n_epochs=20)
        assert np.isfinite(embedding.coordinates).all()
        assert "9 neighbours" in embedding.description
        apart = clusters + np.repeat([0.0, 1e3, 1e6], 40)[:, None]
        for rows in (np.repeat(clusters[::6], 6, axis=0), apart):
            assert np.isfinite(short(rows, "umap").coordinates).all()
