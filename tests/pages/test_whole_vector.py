"""The target “whole vector”: the Landscape shows every class at once, other pages say so."""

from __future__ import annotations

import pytest

import lore_core as lore
from lore_core.metrics import class_table, vector_errors


def test_every_class_at_once_on_the_landscape_and_elsewhere_a_word(open_page, made):
    dataset = made(n=900, n_classes=3, seed=4)
    page = open_page("landscape", dataset, target="whole vector", gamma=0.5)
    rows = dataset.evaluation
    points = lore.embed(dataset.features, "pca", 2).coordinates[dataset.in_split("evaluation")]
    expected = class_table(rows, vector_errors(rows, points, gamma=0.5))
    item = page.app.dataframe[0].value
    table = getattr(item, "data", item)
    assert list(table.index) == list(dataset.class_names)
    assert table["alce"].to_numpy() == pytest.approx(100 * expected["alce"].to_numpy())
    assert "the whole vector is off by" in page.text
    page.go("overview")
    assert "here the target is the top label" in page.text
