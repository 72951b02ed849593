import math

import pytest

from lore_core.data import number_text as written
from lore_core.data.number_text import NATS, PERCENT, POINTS


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0213, "+2.1"), (-0.5, "−50.0"), (0.0, "0.0"), (-0.0001, "0.0"), (math.nan, "–")],
)
def test_points_have_a_sign(share, text):
    assert written.signed_points(share) == text


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.877, "88 %"),
        (0.0, "0 %"),
        (1.0, "100 %"),
        (0.0004, "under 0.1 %"),
        (0.0096, "1.0 %"),
        (0.9996, "over 99.9 %"),
        (0.994, "99.4 %"),
    ],
)
def test_shares_near_an_end(share, words):
    assert written.share_words(share) == words


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (written.with_points(0.0712), "7 points"),
        (written.with_points(0.01), "1 point"),
        (written.with_points(-0.004), "−0.4 points"),
        (written.points_words(0.0, 1), "0"),
        (written.interval_words(-0.001, 0.153), "0 to 15"),
        (written.gap_words(0.099, 0.0741, 0.1266), "+9.9 points (95 %: +7.4 to +12.7)"),
        (written.gap_words(-0.02), "−2.0 points"),
        (written.p_words(0.00099), "< 0.001"),
        (written.p_words(0.0123), "0.012"),
        (written.p_words(math.nan), ""),
        (written.p_sentence(0.0123), "p = 0.012"),
        (written.p_sentence(0.0001), "p < 0.001"),
        (written.batches_words(1), "1 batch"),
        (written.batches_words(1200), "1,200 batches"),
    ],
)
def test_within_a_sentence(words, expected):
    assert words == expected


def test_units():
    assert POINTS.text(0.0213) + POINTS.word == "2.1 points"
    assert PERCENT.text(0.877) + PERCENT.word == "87.7 %"
    assert NATS.text(0.25) == "0.250"
    assert POINTS.estimate_text(0.02, 0.01, 0.03, signed=True) == "+2.0 (+1.0 to +3.0)"
    assert POINTS.estimate_text(0.02, math.nan, math.nan) == "2.0"
    assert POINTS.text(math.nan) == "–"
    assert POINTS.in_files == PERCENT.in_files == "share, 0 to 1"
