"""What a map is called, where it is typed and where it is read."""

import numpy as np
import pytest

import lore_core as lore
from lore_core.embedding import MapName, make_map


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
    said = (
        "'--map' must be one of pca, tsne, umap, identity or none, or one with its number of "
        f"dimensions such as 'pca-20'; got {typed!r}."
    )
    with pytest.raises(lore.InputError) as caught:
        MapName.parse(typed, "--map", or_none=True)
    assert str(caught.value) == said


def test_the_name_of_a_made_map():
    features = np.random.default_rng(0).normal(size=(20, 4))
    dataset = lore.Dataset(np.full((20, 2), 0.5), np.arange(20) % 2, features)
    made = make_map(dataset, MapName("pca", 3))
    assert made.name == MapName("pca", 3)
    assert made.label == "PCA 3-D, isotropic scale"
    every = make_map(dataset, MapName("identity"))
    assert (every.name.title, every.name.typed) == ("All features", "identity")
    assert every.label == "All features, isotropic scale"


def test_no_features_no_map():
    dataset = lore.Dataset([0.1, 0.9], [0, 1])
    with pytest.raises(lore.InputError, match="these data have none, so there is no map"):
        make_map(dataset, MapName("pca"))
