import numpy as np
import pytest

import lore_core as lore

pytest.importorskip("anywidget")


@pytest.fixture(scope="module")
def data():
    return lore.demo.synthetic(600).dataset


@pytest.fixture(scope="module")
def widget(data):
    return lore.landscape(data, lore.embed(data.features, "identity"), gamma=0.4)


def test_it_holds_every_bandwidth_and_every_row(widget, data):
    (layer,) = widget.layers
    assert layer["name"] == "all confidences together"
    assert widget.gamma == 0.4
    places = np.frombuffer(widget.rows, "<f4", len(data.evaluation))
    z = lore.embed(data.features, "identity").coordinates[data.in_split("evaluation")]
    np.testing.assert_array_equal(places, z[:, 0].astype(np.float32))


def test_what_is_drawn_selects_rows(widget, data):
    assert len(widget.selected_rows) == 0
    widget.selection = [{"sign": 1, "x": [0, 90, 90, 0], "y": [-90, -90, 90, 90]}]
    z = lore.embed(data.features, "identity").coordinates[data.in_split("evaluation")]
    np.testing.assert_array_equal(widget.selected_rows, np.flatnonzero(z[:, 0] > 0))


def test_a_map_has_two_dimensions(data):
    with pytest.raises(lore.InputError, match="2 dimensions"):
        lore.landscape(data, lore.embed(data.features, "pca", 1))
