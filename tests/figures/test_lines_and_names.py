"""Outlines on a map, where a raster crosses ½, and names that do not cover each other."""

from __future__ import annotations

import numpy as np
import pytest

from lore_core.figures.pictures.landscape import shifts
from lore_core.figures.pictures.landscape_picture import segments


def test_lines_around_a_disc():
    x = np.linspace(-2, 2, 81)
    y = np.linspace(-3, 3, 121)
    height = 1.5 - np.hypot(*np.meshgrid(x, y))  # 0.5 at distance 1
    lines = segments(x, y, height)
    for ends in (lines[:, :2], lines[:, 2:]):
        np.testing.assert_allclose(np.hypot(*ends.T), 1.0, atol=2e-3)
    length = np.hypot(lines[:, 2] - lines[:, 0], lines[:, 3] - lines[:, 1]).sum()
    assert length == pytest.approx(2 * np.pi, rel=1e-3)


def test_lines_close_at_the_edge_and_of_nothing_there_are_none():
    x = np.array([0.0, 1.0, 2.0])
    lines = segments(x, x, np.ones((3, 3)))
    ends = np.round(np.concatenate([lines[:, :2], lines[:, 2:]]), 9)
    _, count = np.unique(ends, axis=0, return_counts=True)
    assert (count == 2).all()  # every end is where another piece goes on
    assert segments(x, x, np.zeros((3, 3))).shape == (0, 4)
    saddle = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert len(segments(x[:2], x[:2], saddle)) >= 4


def _overlaps(places, names, moved):
    half = [3.4 * len(name) + 4.0 for name in names]
    return [
        (a, b)
        for a in range(len(names))
        for b in range(a)
        if abs(places[a][0] - places[b][0]) < half[a] + half[b]
        and abs(places[a][1] + moved[a] - places[b][1] - moved[b]) < 18
    ]


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
