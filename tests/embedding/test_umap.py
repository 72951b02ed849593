import threading

import numpy as np
import pytest

from lore_core.data.progress import Cancelled
from lore_core.embedding import embed, umap_map

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
