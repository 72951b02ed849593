from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import lore_core as lore
from lore_core.data.validation import InputError
from lore_core.embedding import MapName, embed, estimate_seconds, make_map
from lore_core.embedding.result import scale_factors

# Population standard deviations by hand: (0, 0, 4, 4) has 2, (0, 2, 0, 2) has 1.
POINTS = np.array([[0.0, 0.0], [0.0, 2.0], [4.0, 0.0], [4.0, 2.0]])


def test_pca_agrees_with_the_singular_value_decomposition_up_to_sign(clusters):
    embedding = embed(clusters, "pca", 3, scale="none")
    centred = clusters - clusters.mean(axis=0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    expected = u[:, :3] * s[:3]
    signs = np.sign((embedding.coordinates * expected).sum(axis=0))
    np.testing.assert_allclose(embedding.coordinates, signs * expected, atol=1e-9)
    components = embedding.projection.components
    np.testing.assert_array_equal(components.max(axis=1), np.abs(components).max(axis=1))
    raw = embed(clusters, "pca", 2, scale="none").coordinates
    embedding = embed(clusters, "pca", 2)
    assert embedding.scale == "isotropic"
    rms = np.sqrt((raw.std(axis=0) ** 2).mean())
    np.testing.assert_allclose(embedding.coordinates, raw / rms)
    np.testing.assert_allclose(embedding.scale_factors, [rms, rms])
    with pytest.raises(ValueError, match="read-only"):
        embedding.coordinates[0, 0] = 1.0


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e8, 1e10])
def test_pca_far_from_zero_is_that_of_the_centred_features(clusters, offset):
    far = clusters + offset
    wide = far.astype(np.longdouble)
    centred = (wide - wide.mean(axis=0)).astype(np.float64)
    found, expected = embed(far, "pca", 2), embed(centred, "pca", 2)
    np.testing.assert_allclose(found.coordinates, expected.coordinates, atol=1e-15 * offset + 1e-9)
    np.testing.assert_allclose(found.transform(far), found.coordinates, atol=1e-12)


@pytest.mark.parametrize("method", ["pca", "identity"])
@pytest.mark.parametrize("scale", ["unit", "isotropic", "none"])
def test_transform_of_the_fitted_rows_is_their_coordinates(clusters, method, scale):
    embedding = embed(clusters, method, 2, scale=scale)
    np.testing.assert_allclose(embedding.transform(clusters), embedding.coordinates, atol=1e-12)


def test_identity_ignores_n_components_and_keeps_the_features(clusters):
    embedding = embed(clusters, "identity", 2, scale="none")
    assert embedding.n_components == 6
    np.testing.assert_array_equal(embedding.coordinates, clusters)
    assert not np.shares_memory(embedding.coordinates, clusters)
    vector = embed([1.0, 3.0], "identity")
    np.testing.assert_allclose(vector.coordinates, [[1.0], [3.0]])  # deviation 1
    embedding = embed(clusters)
    mask = np.arange(120) % 3 == 0
    part = embedding.rows(mask)
    assert len(part) == 40
    np.testing.assert_array_equal(part.coordinates, embedding.coordinates[mask])
    by_number = embedding.rows(np.flatnonzero(mask))
    np.testing.assert_array_equal(by_number.coordinates, part.coordinates)
    np.testing.assert_array_equal(part.scale_factors, embedding.scale_factors)
    np.testing.assert_allclose(part.transform(clusters), embedding.coordinates, atol=1e-12)
    assert part.digest != embedding.digest


@pytest.mark.parametrize("method", ["pca", "tsne", "umap"])
def test_features_that_do_not_vary_give_zeros(method):
    embedding = embed(np.full((12, 3), 0.1), method)
    np.testing.assert_allclose(embedding.coordinates, np.zeros((12, 2)), atol=1e-12)
    np.testing.assert_allclose(embedding.transform(np.full((2, 3), 0.1)), 0.0, atol=1e-12)


def test_label_and_description(clusters):
    assert embed(clusters).label == "PCA 2-D, isotropic scale"
    assert embed(clusters, "identity", scale="none").label == "All features, unscaled"
    assert embed(clusters).description.startswith("PCA 2-D, isotropic scale, of 6 features; ")
    # Deviations 2 and 1: the first component holds 4 of 5.
    assert "80 % of the variance" in embed(POINTS, "pca", 1).description
    assert "100 % of the variance" in embed(POINTS, "pca", 2).description
    embedding = embed(clusters)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as workers:
        placed = workers.submit(embedding.transform, clusters).result()
    np.testing.assert_array_equal(placed, embedding.transform(clusters))


