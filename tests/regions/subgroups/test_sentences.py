import re

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from lore_core.metrics.global_metrics import wilson_interval
from lore_core.regions.subgroups.find import Subgroup, SubgroupSearch
from lore_core.regions.subgroups.held_out import Held
from lore_core.regions.subgroups.overall import Overall
from lore_core.regions.subgroups.verdict import (
    conclude,
    describe_subgroup,
    detectable_gap,
    evidence_of,
)
from lore_core.regions.variables.attributes import Predicate

SHARE = r"(under 0\.1|over 99\.9|[\d.]+) %"
POINTS = r"(−?[\d.]+)"
INTERVAL = rf"\({POINTS} to {POINTS}\)"
AGAINST = ("zero", "average", "same confidence")
NAMES = st.sampled_from(["predicted class", "place", "age", "brightness"])
WORDS = st.sampled_from(["Shirt", "north", "< 28", "0.2 to 0.5", "≥ 3"])
shares = st.integers(0, 10_000).map(lambda k: k / 10_000)


@st.composite
def helds(draw, sign):
    """What held-out rows say, wrong in one direction beyond chance, as what is listed is."""
    n = draw(st.integers(1, 200_000))
    right = draw(st.integers(0, n))
    low, high = (float(end) for end in wilson_interval(right, n))
    room = 1 - high if sign > 0 else low
    away = draw(st.floats(0.001, 1)) * room
    confidence = float(np.clip(high + away if sign > 0 else low - away, 0, 1))
    assume(abs(confidence - right / n) >= 0.02)
    beyond, excess = (draw(st.floats(-0.2, 1)) * sign for _ in range(2))
    wide, far = (draw(st.floats(0, 0.5)) for _ in range(2))
    return Held(
        n_rows=n,
        confidence=confidence,
        accuracy=right / n,
        gap=confidence - right / n,
        gap_low=confidence - high,
        gap_high=confidence - low,
        excess=excess,
        excess_low=excess - wide,
        excess_high=excess + wide,
        beyond=beyond,
        beyond_low=beyond - far,
        beyond_high=beyond + far,
        p_value=draw(st.floats(0, 0.01)),
        p_adjusted=draw(st.floats(0, 0.04)),
    )


@st.composite
def subgroups(draw):
    sign = draw(st.sampled_from([1, -1]))
    conditions = draw(st.lists(st.tuples(NAMES, WORDS), max_size=2, unique_by=lambda c: c[0]))
    return Subgroup(
        rows=np.arange(draw(st.integers(1, 3000))),
        sign=sign,
        conditions=tuple(Predicate(*names) for names in conditions),
        confidence=draw(shares),
        accuracy=draw(shares),
        held=draw(helds(sign)),
        held_out=np.arange(1),
    )


@st.composite
def searches(draw, most=2, least=0):
    return SubgroupSearch(
        subgroups=[draw(subgroups()) for _ in range(draw(st.integers(least, most)))],
        tried=draw(st.integers(0, 24)),
        against=draw(st.sampled_from(AGAINST)),
        n_rows=draw(st.integers(1, 10_000)),
        confidence=draw(shares),
        accuracy=draw(shares),
        alpha=0.04,
    )


@st.composite
def overalls(draw):
    n = draw(st.integers(1, 200_000))
    right = draw(st.integers(0, n))
    low, high = (float(end) for end in wilson_interval(right, n))
    confidence = draw(shares)
    gap = confidence - right / n
    edge = draw(st.integers(0, 14)) / 15
    return Overall(
        n_rows=n,
        confidence=confidence,
        accuracy=right / n,
        gap_low=confidence - high,
        gap_high=confidence - low,
        # A gap beyond chance lies outside of its interval.
        gap_p=draw(st.floats(0, 0.01)) if not low - 1e-3 <= confidence <= high + 1e-3 else 0.5,
        error=abs(gap) + draw(st.floats(0, 0.2)),
        error_p=draw(st.sampled_from([0.0005, 0.3])),
        worst_low=edge,
        worst_high=edge + 1 / 15,
        worst_gap=draw(st.floats(-1, 1)),
        worst_rows=draw(st.integers(1, n)),
        worth=float(n),
    )


def number(text: str) -> float:
    return float(text.replace("−", "-").replace(",", "").split()[-1])


def same(text: str, share: float) -> None:
    decimals = len(text.partition(".")[2])
    tolerance = 0.101 if "under" in text or "over" in text else 0.5001 * 10**-decimals
    assert number(text) == pytest.approx(share * 100, abs=max(tolerance, 1e-9))


def well_formed(text: str) -> None:
    assert not re.search(r"nan|inf|None|  |\.\.|-|−0(?![.\d])|−0\.0\b", text), text
    assert not re.search(r"(?<![\d.,−])1 (?:rows|points)|(?<![\d.,])(?!1 )[\d.,]+ row\b", text), (
        text
    )
    assert text == "" or (text[0].isupper() and text.endswith(".")), text


