"""Columns by name, as every DataFrame library gives them."""

from __future__ import annotations

import lore_core as lore


def test_groups_and_metadata_are_taken_from_a_dict():
    data = lore.Dataset(
        [[0.9, 0.1], [0.2, 0.8]],
        [0, 1],
        groups={"place": ["north", "south"]},
        metadata={"day": [1, 2]},
    )
    assert list(data.groups["place"]) == ["north", "south"]
    assert list(data.metadata["day"]) == [1, 2]