@pytest.mark.parametrize(
    ("scale", "factors"),
    [("unit", [2.0, 1.0]), ("isotropic", [np.sqrt(2.5)] * 2), ("none", [1.0, 1.0])],
)
def test_scale_factors_by_hand(scale, factors):
    np.testing.assert_allclose(scale_factors(POINTS, scale), factors)
    np.testing.assert_array_equal(scale_factors(np.full((5, 2), 0.3), scale), [1.0, 1.0])
    # A constant dimension is left as it is; sqrt((2² + 0²) / 2).
    points = np.column_stack([POINTS[:, 0], np.full(4, 0.1)])
    expected = {"unit": [2.0, 1.0], "isotropic": [np.sqrt(2.0)] * 2, "none": [1.0, 1.0]}[scale]
    np.testing.assert_allclose(scale_factors(points, scale), expected)


@pytest.mark.parametrize(
    ("typed", "name", "title"),
    [
        ("pca-20", MapName("pca", 20), "PCA 20-D"),
        ("tsne-3", MapName("tsne", 3), "t-SNE 3-D"),
        ("umap", MapName("umap"), "UMAP"),
        ("identity", MapName("identity"), "All features"),
    ],
)
def test_typed_and_read(typed, name, title):
    assert MapName.parse(typed, "--map") == name
    assert (name.typed, name.title) == (typed, title)


@pytest.mark.parametrize("typed", ["lda", "pca-x", "pca-", "none", ""])
def test_there_is_no_such_map(typed):
    with pytest.raises(InputError) as caught:
        MapName.parse(typed, "--map")
    assert str(caught.value) == (
        "'--map' must be one of pca, tsne, umap, identity, or one with its number of "
        f"dimensions such as 'pca-20'; got {typed!r}."
    )


def test_the_name_of_a_made_map():
    features = np.random.default_rng(0).normal(size=(20, 4))
    dataset = lore.Dataset(np.full((20, 2), 0.5), np.arange(20) % 2, features)
    made = make_map(dataset, MapName("pca", 3))
    assert (made.name, made.label) == (MapName("pca", 3), "PCA 3-D, isotropic scale")
    assert make_map(dataset, MapName("identity")).label == "All features, isotropic scale"
    with pytest.raises(InputError, match="these data have none, so there is no map"):
        make_map(lore.Dataset([0.1, 0.9], [0, 1]), MapName("pca"))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (["lda"], {}, "'method' must be one of pca, tsne, umap, identity; got 'lda'"),
        *(
            (["pca", 2], {"random_state": seed}, "'random_state' must be a whole number")
            for seed in (-1, 1.5, None)
        ),
        *(
            (["pca", n], {}, r"'n_components'.* must be a whole number in")
            for n in (0, 7, 2.0, True)
        ),
        (["tsne"], {"perplexety": 5}, r"'perplexity', 'n_iter'.*; got 'perplexety'"),
        (["pca"], {"whiten": 1}, "options of method 'pca' must be among: none; got 'whiten"),
        (["pca"], {"scale": 3}, r"'scale' must be one of unit, isotropic, none; got 3"),
        (["tsne", 4], {}, "'n_components' of t-SNE must be 2 or 3; got 4"),
        (["umap", 4], {}, "'n_components' of UMAP must be 2 or 3; got 4"),
        *(
            (["tsne"], {option: value}, f"'{option}' must")
            for option, value in {
                "perplexity": 0, "n_iter": 0, "max_fit_rows": 5,
            }.items()
        ),
        *(
            (["umap"], {option: value}, f"'{option}' must")
            for option, value in {"n_neighbors": 1, "min_dist": 2.0, "n_epochs": 0}.items()
        ),
    ],
)  # fmt: skip
def test_arguments_are_checked(clusters, arguments, options, message):
    with pytest.raises(InputError, match=message):
        embed(clusters, *arguments, **options)


def test_features_are_checked(clusters):
    assert embed(clusters, "pca", 6).coordinates.shape == (120, 6)
    assert embed(clusters[:4], "pca", 4).coordinates.shape == (4, 4)
    with pytest.raises(InputError, match="'features' must be given"):
        embed(None)
    broken = clusters.copy()
    broken[7, 2] = np.nan
    with pytest.raises(InputError, match=r"'features' must be finite; got .* at row 7"):
        embed(broken)
    too_many = r"in \[1, 1\], the smaller of 5 rows and 1 features; got 2"
    with pytest.raises(InputError, match=too_many):
        embed(np.arange(5.0), "pca")
    for method, name in (("tsne", "t-SNE"), ("umap", "UMAP")):
        with pytest.raises(InputError, match=f"at least 10 rows for {name}; got 9"):
            embed(clusters[:9], method)
    with pytest.raises(InputError, match=r"'new_features' must have the 6 features .*; got 5"):
        embed(clusters).transform(clusters[:, :5])
    for method in ("tsne", "umap"):
        assert estimate_seconds(method, 2_000, 64) < estimate_seconds(method, 20_000, 64)
    assert estimate_seconds("tsne", 20_000, 64, 2) < estimate_seconds("tsne", 20_000, 64, 3)
    assert estimate_seconds("identity", 1_000_000, 64) < 10
