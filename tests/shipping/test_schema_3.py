"""Files of schema 3, which knew no ε beside the probabilities, give what they gave.

``schema_3/expected.npz`` holds what was given to all of them, and what came out of the version that
wrote each.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lore_core import Predictor, load_recalibrator

FOLDER = Path(__file__).with_name("schema_3")
NAMES = sorted(path.stem for path in FOLDER.glob("*.lore"))


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_every_file_gives_the_same_numbers(name, again):
    method = load_recalibrator(FOLDER / f"{name}.lore")
    if again:  # as a file of today
        method = load_recalibrator(method.to_bytes())
    with np.load(FOLDER / "expected.npz") as given:
        found = Predictor(method).predict(given["probabilities"], given["features"])
        np.testing.assert_array_equal(found, given[name])