def says_the_place(text: str, subgroup: Subgroup) -> None:
    found = re.search(
        rf"promised {SHARE}, (?:got )?{SHARE}(?: came true)? \(([\d,]+) rows?\)", text
    )
    assert found, text
    same(found[1], subgroup.confidence)
    same(found[2], subgroup.accuracy)
    assert int(number(found[3])) == subgroup.n_rows
    for part in subgroup.conditions:
        name, value = part.column, part.value
        assert (f"predicted {value}" if name == "predicted class" else f"{name} {value}") in text


def says_the_evidence(text: str, subgroup: Subgroup, search: SubgroupSearch) -> None:
    held = subgroup.held
    seen = r"On the ([\d,]+) of them not used to find the place it is"
    found = re.search(rf"{seen} {POINTS} points? too (\w+) {INTERVAL}", text)
    assert found, text
    assert int(number(found[1])) == held.n_rows
    same(found[2], abs(held.gap))
    assert found[3] == ("sure" if held.gap > 0 else "unsure")
    ends = sorted((abs(held.gap_low), abs(held.gap_high)))
    same(found[4], ends[0])
    same(found[5], ends[1])
    assert number(found[4]) - 0.5 <= number(found[2]) <= number(found[5]) + 0.5
    more = re.search(rf", {POINTS} more than rows of the same confidence", text)
    if search.against == "same confidence":
        same(more[1], subgroup.sign * held.excess)
    elif more is None:
        assert "not clearly worse than rows of the same confidence" in text
        assert held.beyond_low <= 0 <= held.beyond_high or subgroup.sign * held.beyond <= 0
    else:
        same(more[1], subgroup.sign * held.beyond)
        assert number(more[1]) >= 0


def says_the_average(text: str, overall: Overall) -> None:
    found = re.search(rf"{SHARE} promised, {SHARE} (?:are right|came true)", text)
    assert found, text
    same(found[1], overall.confidence)
    same(found[2], overall.accuracy)
    if off := re.search(rf"On average it is ([\d.]+) points too (\w+) {INTERVAL}", text):
        same(off[1], abs(overall.gap))
        assert off[2] == ("sure" if overall.gap > 0 else "unsure")
        ends = sorted(np.sign(overall.gap) * end for end in (overall.gap_low, overall.gap_high))
        same(off[3], ends[0])
        same(off[4], ends[1])
        assert number(off[3]) - 0.101 <= number(off[1]) <= number(off[4]) + 0.101
    elif worst := re.search(
        r"promises ([\d.]+) to ([\d.]+) % \(([\d,]+) rows?\) it is ([\d.]+) points too (\w+)", text
    ):
        same(worst[1], overall.worst_low)
        same(worst[2], overall.worst_high)
        assert int(number(worst[3])) == overall.worst_rows
        same(worst[4], abs(overall.worst_gap))
        assert worst[5] == ("sure" if overall.worst_gap > 0 else "unsure")
    else:
        assert overall.p_value > 0.01
        n = re.search(r"as far as ([\d,]+) rows? tells?:", text)
        assert int(number(n[1])) == overall.n_rows
    if small := re.search(
        rf"real, and small: the calibration error \(ECE\) is {POINTS} points?", text
    ):
        same(small[1], overall.error)


@settings(max_examples=300, deadline=None)
@given(searches(most=1, least=1), st.booleans())
def test_the_sentences_of_a_place(search, top_label):
    (subgroup,) = search.subgroups
    sentence = describe_subgroup(subgroup, top_label=top_label)
    well_formed(f"{sentence}.")
    says_the_place(sentence, subgroup)
    assert ("got" in sentence) == top_label
    evidence = evidence_of(subgroup, search)
    well_formed(evidence)
    says_the_evidence(evidence, subgroup, search)


@settings(max_examples=400, deadline=None)
@given(overalls(), searches() | st.none(), st.booleans())
def test_the_verdict(overall, search, top_label):
    verdict = conclude(overall, search, top_label=top_label)
    text = f"{verdict.sentence} {verdict.evidence}".rstrip()
    well_formed(verdict.sentence)
    well_formed(verdict.evidence)
    says_the_average(text, overall)
    assert text.count("On average") + text.count("The average is right") == 1
    if search is None or not search.subgroups:
        assert verdict.subgroup is None
        assert verdict.level != "local"
    else:
        top = search.subgroups[0]
        assert verdict.subgroup is top
        # What is told of a place holds of all of it or of its held-out rows, each told once.
        says_the_place(verdict.sentence if verdict.level == "local" else verdict.evidence, top)
        says_the_evidence(verdict.evidence, top, search)
        assert text.count("promised") == 2
    if could := re.search(rf"off by {POINTS} points?", verdict.evidence):
        same(could[1], detectable_gap(overall, search.alpha))


@given(searches())
def test_the_search(search):
    sentence = search.sentence
    well_formed(sentence)
    if search.tried:
        assert re.search(r"[Oo]f (\d+)", sentence)[1] == str(search.tried)
