"""Names on a map."""

from __future__ import annotations

import numpy as np
import pytest

from lore_core.figures.pictures.landscape import shifts


def _overlaps(places, names, moved):
    half = [3.4 * len(name) + 4.0 for name in names]
    return [
        (a, b)
        for a in range(len(names))
        for b in range(a)
        if abs(places[a][0] - places[b][0]) < half[a] + half[b]
        and abs(places[a][1] + moved[a] - places[b][1] - moved[b]) < 18
    ]


def test_names_apart_stay():
    places = np.array([[0.0, 0.0], [200.0, 0.0], [0.0, 30.0]])
    assert (shifts(places, ["Shirt", "Bag", "Coat"]) == 0).all()


def test_names_at_one_place_are_stacked():
    names = ["Shirt", "Pullover", "Coat", "T-shirt/top", "Dress"]
    moved = shifts(np.zeros((5, 2)), names)
    assert moved[0] == 0
    assert _overlaps(np.zeros((5, 2)), names, moved) == []


def test_what_is_fixed_is_avoided_and_stays():
    moved = shifts(np.zeros((3, 2)), ["1", "2", "Bag"], n_fixed=2)
    assert moved.tolist()[:2] == [0, 0]
    assert abs(moved[2]) == 18


@pytest.mark.parametrize("seed", range(5))
def test_a_crowd(seed):
    rng = np.random.default_rng(seed)
    places, names = rng.uniform(0, 330, size=(10, 2)), ["name of it"] * 10
    before = len(_overlaps(places, names, np.zeros(10)))
    moved = shifts(places, names)
    assert len(_overlaps(places, names, moved)) == 0
    assert before or (moved == 0).all()
    assert np.abs(moved).max() <= 72


def test_none():
    assert shifts(np.empty((0, 2)), []).shape == (0,)
