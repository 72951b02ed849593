"""Where a raster crosses a level."""

from __future__ import annotations

import numpy as np
import pytest

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
