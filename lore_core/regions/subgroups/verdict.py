"""Subgroups in plain words, and the one sentence all numbers come to: the verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import ndtri

from lore_core.data.number_text import (
    HUNDREDTHS,
    decimal,
    interval_95,
    percent,
    points_words,
    rows_words,
    share_words,
    with_points,
)
from lore_core.regions.subgroups.find import MOST_TRIED, Subgroup, SubgroupSearch
from lore_core.regions.subgroups.overall import OVERALL_ALPHA, SMALL, Overall
from lore_core.regions.variables.attributes import BRIGHTNESS, PREDICTED, Predicate, quoted

if TYPE_CHECKING:
    from lore_core.recalibration import Recalibrator

_ALIKE = "rows of the same confidence"
#: A subgroup leads where it makes up this share of the overall gap; else all rows do.
_LEADS = 0.5
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

    All rows come first, unless they are calibrated, or the first subgroup makes up half of their
    gap. The two tests spend 0.01 and 0.04: of models whose every confidence is right at most 5 %
    get another verdict than "good".
    """
    on_average = _on_average(overall, top_label)
    if search is None or not search.subgroups:
        nowhere = "" if search is None else _nowhere(overall, search)
        return Verdict("global" if overall.matters else "good", on_average, nowhere, None)
    top = search.subgroups[0]
    words, evidence = describe_subgroup(top), evidence_of(top, search, top_label=top_label)
    same_sign = top.sign * overall.gap > 0 or abs(overall.gap) < SMALL
    part = top.n_rows / overall.n_rows * abs(top.held.gap)
    if not overall.matters or (same_sign and part >= _LEADS * overall.size):
        return Verdict("local", f"{words}.", f"{evidence} {on_average}", top)
    return Verdict("global", on_average, f"Worst subgroup: {_lower(words)}. {evidence}", top)


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def leaning(gap: float) -> str:
    """Return the direction of a gap: ``"Overconfident"`` or ``"Underconfident"``."""
    return "Overconfident" if gap > 0 else "Underconfident"


def means_words(confidence: float, accuracy: float, *, top_label: bool = True) -> str:
    """Say both means: ``"mean confidence 89 %, accuracy 77 %"``."""
    names = ("confidence", "accuracy") if top_label else ("probability", "observed frequency")
    return f"mean {names[0]} {share_words(confidence)}, {names[1]} {share_words(accuracy)}"


def _on_average(overall: Overall, top_label: bool) -> str:
    means = means_words(overall.confidence, overall.accuracy, top_label=top_label)
    if overall.p_value > OVERALL_ALPHA:
        return f"No significant miscalibration overall (n = {overall.n_rows:,}): {means}."
    ece = with_points(overall.error, 1)
    small = "" if overall.matters else f" This is significant but small: ECE {ece}."
    if overall.gap_p <= OVERALL_ALPHA / 2:
        low, high = sorted(
            np.sign(overall.gap) * end for end in (overall.gap_low, overall.gap_high)
        )
        return (
            f"{leaning(overall.gap)} by {with_points(abs(overall.gap), 1)} overall "
            f"({interval_95(low, high, 1)}, n = {overall.n_rows:,}): {means}.{small}"
        )
    levels = f"{decimal(overall.worst_low * HUNDREDTHS, 1)} to {percent(overall.worst_high)}"
    what = "confidences" if top_label else "probabilities"
    return (
        f"{leaning(overall.worst_gap)} by {with_points(abs(overall.worst_gap), 1)} at {what} of "
        f"{levels} ({rows_words(overall.worst_rows)}), though not on average: {means}.{small}"
    )


def _nowhere(overall: Overall, search: SubgroupSearch) -> str:
    gap = detectable_gap(overall, search.strictest)
    if search.tried == 0 or gap >= 0.5:
        return search.sentence
    further = "" if search.against == "zero" else " more than that"
    return (
        f"{search.sentence} A subgroup of a tenth of the rows that is off by {with_points(gap)}"
        f"{further} would have been found, at least in part, about four times in five."
    )


def detectable_gap(overall: Overall, alpha: float, *, share: float = 0.1) -> float:
    """How far off a subgroup must be to be found four times in five.

    ``overall``: of the rows that are searched. ``alpha``: of the search. ``share``: rows of the
    subgroup, as a share of all.

    Formula: docs/method.md ("Subgroups and the verdict"); how often they are found: docs/trust.md.
    """
    m = max(share * overall.worth / 2, 1.0)
    deviation = np.sqrt(overall.accuracy * (1 - overall.accuracy) / m)
    each = np.sqrt(1 - np.sqrt(1 - _POWER))
    level = alpha / (2 * MOST_TRIED)
    shown = (ndtri(each) - ndtri(level)) * deviation + 0.5 / m
    return float(shown / _IN_COMMON)


def name_of_subgroup(subgroup: Subgroup) -> str:
    """Name a subgroup as a heading does: as the user did, else ``"Rows predicted Shirt"``."""
    return subgroup.name or generated_name(subgroup)


def generated_name(subgroup: Subgroup) -> str:
    """Name a subgroup by its definition: ``"Rows predicted Shirt"``."""
    return capitalized(_rows_by_definition(subgroup))


def capitalized(text: str) -> str:
    """Return words as a heading has them."""
    return text[:1].upper() + text[1:]


def rows_of_subgroup(subgroup: Subgroup) -> str:
    """Name its rows in a sentence: ``"rows predicted Shirt"``, ``"rows of “Night images”"``."""
    return f"rows of “{subgroup.name}”" if subgroup.name else _rows_by_definition(subgroup)


