import dataclasses
import re

import numpy as np
import pandas as pd
import pytest

from benchmarks._answer_logs import TOPICS, answer_log, as_dataset, found_in
from lore_core.data.dataset import Dataset
from lore_core.data.texts import is_prose, texts_of
from lore_core.regions.subgroups.candidates import is_wider_slice, try_on
from lore_core.regions.subgroups.find import find_subgroups, halves_of
from lore_core.regions.subgroups.overall import Average
from lore_core.regions.subgroups.verdict import describe_subgroup, evidence_of
from lore_core.regions.variables.attributes import rows_holding, word_attributes


@pytest.fixture(scope="module")
def log():
    return answer_log(random_state=5)


def test_what_is_text():
    sentences = pd.Series([f"What does the number {k} mean here?" for k in range(50)])
    assert is_prose(sentences)
    assert is_prose(sentences.where(sentences.index % 5 > 0))
    assert not is_prose(pd.Series(["a long name of a class"] * 50))  # a category
    assert not is_prose(pd.Series([f"name {k}" for k in range(50)]))  # names
    assert not is_prose(pd.Series(range(50)))
    assert not is_prose(pd.Series([None, *sentences[1:], 3.0]))  # texts and numbers
    data = Dataset([[0.2, 0.8]] * 30, [1] * 30, metadata={"name": [f"row {k}" for k in range(30)]})
    assert word_attributes(data) == []
    rare = {"text": [f"of {k}x there is no{k} second wor{k}d" for k in range(30)]}
    assert word_attributes(Dataset([[0.2, 0.8]] * 30, [1] * 30, metadata=rare)) == []


def test_words_are_held_as_they_stand(log):
    data = as_dataset(log)
    texts = [set(re.findall(r"\w+", text.lower())) for text in texts_of(data, "question")]
    known = word_attributes(data)
    assert len([one for one in known if one.words == ("visa",)]) == 1
    groups = [one for one in known if len(one.words) > 1]
    assert groups
    assert {one.least for one in groups} == {1, 2}
    for one in [*known[:20], *groups]:
        held = [len(words & set(one.words)) >= one.least for words in texts]
        np.testing.assert_array_equal(one.codes == 1, held, err_msg=one.values[1])
    # Words of a topic stand together; of a group nearly all are of one topic.
    groups = [one.words for one in word_attributes(as_dataset(log)) if len(one.words) > 4]
    of_topic = [{*words} for words in TOPICS.values()]
    pure = [max(len(topic & {*group}) for topic in of_topic) / len(group) for group in groups]
    assert np.mean(np.array(pure) > 0.9) > 0.5


def test_the_planted_topic_is_found_and_named(log):
    found = found_in(5)
    assert (found["others"], found["recall"] >= 0.95, found["precision"] > 0.9) == (0, True, True)
    rows = as_dataset(log)
    search = find_subgroups(rows)
    subgroup = search.subgroups[0]
    (said,) = subgroup.conditions
    assert {*said.words} <= {*TOPICS["travel"]}
    np.testing.assert_array_equal(
        np.flatnonzero(rows_holding(subgroup.conditions, rows)), subgroup.rows
    )
    sentence = describe_subgroup(subgroup)
    assert re.search("rows with (any|two or more) of “", sentence)
    assert "in question (held-out" in sentence
    assert all(f"“{word}”" in evidence_of(subgroup, search) for word in said.words)


def test_of_two_lists_the_longer_one_is_told_where_it_is_as_wrong():
    """40 rows are off by 0.3; those added by 0.3, by −0.1, or not at all."""
    c = np.full(1000, 0.8)
    short = np.arange(1000) < 40
    for count, share, told in ((60, 0.5, True), (60, 0.9, False), (200, 0.8, False)):
        wide = np.arange(1000) < 40 + count
        a = (np.arange(1000) % 10 < 8).astype(float)
        a[:40] = np.arange(40) % 2
        a[40 : 40 + count] = np.arange(count) % 10 < 10 * share
        average = Average.of(c, a, "zero", None)
        assert is_wider_slice(wide, short, 1, average) == told, (count, share)
        assert not is_wider_slice(short, wide, 1, average)
    elsewhere = np.arange(1000) >= 10
    assert not is_wider_slice(elsewhere, short, 1, average)


def test_words_must_be_surer_than_columns():
    """A place that words name is listed at four times its adjusted p-value, others at it."""
    log = answer_log(3000, gap=0.2, random_state=2)
    texts = as_dataset(log)
    column = dataclasses.replace(texts, metadata=None, groups={"planted": log.planted.astype(str)})
    for rows, part in ((texts, 4), (column, 1)):
        halves = halves_of(rows)
        assert halves.search(alpha=0.04).strictest == 0.04 / part
        tried = [
            item
            for half, held in halves.turns
            for item in try_on(held, half.candidates(None, 0.2, 12), halves.rows, "zero", 2)
        ]
        p = min(item.held.p_adjusted for item in tried if item.confirmed(1.0))
        assert 0 < p < 0.2
        assert halves.search(alpha=1.01 * part * p).subgroups
        assert not halves.search(alpha=0.99 * part * p).subgroups
