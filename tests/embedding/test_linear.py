from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from lore_core.data.validation import InputError
from lore_core.embedding import embed


def test_pca_agrees_with_the_singular_value_decomposition_up_to_sign(clusters):
    embedding = embed(clusters, "pca", 3, scale="none")
    centred = clusters - clusters.mean(axis=0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    expected = u[:, :3] * s[:3]
    signs = np.sign((embedding.coordinates * expected).sum(axis=0))
    np.testing.assert_allclose(embedding.coordinates, signs * expected, atol=1e-9)


def test_pca_is_isotropic_by_default(clusters):
    raw = embed(clusters, "pca", 2, scale="none").coordinates
    embedding = embed(clusters, "pca", 2)
    assert embedding.scale == "isotropic"
    rms = np.sqrt((raw.std(axis=0) ** 2).mean())
    np.testing.assert_allclose(embedding.coordinates, raw / rms)
    np.testing.assert_allclose(embedding.scale_factors, [rms, rms])


@pytest.mark.parametrize("method", ["pca", "identity"])
@pytest.mark.parametrize("scale", ["unit", "isotropic", "none"])
def test_transform_of_the_fitted_rows_is_their_coordinates(clusters, method, scale):
    embedding = embed(clusters, method, 2, scale=scale)
    np.testing.assert_allclose(embedding.transform(clusters), embedding.coordinates, atol=1e-12)


def test_pca_may_keep_every_dimension(clusters):
    assert embed(clusters, "pca", 6).coordinates.shape == (120, 6)
    assert embed(clusters[:4], "pca", 4).coordinates.shape == (4, 4)


@pytest.mark.parametrize("n_components", [0, 7, 2.0, True])
def test_pca_refuses_more_dimensions_than_there_are(clusters, n_components):
    with pytest.raises(InputError, match=r"'n_components'.* must be a whole number in"):
        embed(clusters, "pca", n_components)


def test_pca_error_names_rows_and_features():
    with pytest.raises(
        InputError, match=r"in \[1, 1\], the smaller of 5 rows and 1 features; got 2"
    ):
        embed(np.arange(5.0), "pca")


def test_identity_ignores_n_components_and_keeps_the_features(clusters):
    embedding = embed(clusters, "identity", 2, scale="none")
    assert embedding.n_components == 6
    np.testing.assert_array_equal(embedding.coordinates, clusters)
    assert not np.shares_memory(embedding.coordinates, clusters)


def test_one_feature_column_may_be_a_vector():
    embedding = embed([1.0, 3.0], "identity")
    np.testing.assert_allclose(embedding.coordinates, [[1.0], [3.0]])  # deviation 1


@pytest.mark.parametrize("method", ["pca", "tsne", "umap"])
def test_features_that_do_not_vary_give_zeros(method):
    embedding = embed(np.full((12, 3), 0.1), method)
    np.testing.assert_allclose(embedding.coordinates, np.zeros((12, 2)), atol=1e-12)
    np.testing.assert_allclose(embedding.transform(np.full((2, 3), 0.1)), 0.0, atol=1e-12)


def test_coordinates_are_read_only(clusters):
    embedding = embed(clusters)
    with pytest.raises(ValueError, match="read-only"):
        embedding.coordinates[0, 0] = 1.0


def test_rows_keeps_scale_and_transform(clusters):
    embedding = embed(clusters)
    mask = np.arange(120) % 3 == 0
    part = embedding.rows(mask)
    assert len(part) == 40
    np.testing.assert_array_equal(part.coordinates, embedding.coordinates[mask])
    np.testing.assert_array_equal(
        embedding.rows(np.flatnonzero(mask)).coordinates, part.coordinates
    )
    np.testing.assert_array_equal(part.scale_factors, embedding.scale_factors)
    np.testing.assert_allclose(part.transform(clusters), embedding.coordinates, atol=1e-12)
    assert part.digest != embedding.digest


def test_label_and_description(clusters):
    assert embed(clusters).label == "PCA 2-D, isotropic scale"
    assert embed(clusters, "identity", scale="none").label == "All features, unscaled"
    assert embed(clusters).description.startswith("PCA 2-D, isotropic scale, of 6 features; ")


def test_pca_says_how_much_variance_it_keeps():
    # Deviations 2 and 1: the first component holds 4 of 5.
    points = np.array([[0.0, 0.0], [0.0, 2.0], [4.0, 0.0], [4.0, 2.0]])
    assert "80 % of the variance" in embed(points, "pca", 1).description
    assert "100 % of the variance" in embed(points, "pca", 2).description


def test_a_worker_process_gets_an_embedding_whole(clusters):
    embedding = embed(clusters)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as workers:
        placed = workers.submit(embedding.transform, clusters).result()
    np.testing.assert_array_equal(placed, embedding.transform(clusters))


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e8, 1e10])
def test_pca_far_from_zero_is_that_of_the_centred_features(clusters, offset):
    far = clusters + offset
    wide = far.astype(np.longdouble)
    centred = (wide - wide.mean(axis=0)).astype(np.float64)
    found, expected = embed(far, "pca", 2), embed(centred, "pca", 2)
    np.testing.assert_allclose(found.coordinates, expected.coordinates, atol=1e-15 * offset + 1e-9)
    np.testing.assert_allclose(found.transform(far), found.coordinates, atol=1e-12)
