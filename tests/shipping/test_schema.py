"""Files of schema 1, one of every method, are read, give what they gave, and are written again.

``schema_1.zip`` was written by ``python tests/shipping/test_schema.py``. If a test fails, what a
file holds has changed: raise ``container.SCHEMA`` and write a zip of that schema.
"""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import lore_core as lore
from lore_core.recalibration import BoostingRecalibration, container, registry

FILES = Path(__file__).with_name(f"schema_{container.SCHEMA}.zip")


def rows_of(n, seed):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 2))
    scores = np.column_stack([z[:, 0], z[:, 1], np.zeros(n)]) * 2
    vectors = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    labels = (rng.random((n, 1)) > np.cumsum(vectors**0.5, axis=1) / 1.7).sum(axis=1).clip(0, 2)
    groups = {"side": np.where(np.arange(n) % 3 > 0, "left", "right")}
    return lore.Dataset(vectors, labels, features=z, groups=groups)


def written():
    """Return the content of a file of every method, by the method's name in it."""
    rows = rows_of(60, 0)
    maps = {"plane": lore.embed(rows.features), "own": lore.embed(rows.features, "tsne", n_iter=5)}
    methods = [
        *registry.own_recalibrators(0.3, 5),
        BoostingRecalibration(n_trees=2),
        lore.GroupWise(lore.LoRe(0.3, 5, base=lore.PlattScaling(), feature_map="own"), "side"),
    ]
    for item in methods:
        if isinstance(item, lore.SmoothLoRe):
            item.gammas = (0.2, 0.8)
    return {type(item).__name__: item.fit(rows, maps).to_bytes() for item in methods}


def applied(content):
    new = rows_of(4, 1)
    return lore.Predictor.load(content).predict(new.probabilities, new.features, new.groups)


@pytest.mark.parametrize("name", registry.saved_names())
def test_a_file_gives_the_same_numbers(name):
    with zipfile.ZipFile(FILES) as files:
        content = files.read(f"{name}.lore")
        expected = json.loads(files.read("expected.json"))[name]
    np.testing.assert_allclose(applied(content), expected, rtol=0, atol=1e-12)
    header, arrays = container.unpack(content)
    again, same = container.unpack(lore.load_recalibrator(content).to_bytes())
    for item in ("written_by", "digest"):
        del header[item], again[item]
    assert again == header
    assert arrays.keys() == same.keys()
    assert all(np.array_equal(arrays[part], same[part], equal_nan=True) for part in arrays)


if __name__ == "__main__":
    with zipfile.ZipFile(FILES, "w", zipfile.ZIP_DEFLATED) as files:
        made = written()
        for name, content in made.items():
            files.writestr(zipfile.ZipInfo(f"{name}.lore"), content, zipfile.ZIP_DEFLATED)
        expected = {name: applied(content).tolist() for name, content in made.items()}
        text = json.dumps(expected)
        files.writestr(zipfile.ZipInfo("expected.json"), text, zipfile.ZIP_DEFLATED)
    sys.stdout.write(f"wrote {FILES}\n")