def _rows_by_definition(subgroup: Subgroup) -> str:
    if not subgroup.is_region:
        return rows_with_conditions(subgroup.conditions)
    words = [_image_words(part) for part in subgroup.label]
    image = next(filter(None, words), "")
    named = [part for part, adjective in zip(subgroup.label, words, strict=True) if not adjective]
    most = f"mostly {image} images" if image else "rows mostly"
    if named:
        return f"{most} {_region_words(named)}"
    if image:
        return most
    if len(subgroup.centre) in (2, 3):
        at = ", ".join(f"{value:.3g}".replace("-", "−") for value in subgroup.centre)
        return f"rows around ({at}) on the map"
    return "rows in one region of the map"


def _image_words(part: Predicate) -> str:
    """Return an adjective for low or high brightness, else ""."""
    if part.column != BRIGHTNESS:
        return ""
    return "dark" if part.low == -math.inf else "light" if part.high == math.inf else ""


def _region_words(label: list[Predicate]) -> str:
    """Say what most rows hold: names of one column are joined by "or"."""
    by: dict[str, list[Predicate]] = {}
    for part in label:
        by.setdefault(part.column, []).append(part)
    texts = []
    for column, parts in by.items():
        values = " or ".join(part.value for part in parts)
        if column == PREDICTED:
            texts.append(f"predicted {values}")
        else:
            texts.append(f"with {parts[0] if parts[0].words else f'{column} {values}'}")
    return " and ".join(texts)


def rows_with_conditions(conditions: Sequence[Predicate]) -> str:
    """Name the rows of a slice: ``"rows predicted Shirt with age ≥ 60"``."""
    predicted = [part.value for part in conditions if part.column == PREDICTED]
    others = [str(part) for part in conditions if part.column != PREDICTED]
    text = "rows"
    if predicted:
        text += f" predicted {predicted[0]}"
    return f"{text} with {' and '.join(others)}" if others else text


def describe_gap(subgroup: Subgroup) -> tuple[str, str]:
    """Say a subgroup's gap on held-out rows, and its 95 % interval."""
    held, sign = subgroup.held, subgroup.sign
    low, high = sorted(sign * end for end in (held.gap_low, held.gap_high))
    return f"{leaning(sign)} by {with_points(sign * held.gap)}", interval_95(low, high)


def describe_subgroup(subgroup: Subgroup) -> str:
    """Say a subgroup's gap on held-out rows, its 95 % interval and which rows it is of.

    ``"Overconfident by 10 points on 939 rows predicted Shirt (held-out, 95 % CI 7 to 12)"``
    """
    gap, interval = describe_gap(subgroup)
    return f"{gap} on {subgroup.n_rows:,} {rows_of_subgroup(subgroup)} (held-out, {interval})"


def evidence_of(subgroup: Subgroup, search: SubgroupSearch, *, top_label: bool = True) -> str:
    """Say what held-out rows show of a subgroup, and how it compares with similar rows."""
    held = subgroup.held
    means = means_words(held.confidence, held.accuracy, top_label=top_label)
    text = f"On {held.n_rows:,} held-out rows: {means}"
    is_worse = held.beyond_low > 0 if subgroup.sign > 0 else held.beyond_high < 0
    if search.against != "same confidence" and not is_worse:
        text += f"; not significantly worse than {_ALIKE}."
    else:
        more = held.excess if search.against == "same confidence" else held.beyond
        text += f"; {with_points(subgroup.sign * more)} worse than {_ALIKE}."
    for part in (*subgroup.conditions, *subgroup.label):
        if any(word not in part.value for word in part.words):
            text += f" All its words: {quoted(part.words)}."
    return text


@dataclass(frozen=True, eq=False)
class Remaining:
    """What a global method, fitted on the calibration rows, leaves wrong on the evaluation rows."""

    method: Recalibrator  #: Fitted
    overall: Overall  #: Test of all recalibrated rows
    search: SubgroupSearch  #: Search of the recalibrated rows

    def sentence(self, before: Overall) -> str:
        """Say what the method removes of the overall gap, and which subgroups remain wrong.

        ``before``: test of the same rows without the method.
        """
        left = self._of_subgroups()
        if before.matters:
            return f"{self._of_overall(before)}; {left}."
        if self.search.subgroups:
            name = _lower(self.method.label)
            return f"Global recalibration would not fix this: after {name} {left}."
        return f"{self.method.label}, a global method, would fix this: {left}."

    def _of_overall(self, before: Overall) -> str:
        now = self.overall
        if not now.matters:
            left = "no significant" if now.p_value > OVERALL_ALPHA else "little"
            return f"{self.method.label} would remove it, leaving {left} miscalibration overall"
        by_gap = before.gap_p <= OVERALL_ALPHA / 2
        was, after = (abs(x.gap) if by_gap else x.error for x in (before, now))
        what = "the overall gap" if by_gap else "the ECE"
        numbers = f"from {points_words(was, 1)} to {with_points(after, 1)}"
        return f"{self.method.label} would take {what} {numbers}"

    def _of_subgroups(self) -> str:
        found = self.search.subgroups
        if not found:
            return "no subgroup would remain significantly miscalibrated"
        parts: list[str] = []
        for sign in (1, -1):
            gaps = [sign * item.held.gap for item in found if item.sign == sign]
            if gaps:
                ends = sorted({points_words(gap) for gap in (min(gaps), max(gaps))}, key=float)
                by = f"{' to '.join(ends)} {'point' if ends == ['1'] else 'points'}"
                n = f"{len(gaps)} subgroup{'s' * (len(gaps) > 1)}" if not parts else f"{len(gaps)}"
                would = "would remain " if not parts else ""
                parts.append(f"{n} {would}{_lower(leaning(sign))} by {by}")
        return f"{' and '.join(parts)} (held-out)"
