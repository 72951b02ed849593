"""Sentences of subgroups and of the verdict: numbers, signs and what comes first, by hand."""

import numpy as np
import pytest

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

GAP = {"gap": 0.73, "gap_low": 0.61, "gap_high": 0.786}
MORE = {"excess": 0.5, "excess_low": 0.4, "excess_high": 0.6}
BEYOND = {"beyond": 0.61, "beyond_low": 0.5, "beyond_high": 0.7}
HELD = {"n_rows": 80, "confidence": 0.89, "accuracy": 0.16, "p_value": 0.0, "p_adjusted": 0.0}
WHERE = (Predicate("place", "north"), Predicate("predicted class", "Shirt"))
OVERALL = {
    "n_rows": 1000, "confidence": 0.8, "accuracy": 0.79, "gap_low": -0.02, "gap_high": 0.04,
    "gap_p": 0.5, "error": 0.02, "error_p": 0.5, "worst_low": 0.6, "worst_high": 2 / 3,
    "worst_gap": -0.12, "worst_rows": 40, "worth": 1000.0,
}  # fmt: skip
OFF = {"accuracy": 0.7, "gap_low": 0.07, "gap_high": 0.13, "gap_p": 0.001, "error": 0.1}
MEANS = "mean confidence 80 %, accuracy 79 %."


def subgroup(sign=1, n_rows=192, **changes):
    numbers = {**GAP, **MORE, **BEYOND}
    if sign < 0:
        numbers = {name: -value for name, value in numbers.items()}
        for name in ("gap", "excess", "beyond"):
            low, high = numbers[f"{name}_high"], numbers[f"{name}_low"]
            numbers |= {f"{name}_low": low, f"{name}_high": high}
    held = Held(**{**HELD, **numbers, **changes})
    return Subgroup(np.arange(n_rows), sign, WHERE, 0.9, 0.2, held, np.arange(1))


def search(*found, tried=3, against="average"):
    return SubgroupSearch(list(found), tried, against, 1000, 0.8, 0.79, 0.04)


def overall(**changes):
    return Overall(**{**OVERALL, **changes})


@pytest.mark.parametrize(("sign", "word"), [(1, "Overconfident"), (-1, "Underconfident")])
def test_a_subgroup(sign, word):
    one = subgroup(sign)
    rows = "192 rows predicted Shirt with place north"
    assert describe_subgroup(one) == f"{word} by 73 points on {rows} (held-out, 95 % CI 61 to 79)"
    means = "On 80 held-out rows: mean confidence 89 %, accuracy 16 %"
    text = f"{means}; 61 points worse than rows of the same confidence."
    assert evidence_of(one, search(one)) == text
    same = evidence_of(one, search(one, against="same confidence"), top_label=False)
    assert "mean probability 89 %, observed frequency 16 %; 50 points worse than rows" in same
    fixed = subgroup(sign, beyond=0.01, beyond_low=-0.1, beyond_high=0.1)
    text = f"{means}; not significantly worse than rows of the same confidence."
    assert evidence_of(fixed, search(fixed)) == text


@pytest.mark.parametrize(
    ("changes", "level", "sentence"),
    [
        ({}, "good", f"No significant miscalibration overall (n = 1,000): {MEANS}"),
        (
            OFF,
            "global",
            "Overconfident by 10.0 points overall (95 % CI 7.0 to 13.0, n = 1,000): mean "
            "confidence 80 %, accuracy 70 %.",
        ),
        (
            {"error_p": 0.001, "error": 0.05},
            "global",
            "Underconfident by 12.0 points at confidences of 60.0 to 66.7 % (40 rows), though not "
            f"on average: {MEANS}",
        ),
        (
            {"gap_p": 0.001, "gap_low": 0.004, "gap_high": 0.016, "error": 0.011},
            "good",
            f"Overconfident by 1.0 points overall (95 % CI 0.4 to 1.6, n = 1,000): {MEANS} This is "
            "significant but small: ECE 1.1 points.",
        ),
    ],
)
def test_the_verdict_on_all_rows(changes, level, sentence):
    found = conclude(overall(**changes), None)
    assert (found.level, found.sentence, found.subgroup) == (level, sentence, None)


def test_all_rows_come_first_unless_a_subgroup_makes_up_half_of_their_gap():
    # 73 points on 68 of 1,000 rows are 4.96 of the 10 points of all rows; on 69 they are 5.04.
    for n_rows, level in ((68, "global"), (69, "local")):
        top = subgroup(n_rows=n_rows)
        found = conclude(overall(**OFF), search(top))
        assert (found.level, found.subgroup) == (level, top)
        first, other = describe_subgroup(top), "Overconfident by 10.0 points overall"
        if level == "global":
            first, other = other, f"Worst subgroup: {first[0].lower()}{first[1:]}"
        assert found.sentence.startswith(first)
        assert other in found.evidence
        assert evidence_of(top, search(top)) in found.evidence
    assert conclude(overall(**OFF), search(subgroup(-1))).level == "global"
    assert conclude(overall(), search(subgroup(n_rows=5))).level == "local"


def test_what_could_have_been_found_is_said():
    found = conclude(overall(), search())
    gap = detectable_gap(overall(), 0.04)
    assert f"that is off by {100 * gap:.0f} points more than that would have" in found.evidence
    assert "(3 tested on held-out rows)" in found.evidence
    assert conclude(overall(), search(tried=0)).evidence == search(tried=0).sentence


@pytest.mark.parametrize(
    ("before", "after", "left", "sentence"),
    [
        ({}, {}, [], "Temperature scaling, a global method, would fix this: no subgroup would rem"),
        ({}, {}, [1], "Global recalibration would not fix this: after temperature scaling 1 subgr"),
        (OFF, {}, [], "Temperature scaling would remove it, leaving no significant miscalibration"),
        (OFF, OFF, [], "Temperature scaling would not reduce the overall gap; no subgroup would"),
        (
            OFF,
            OFF | {"accuracy": 0.75, "error": 0.05},
            [1, 1, -1],
            "Temperature scaling would reduce the overall gap from 10.0 to 5.0 points; 2 subgroups "
            "would remain overconfident by 73 points and 1 underconfident by 73 points (held-out).",
        ),
    ],
)
def test_what_a_global_method_would_leave(before, after, left, sentence):
    found = search(*map(subgroup, left))
    remaining = Remaining("Temperature scaling", 100, overall(**after), found)
    assert remaining.sentence(overall(**before)).startswith(sentence)
