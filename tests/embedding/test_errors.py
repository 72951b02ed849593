import subprocess
import sys

import numpy as np
import pytest

from lore_core.data.validation import InputError
from lore_core.embedding import embed, estimate_seconds


def test_no_features():
    with pytest.raises(InputError, match="'features' must be given"):
        embed(None)  # type: ignore[arg-type]


def test_features_that_are_not_finite(clusters):
    broken = clusters.copy()
    broken[7, 2] = np.nan
    with pytest.raises(InputError, match=r"'features' must be finite; got .* at row 7"):
        embed(broken)


def test_unknown_method(clusters):
    with pytest.raises(InputError, match="'method' must be 'pca', 'tsne', 'umap' or 'identity'"):
        embed(clusters, "lda")


@pytest.mark.parametrize("seed", [-1, 1.5, None])
def test_random_state(clusters, seed):
    with pytest.raises(InputError, match="'random_state' must be a whole number"):
        embed(clusters, random_state=seed)


def test_unknown_option(clusters):
    with pytest.raises(InputError, match=r"'perplexity', 'n_iter'.*; got 'perplexety'"):
        embed(clusters, "tsne", perplexety=5)
    with pytest.raises(
        InputError, match="options of method 'pca' must be among: none; got 'whiten"
    ):
        embed(clusters, "pca", whiten=True)


@pytest.mark.parametrize(("method", "name"), [("tsne", "t-SNE"), ("umap", "UMAP")])
def test_neighbour_maps_need_two_or_three_dimensions_and_ten_rows(clusters, method, name):
    with pytest.raises(InputError, match=f"'n_components' of {name} must be 2 or 3; got 4"):
        embed(clusters, method, 4)
    with pytest.raises(InputError, match=f"at least 10 rows for {name}; got 9"):
        embed(clusters[:9], method)


@pytest.mark.parametrize(
    ("method", "option", "value"),
    [
        ("tsne", "perplexity", 0),
        ("tsne", "n_iter", 0),
        ("tsne", "exaggeration", -1),
        ("tsne", "max_fit_rows", 5),
        ("umap", "n_neighbors", 1),
        ("umap", "min_dist", 2.0),
        ("umap", "n_epochs", 0),
    ],
)
def test_options_out_of_range(clusters, method, option, value):
    with pytest.raises(InputError, match=f"'{option}' must"):
        embed(clusters, method, **{option: value})


def test_new_rows_with_other_features(clusters):
    embedding = embed(clusters)
    with pytest.raises(InputError, match=r"'new_features' must have the 6 features .*; got 5"):
        embedding.transform(clusters[:, :5])


def test_estimate_grows_with_rows_and_is_slower_in_three_dimensions():
    for method in ("tsne", "umap"):
        assert estimate_seconds(method, 2_000, 64) < estimate_seconds(method, 20_000, 64)
    assert estimate_seconds("tsne", 20_000, 64, 2) < estimate_seconds("tsne", 20_000, 64, 3)
    assert estimate_seconds("identity", 1_000_000, 64) < 10
    with pytest.raises(InputError, match="'method' must be"):
        estimate_seconds("lda", 10, 2)


def test_importing_the_package_imports_no_heavy_library():
    heavy = "('openTSNE', 'umap', 'sklearn.manifold', 'sklearn.decomposition')"
    code = f"import sys, lore_core.embedding; print([m for m in {heavy} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
