from __future__ import annotations

import pytest

from lore_core.data.number_text import p_words, points


@pytest.mark.parametrize(
    ("share", "text"), [(0.0213, "+2.1"), (-0.5, "−50.0"), (0.0, "+0.0"), (-0.0001, "−0.0")]
)
def test_points_have_a_sign(share, text):
    assert points(share) == text


def test_p_values_in_words():
    assert p_words(0.00099) == "< 0.001"
    assert p_words(0.0123) == "0.012"
