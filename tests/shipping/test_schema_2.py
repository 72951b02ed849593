"""Files of schema 2, written by the version before schema 3 and kept, give what they gave.

``schema_2/expected.npz`` holds what was given to all of them, and what came out of the version that
wrote each.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from lore_core import InputError, Predictor, load_recalibrator

FOLDER = Path(__file__).with_name("schema_2")
#: The map is made anew by umap-learn, whose first use takes long.
UMAP = "lore_umap"
NAMES = sorted(path.stem for path in FOLDER.glob("*.lore") if path.stem != UMAP)


@pytest.fixture(scope="module")
def given():
    with np.load(FOLDER / "expected.npz") as file:
        return {name: file[name] for name in file.files}


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_every_file_gives_the_same_numbers(name, again, given):
    method = load_recalibrator(FOLDER / f"{name}.lore")
    if again:  # as a file of today
        method = load_recalibrator(method.to_bytes())
    features, places = given["features"], None
    if name == "lore_plain_coordinates":
        features, places = None, given["features"][:, :2]
    found = Predictor(method).predict(
        given["probabilities"], features, given["region"], coordinates=places
    )
    # openTSNE places rows anew, which another machine may round differently.
    close = {"rtol": 0, "atol": 1e-6 if name == "lore_tsne" else 0}
    np.testing.assert_allclose(found, given[name], **close)


@pytest.mark.slow
@pytest.mark.xdist_group("umap")
def test_umap_is_made_anew_where_it_can_be(given):
    """On the machine and version it was fitted with; elsewhere it is refused in words."""
    method = load_recalibrator(FOLDER / f"{UMAP}.lore")
    try:
        found = Predictor(method).predict(given["probabilities"], given["features"])
    except InputError:  # what it says is tested below
        pytest.skip("umap-learn makes another map here")
    np.testing.assert_allclose(found, given[UMAP], atol=1e-3)


@pytest.mark.slow
@pytest.mark.xdist_group("umap")
def test_another_umap_is_refused():
    (kept,) = load_recalibrator(FOLDER / f"{UMAP}.lore").fitted_on_.feature_maps.values()
    elsewhere = dataclasses.replace(kept._map, places=kept._map.places[::-1])
    with pytest.raises(InputError, match=r"umap-learn places them up to .* of the map's width"):
        elsewhere.place(elsewhere.points[:3])
