import os

import pytest

from benchmarks.attack import files, models
from benchmarks.attack.__main__ import BAD

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="cases run in processes of POSIX")


def test_damaged_files():
    outcome = files.attack(0, 330)
    assert not [(word, outcome.examples.get(word)) for word in BAD if outcome.counts[word]]
    assert outcome.counts.total() == 330
    assert outcome.counts["refused"] > 200


def test_damaged_and_edited_models():
    outcome = models.attack(0, 120)
    assert not [(word, outcome.examples.get(word)) for word in BAD if outcome.counts[word]]
    assert not outcome.counts["damaged, others"]
    assert outcome.counts["refused"] > 80
