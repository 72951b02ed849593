"""Two columns that say nearly the same are named once, by the reader's own one."""

from __future__ import annotations

import numpy as np
import pandas as pd

import lore_core as lore
from lore_core.regions.variables.attributes import attributes


def _names(images=None, **metadata):
    n = 600
    p = np.full((n, 2), 0.5)
    frame = pd.DataFrame(metadata)
    data = lore.Dataset(p, np.arange(n) % 2, metadata=frame, images=images)
    return [item.name for item in attributes(data) if item.origin != "class"]


def test_what_orders_the_rows_alike_is_named_once():
    rng = np.random.default_rng(0)
    x = rng.normal(size=600)
    near = x + 0.05 * rng.normal(size=600)
    far = x + 0.5 * rng.normal(size=600)
    gone = np.where(rng.random(600) < 0.5, np.nan, x)
    found = _names(size=x, cubed=x**3, minus=-x, near=near, far=far, gone=gone)
    assert found == ["size", "far", "gone"]


def test_missing_alike_is_not_alike():
    rng = np.random.default_rng(1)
    missing = rng.random(600) < 0.7
    one, two = (np.where(missing, np.nan, rng.normal(size=600)) for _ in range(2))
    assert _names(one=one, two=two) == ["one", "two"]


def test_the_readers_own_name_for_brightness_stands():
    images = np.random.default_rng(2).integers(0, 255, (600, 4, 4)).astype(np.uint8)
    ink = images.reshape(600, -1).mean(axis=1) + 0.01 * np.arange(600) / 600
    assert _names(images, ink=ink) == ["ink"]
    assert _names(images, other=np.random.default_rng(3).normal(size=600)) == [
        "other",
        "image brightness",
    ]
