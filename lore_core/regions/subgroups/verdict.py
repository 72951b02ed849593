"""Subgroups in plain words, and the one sentence all numbers come to: the verdict."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

from lore_core.data.number_text import (
    HUNDREDTHS,
    decimal,
    interval_words,
    percent,
    points_words,
    rows_words,
    share_words,
    signed_gap,
    with_points,
)
from lore_core.regions.subgroups.find import MOST_TRIED, Subgroup, SubgroupSearch
from lore_core.regions.subgroups.overall import OVERALL_ALPHA, Overall
from lore_core.regions.variables.attributes import PREDICTED
from lore_core.regions.variables.words import quoted

_ALIKE = "rows of the same confidence"
#: A real average gap or calibration error below this, in shares, is said and called small.
SMALL = 0.02
#: A subgroup leads where its gap is so many times the average one; else the average does.
_LEADS = 1.5
#: The power that is stated.
_POWER = 0.8
#: What is found shares about so much with what is there.
_IN_COMMON = 0.8


@dataclass(frozen=True)
class Verdict:
    """What the numbers come to."""

    #: Nothing significant (or nothing that matters); a subgroup; all rows.
    level: Literal["good", "local", "global"]
    sentence: str  #: The most important thing that is true
    evidence: str  #: What it rests on, and what else is true
    subgroup: Subgroup | None  #: Where it is seen


def conclude(overall: Overall, search: SubgroupSearch | None, *, top_label: bool = True) -> Verdict:
    """Say the most important true thing first.

    ``overall``: test of all rows. ``search``: tested subgroups; None if not searched.
    ``top_label``: whether confidence is in being right, or in one class.

    The two tests spend 0.01 and 0.04: of models whose every confidence is right at most 5 % get
    another verdict than "good".
    """
    real = overall.p_value <= OVERALL_ALPHA
    matters = real and max(abs(overall.gap), overall.error) >= SMALL
    on_average = _on_average(overall, real, top_label)
    top = search.subgroups[0] if search is not None and search.subgroups else None
    if top is not None and search is not None:
        if not matters or abs(top.held.gap) >= _LEADS * max(abs(overall.gap), overall.error):
            evidence = f"{evidence_of(top, search)} {on_average}"
            return Verdict(
                "local", f"{describe_subgroup(top, top_label=top_label)}.", evidence, top
            )
        name = name_of_subgroup(top)
        most = f"{name[:1].lower()}{name[1:]}, {promised_words(top, top_label=top_label)}"
        evidence = f"What stands out most: {most}. {evidence_of(top, search)}"
        return Verdict("global", on_average, evidence, top)
    nowhere = "" if search is None else _nowhere(overall, search)
    return Verdict("global" if matters else "good", on_average, nowhere, None)


def _on_average(overall: Overall, real: bool, top_label: bool) -> str:
    right = "are right" if top_label else "came true"
    means = f"{share_words(overall.confidence)} promised, {share_words(overall.accuracy)} {right}"
    if not real:
        tell = f"{rows_words(overall.n_rows)} {'tells' if overall.n_rows == 1 else 'tell'}"
        return f"On average the confidence is right, as far as {tell}: {means}."
    matters = max(abs(overall.gap), overall.error) >= SMALL
    ece = with_points(overall.error, 1)
    small = "" if matters else f" That is real, and small: the calibration error (ECE) is {ece}."
    if overall.gap_p <= OVERALL_ALPHA / 2:
        low, high = sorted(
            np.sign(overall.gap) * end for end in (overall.gap_low, overall.gap_high)
        )
        ends = interval_words(low, high, 1)
        return f"On average it is {signed_gap(overall.gap)} ({ends}): {means}.{small}"
    levels = f"{decimal(overall.worst_low * HUNDREDTHS, 1)} to {percent(overall.worst_high)}"
    return (
        f"The average is right ({means}), single levels are not: where it promises {levels} "
        f"({rows_words(overall.worst_rows)}) it is {signed_gap(overall.worst_gap)}.{small}"
    )


def _nowhere(overall: Overall, search: SubgroupSearch) -> str:
    if search.tried == 0:
        return search.sentence
    gap = detectable_gap(overall, search.strictest)
    further = "off" if search.against == "zero" else "further off"
    power = (
        ""
        if gap >= 0.5
        else f" A place of a tenth of the rows that is {further} by "
        f"{with_points(gap)} would have been found, at least in part, about four times in five."
    )
    return f"{search.sentence}{power}"


def detectable_gap(overall: Overall, alpha: float, *, share: float = 0.1) -> float:
    """How far off a subgroup must be to be found four times in five.

    ``overall``: of the rows that are searched. ``alpha``: of the search. ``share``: rows of the
    subgroup, as a share of all.

    Held-out rows m = share·n/2 have to show z = Φ⁻¹(1 − α/24) on at least one half, with standard
    deviation √(p(1 − p)/m). Each half need succeed in 1 − √0.2 only, in two steps that are about as
    hard: to be found on the other half, and to be confirmed. The set found is not quite the true
    one, which takes a part of its gap. ``docs/trust.md`` has how often such subgroups are found.
    """
    m = max(share * overall.worth / 2, 1.0)
    deviation = np.sqrt(overall.accuracy * (1 - overall.accuracy) / m)
    each = np.sqrt(1 - np.sqrt(1 - _POWER))
    level = alpha / (2 * MOST_TRIED)
    shown = (stats.norm.isf(level) + stats.norm.ppf(each)) * deviation + 0.5 / m
    return float(shown / _IN_COMMON)


def name_of_subgroup(subgroup: Subgroup) -> str:
    """Name a subgroup as a sentence begins with it: ``"Rows predicted Shirt"``."""
    if subgroup.is_region:
        label = " or ".join(part.value for part in subgroup.label)
        if not label:
            return "One region of the map"
        column = subgroup.label[0].column
        if subgroup.label[0].words:
            return f"One region of the map (mostly {subgroup.label[0]})"
        what = "predicted" if column == PREDICTED else column
        return f"One region of the map (mostly {what} {label})"
    predicted = [part.value for part in subgroup.conditions if part.column == PREDICTED]
    others = [str(part) for part in subgroup.conditions if part.column != PREDICTED]
    text = "Rows"
    if predicted:
        text += f" predicted {predicted[0]}"
    return f"{text} with {' and '.join(others)}" if others else text


def describe_subgroup(subgroup: Subgroup, *, top_label: bool = True) -> str:
    """Say the mean confidence and accuracy, and on how many rows.

    ``top_label``: whether confidence is in being right, or in one class.
    """
    return f"{name_of_subgroup(subgroup)}: {promised_words(subgroup, top_label=top_label)}"


def promised_words(subgroup: Subgroup, *, top_label: bool = True) -> str:
    """Say the mean confidence and the accuracy: ``"promised 88 %, got 78 % (939 rows)"``."""
    share = share_words(subgroup.accuracy)
    came = f"got {share}" if top_label else f"{share} came true"
    return f"promised {share_words(subgroup.confidence)}, {came} ({rows_words(subgroup.n_rows)})"


def evidence_of(subgroup: Subgroup, search: SubgroupSearch) -> str:
    """Say what the rows said that had no part in finding a subgroup."""
    held = subgroup.held
    low, high = sorted(subgroup.sign * end for end in (held.gap_low, held.gap_high))
    lean = "too sure" if subgroup.sign > 0 else "too unsure"
    text = (
        f"On the {held.n_rows:,} of them not used to find the place it is "
        f"{with_points(subgroup.sign * held.gap)} {lean} ({interval_words(low, high)})"
    )
    if search.against == "same confidence":
        text += f", {points_words(subgroup.sign * held.excess)} more than {_ALIKE}."
    elif subgroup.is_fixed_by_all_rows:
        text += f"; it is not clearly worse than {_ALIKE}."
    else:
        text += f", {points_words(subgroup.sign * held.beyond)} more than {_ALIKE}."
    long = [part for part in (*subgroup.conditions, *subgroup.label) if part.says_less]
    return " ".join([text, *(f"All its words: {quoted(part.words)}." for part in long)])
