"""Rows asked for in words are those a reader would pick by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lore_core import Dataset
from lore_core.regions import rows_with


@pytest.fixture
def rows():
    return Dataset(
        np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]]),
        np.array([0, 1, 1, 0]),
        class_names=("Shirt", "Coat"),
        groups=pd.DataFrame({"Site": ["north", "South, far", "north", "south"]}),
        metadata=pd.DataFrame(
            {"age": [20, 61, np.nan, 60], "note": ["a shirt?", None, "x=1", "12:30"]}
        ),
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", [0, 1, 2, 3]),
        ("shirt", [0, 2, 3]),  # predicted or true Shirt, or a note of one
        ("predicted: shirt", [0, 2]),
        ("predicted: shirt, true: coat", [2]),
        ("site: SOU", [1, 3]),
        ("site: SOUTH", [3]),  # a whole value
        ("age >= 60", [1, 3]),
        ("age > 60", [1]),
        ("age = 20", [0]),
        ("confidence < 0.75, site: north", [2]),
        ("x=1", [2]),  # no column is called x
        ("12:30", [3]),
        ("nothing of the kind", []),
    ],
)
def test_rows(rows, words, expected):
    assert np.flatnonzero(rows_with(rows, words)).tolist() == expected
