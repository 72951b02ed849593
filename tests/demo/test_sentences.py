"""The demo of sentences: its planted topic is found by its words, though the average is right."""

import numpy as np
import pytest

from lore_core.data.validation import InputError
from lore_core.demo import sentences
from lore_core.demo.sentences import TOPIC
from lore_core.regions.subgroups.find import find_subgroups


def test_the_topic_is_found_by_its_words():
    shown = sentences().evaluation
    assert len(shown) > 2_000
    assert abs(shown.confidence.mean() - shown.accuracy) < 0.03
    about = np.array([bool(TOPIC.search(text)) for text in shown.metadata["sentence"]])
    gap = shown.confidence - shown.outcome
    assert gap[about].mean() > 0.15
    assert abs(gap[~about].mean()) < 0.04
    subgroups = find_subgroups(shown).subgroups
    assert subgroups
    for subgroup in subgroups:
        assert about[subgroup.rows].mean() > 0.5, [str(part) for part in subgroup.conditions]
        assert subgroup.conditions[0].column == "sentence"


def test_a_seed_that_is_none():
    with pytest.raises(InputError, match="random_state"):
        sentences(-1)
