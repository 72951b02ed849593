import re

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from lore_core.metrics.global_metrics import wilson_interval
from lore_core.recalibration import TemperatureScaling
from lore_core.regions.subgroups.candidates import Held
from lore_core.regions.subgroups.find import Subgroup, SubgroupSearch
from lore_core.regions.subgroups.overall import Overall
from lore_core.regions.subgroups.verdict import (
    Remaining,
    conclude,
    describe_subgroup,
    detectable_gap,
    evidence_of,
)
from lore_core.regions.variables.attributes import Predicate

SHARE = r"(under 0\.1|over 99\.9|[\d.]+) %"
POINTS = r"(−?[\d.]+)"
INTERVAL = rf"95 % CI {POINTS} to {POINTS}"
MEANS = rf"mean (?:confidence|probability) {SHARE}, (?:accuracy|observed frequency) {SHARE}"
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
    far = draw(st.floats(0, 0.5))
    return Held(
        n_rows=n,
        confidence=confidence,
        accuracy=right / n,
        gap=confidence - right / n,
        gap_low=confidence - high,
        gap_high=confidence - low,
        excess=excess,
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
        rows=np.arange(draw(st.integers(2, 3000))),
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
        gap=gap,
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
    assert not re.search(r"nan|inf|None|  |\.\.|(?<!\w)-|−0(?![.\d])|−0\.0\b", text), text
    assert not re.search(r"(?<![\d.,−])1 (?:rows|points)|(?<![\d.,])(?!1 )[\d.,]+ row\b", text), (
        text
    )
    assert text == "" or ((text[0].isupper() or text[0].isdigit()) and text.endswith(".")), text


def says_the_subgroup(text: str, subgroup: Subgroup) -> None:
    """The gap stated is that of held-out rows, and lies within the interval beside it."""
    held = subgroup.held
    found = re.search(
        rf"(\w+)confident by {POINTS} points? on ([\d,]+) rows.*\(held-out, {INTERVAL}\)", text
    )
    assert found, text
    assert found[1].lower() == ("over" if subgroup.sign > 0 else "under")
    same(found[2], abs(held.gap))
    assert int(number(found[3])) == subgroup.n_rows
    ends = sorted((abs(held.gap_low), abs(held.gap_high)))
    same(found[4], ends[0])
    same(found[5], ends[1])
    assert number(found[4]) - 0.5 <= number(found[2]) <= number(found[5]) + 0.5
    for part in subgroup.conditions:
        name, value = part.column, part.value
        assert (f"predicted {value}" if name == "predicted class" else f"{name} {value}") in text


def says_the_evidence(text: str, subgroup: Subgroup, search: SubgroupSearch) -> None:
    held = subgroup.held
    found = re.search(rf"On ([\d,]+) held-out rows: {MEANS}", text)
    assert found, text
    assert int(number(found[1])) == held.n_rows
    same(found[2], held.confidence)
    same(found[3], held.accuracy)
    more = re.search(rf"; {POINTS} points? worse than rows of the same confidence", text)
    if search.against == "same confidence":
        same(more[1], subgroup.sign * held.excess)
    elif more is None:
        assert "not significantly worse than rows of the same confidence" in text
        assert held.beyond_low <= 0 <= held.beyond_high or subgroup.sign * held.beyond <= 0
    else:
        same(more[1], subgroup.sign * held.beyond)
        assert number(more[1]) >= 0


def says_the_average(text: str, overall: Overall) -> None:
    if off := re.search(
        rf"(\w+)confident by ([\d.]+) points? overall \({INTERVAL}, n = ([\d,]+)\): {MEANS}", text
    ):
        assert off[1].lower() == ("over" if overall.gap > 0 else "under")
        same(off[2], abs(overall.gap))
        ends = sorted(np.sign(overall.gap) * end for end in (overall.gap_low, overall.gap_high))
        same(off[3], ends[0])
        same(off[4], ends[1])
        assert int(number(off[5])) == overall.n_rows
        means = off[6], off[7]
        assert number(off[3]) - 0.101 <= number(off[2]) <= number(off[4]) + 0.101
    elif worst := re.search(
        rf"(\w+)confident by ([\d.]+) points? at \w+ of ([\d.]+) to ([\d.]+) % "
        rf"\(([\d,]+) rows?\), though not on average: {MEANS}",
        text,
    ):
        assert worst[1].lower() == ("over" if overall.worst_gap > 0 else "under")
        same(worst[2], abs(overall.worst_gap))
        same(worst[3], overall.worst_low)
        same(worst[4], overall.worst_high)
        assert int(number(worst[5])) == overall.worst_rows
        means = worst[6], worst[7]
    else:
        assert overall.p_value > 0.01
        found = re.search(rf"No significant miscalibration overall \(n = ([\d,]+)\): {MEANS}", text)
        assert found, text
        assert int(number(found[1])) == overall.n_rows
        means = found[2], found[3]
    same(means[0], overall.confidence)
    same(means[1], overall.accuracy)
    if small := re.search(rf"significant but small: ECE {POINTS} points?", text):
        same(small[1], overall.error)


@settings(max_examples=300, deadline=None)
@given(searches(most=1, least=1), st.booleans())
def test_the_sentences_of_a_subgroup(search, top_label):
    (subgroup,) = search.subgroups
    sentence = describe_subgroup(subgroup)
    well_formed(f"{sentence}.")
    says_the_subgroup(sentence, subgroup)
    evidence = evidence_of(subgroup, search, top_label=top_label)
    well_formed(evidence)
    says_the_evidence(evidence, subgroup, search)
    assert ("accuracy" in evidence) == top_label


@settings(max_examples=400, deadline=None)
@given(overalls(), searches() | st.none(), st.booleans())
def test_the_verdict(overall, search, top_label):
    verdict = conclude(overall, search, top_label=top_label)
    text = f"{verdict.sentence} {verdict.evidence}".rstrip()
    well_formed(verdict.sentence)
    well_formed(verdict.evidence)
    says_the_average(text, overall)
    if search is None or not search.subgroups:
        assert verdict.subgroup is None
        assert verdict.level != "local"
    else:
        top = search.subgroups[0]
        assert verdict.subgroup is top
        # All rows come first, unless they are calibrated or the subgroup makes up half of the gap.
        says_the_subgroup(verdict.sentence if verdict.level == "local" else verdict.evidence, top)
        says_the_evidence(verdict.evidence, top, search)
        share = top.n_rows / overall.n_rows * abs(top.held.gap)
        off = max(abs(overall.gap), overall.error)
        if verdict.level == "local" and overall.p_value <= 0.01 and off >= 0.02:
            assert share >= off / 2
    if could := re.search(rf"off by {POINTS} points?", verdict.evidence):
        same(could[1], detectable_gap(overall, search.alpha))


@settings(max_examples=300, deadline=None)
@given(overalls(), overalls(), searches(most=4))
def test_what_a_global_method_would_leave(before, after, search):
    remaining = Remaining(TemperatureScaling(), after, search)
    text = remaining.sentence(before)
    well_formed(text)
    is_off = before.p_value <= 0.01 and max(abs(before.gap), before.error) >= 0.02
    still = after.p_value <= 0.01 and max(abs(after.gap), after.error) >= 0.02
    assert ("fix this" in text) == (not is_off)
    assert ("would remove it" in text) == (is_off and not still)
    if not search.subgroups:
        assert "no subgroup would remain significantly miscalibrated" in text
        return
    n = sum(
        int(count)
        for count in re.findall(r"(\d+) (?:subgroups? would remain )?(?:over|under)", text)
    )
    assert n == len(search.subgroups)
    for word, sign in (("over", 1), ("under", -1)):
        gaps = [abs(item.held.gap) for item in search.subgroups if item.sign == sign]
        assert (f"{word}confident by" in text) == bool(gaps)


@given(searches())
def test_the_search(search):
    sentence = search.sentence
    well_formed(sentence)
    if search.tried:
        assert re.search(r"(\d+) (?:subgroups )?tested", sentence)[1] == str(search.tried)
