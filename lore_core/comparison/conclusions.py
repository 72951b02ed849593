"""Conclusions about recalibration, groups, bandwidths and retraining: sentences that tests back."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from lore_core.comparison.effects import closer_to_zero
from lore_core.comparison.methods import Comparison
from lore_core.comparison.runs_result import RunsComparison
from lore_core.data.number_text import (
    HUNDREDTHS,
    decimal,
    gap_words,
    interval_words,
    p_sentence,
    points_words,
    rows_words,
    signed_points,
)
from lore_core.data.units import chosen_units
from lore_core.data.weights import chosen_weights
from lore_core.inference.simulation import NullBand
from lore_core.metrics.bandwidth import BandwidthCurve
from lore_core.metrics.catalogue import CATALOGUE, MLCE_SUPPORTED
from lore_core.metrics.gains import MIN_OF_EACH, MIN_ROWS, LossParts
from lore_core.metrics.global_metrics import counted_groups, share_interval
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE
from lore_core.metrics.metric import CurveKey, Metric
from lore_core.recalibration import NoRecalibration
from lore_core.regions.subgroups.find import Subgroup, SubgroupSearch
from lore_core.regions.subgroups.verdict import rows_of_subgroup


@dataclass(frozen=True)
class Conclusion:
    """What a page comes to."""

    #: The most important true finding; seldom more than one sentence.
    sentence: str
    is_significant: bool = False  #: Whether it states a significant finding


def quoted(names: Sequence[str], most: int = 2) -> str:
    """List names in quotation marks: ``"“A” and “B”"``, ``"“A”, “B” and 3 others"``."""
    parts = [f"“{name}”" for name in names[:most]]
    if (more := len(names) - most) > 0:
        parts.append(f"{more} other{'s' * (more > 1)}")
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def nothing_done(first: str) -> str:
    """Name the method the others are compared with, as a sentence does."""
    return "doing nothing" if first == NoRecalibration().label else f"“{first}”"


def conclude_bandwidths(curve: BandwidthCurve, chance: NullBand | None, *, on: str) -> Conclusion:
    """Say at which γ local errors exceed the null band the most.

    ``curve``: of the data; judged is the supported MLCE. ``chance``: what calibrated data with the
    same confidences show at the same bandwidths; None where that was not simulated. ``on``: the
    feature map.

    Where every confidence is right, at most 5 % of such sentences say that it does
    (:meth:`~lore_core.inference.simulation.NullBand.band`).
    """
    key: CurveKey = "mlce_supported"
    name, value = f"{MLCE_SUPPORTED.label} on {on}", curve.mlce_supported
    known = np.isfinite(value)
    if chance is None or not known.any():
        why = "what a calibrated model shows was not simulated"
        if not known.any():
            why = f"no row has {MIN_EFFECTIVE_SIZE:g} effective neighbours at any γ"
        return Conclusion(f"The {name} cannot be tested: {why}.")
    clear = known & chance.clear(key, value)
    if not clear.any():
        return Conclusion(
            f"At no γ does the {name} exceed the null band of a calibrated model ({known.sum()} "
            "bandwidths tested together)."
        )
    most = int(np.argmax(np.where(clear, chance.excess(key, value), -np.inf)))
    low, high = (end[most] for end in chance.band(key))
    return Conclusion(
        f"The {name} exceeds the null band at {clear.sum()} of {known.sum()} bandwidths, most at "
        f"γ = {curve.gamma[most]:.3g}: {points_words(value[most])} points, where a calibrated "
        f"model stays within {interval_words(low, high)}.",
        is_significant=True,
    )


def conclude_runs(result: RunsComparison, metric: str) -> Conclusion:
    """Say which method has the lowest mean of a metric, or which cannot be told apart from it.

    A method is called best where the intervals of its paired difference over runs to all others
    leave out 0, each at 1 − 5 % / their number (Bonferroni, as the best was picked by looking).
    """
    known, means = CATALOGUE[metric], result.table[metric].dropna().sort_values(kind="stable")
    if means.empty:
        return Conclusion(f"The {known.words} was not measured on any run.")
    best, *others = map(str, means.index)
    value = f"mean {known.words} {known.text(means.iloc[0])} {known.unit.name}".strip()
    if not others or result.n_runs < 2:
        what = "run has no spread" if result.n_runs < 2 else "method alone cannot be compared"
        return Conclusion(f"One {what}: no method can be called best (“{best}”: {value}).")
    found = result.difference(best, level=1 - 0.05 / len(others))
    mean, low, high = (part.loc[others, metric] for part in (found.mean, found.low, found.high))
    ends = known.interval_text(low.iloc[0], high.iloc[0])
    over = f"95 % CI {ends}, paired over {result.n_runs:,} runs" if ends else "no interval"
    apart = f"{known.text(mean.iloc[0])} {known.unit.name}".strip()
    tied = [name for name in others if not low[name] > 0]
    first, alike = result.methods[0], [best, *tied]
    below = result.difference(first, level=1 - 0.05 / len(others)).high[metric]
    if tied and (below[alike] < 0).all():
        return Conclusion(
            f"{quoted(alike)} have a significantly lower {known.words} than “{first}” "
            f"({known.text(means[first])} {known.unit.name}) and cannot be told apart: “{best}” "
            f"has {known.text(means.iloc[0])}, “{others[0]}” is higher by {apart} ({over}).",
            is_significant=True,
        )
    more = "; so are all others, significantly" if len(others) > 1 else ""
    if not tied:
        return Conclusion(
            f"“{best}” is best by {known.words} ({value}): “{others[0]}” is higher by {apart} "
            f"({over}){more}.",
            is_significant=True,
        )
    return Conclusion(
        f"No method is significantly best by {known.words}: “{best}” ({value}) cannot be told "
        f"apart from {quoted(tied)}. “{others[0]}” is higher by {apart} ({over})."
    )


#: Level of the test between groups, and least variance Σ q(1 − q) of a group in it.
_ALPHA, _MIN_VARIANCE = 0.05, 3.0


def conclude_groups(reports: Mapping[str, pd.DataFrame], min_group_size: int) -> Conclusion:
    """Say whether gaps differ between groups, which are significant, and what corrects the worst.

    ``reports``: :func:`~lore_core.comparison.effects.group_report` by method, of the same rows;
    others are compared with the first.

    What each sentence takes: docs/method.md ("Conclusions").
    """
    first, *others = reports
    before = reports[first].set_index("group")
    before = before[counted_groups(before["rows"], min_group_size)]
    before = before.loc[before["gap"].abs().sort_values(ascending=False, kind="stable").index]
    off = before[(before["gap_low"] > 0) | (before["gap_high"] < 0)]
    start = "" if first == NoRecalibration().label else f"After “{first}”: "
    between, n = _between(before), len(before)
    if off.empty:
        none = "none" if between else "No group"
        tested = "one group tested" if n == 1 else f"{n} groups tested together"
        wrong = f"{none} is significantly miscalibrated ({tested}); the largest gap is that of "
        wrong += _group(before)
    else:
        are = "are" if len(off) > 1 else "is"
        most = "most " * (len(off) > 1)
        wrong = f"{len(off)} of {n} {are} significantly miscalibrated, {most}{_group(off)}"
    text = f"{start}{between}{wrong}."
    if off.empty:
        return Conclusion(text)
    improved = _improved(before, {name: reports[name] for name in others}, str(off.index[0]))
    return Conclusion(f"{text}{improved}", is_significant=True)


def group_difference_p(table: pd.DataFrame) -> float:
    """P-value of a test that all groups have the same gap; NaN where fewer than two can be tested.

    Cochran's Q; the variance of a group's accuracy is that at its mean confidence less the common
    gap, which is at least what it is. Groups with less than three rows' worth are left out.
    """
    rows, confidence, gap = (table[name].to_numpy() for name in ("worth", "mean_confidence", "gap"))
    common = np.average(gap, weights=rows)
    expected = np.clip(confidence - common, 0.0, 1.0)
    variance = rows * expected * (1 - expected)
    used = variance >= _MIN_VARIANCE
    if used.sum() < 2:
        return math.nan
    weight = rows[used] ** 2 / variance[used]
    mean = np.average(gap[used], weights=weight)
    q = float((weight * (gap[used] - mean) ** 2).sum())
    return float(special.chdtrc(used.sum() - 1, q))


def _between(table: pd.DataFrame) -> str:
    """Say whether gaps differ between groups; "" where that cannot be tested."""
    p = group_difference_p(table)
    if math.isnan(p):
        return ""
    n = f"{len(table)} groups"
    if p > _ALPHA:
        return f"Gaps do not differ significantly between the {n} ({p_sentence(p)}); "
    gap, names = table["gap"].to_numpy(), list(table.index)
    low, high = int(gap.argmin()), int(gap.argmax())
    return (
        f"Gaps differ between the {n} ({p_sentence(p)}), from {signed_points(gap[low])} "
        f"(“{names[low]}”) to {signed_points(gap[high])} points (“{names[high]}”); "
    )


def _group(table: pd.DataFrame) -> str:
    """Name the first group with its gap, the interval and its rows."""
    rows = rows_words(int(table["rows"].iloc[0]))
    return f"“{table.index[0]}”: {gap_words(*_gaps(table)[0])} on {rows}"


def _gaps(table: pd.DataFrame) -> NDArray[np.float64]:
    return table[["gap", "gap_low", "gap_high"]].to_numpy(np.float64)


def _improved(before: pd.DataFrame, reports: Mapping[str, pd.DataFrame], worst: str) -> str:
    """Say which methods bring a group near to zero without making another worse."""
    if not reports:
        return ""
    gap, at = _gaps(before), list(before.index).index(worst)
    first_confidence = before["mean_confidence"].to_numpy(np.float64)
    low, high = first_confidence - gap[:, 2], first_confidence - gap[:, 1]
    after, confidence, change = {}, {}, {}
    for name, report in reports.items():
        table = report.set_index("group").loc[before.index]
        after[name] = _gaps(table)
        confidence[name] = table["mean_confidence"].to_numpy(np.float64)
        change[name] = closer_to_zero(low, high, first_confidence, confidence[name])
    helping = [name for name in reports if change[name][at] > 0]
    if not helping:
        return f" No method brings “{worst}” significantly nearer to zero."
    helping.sort(key=lambda name: abs(after[name][at, 0]))
    harmless = [name for name in reports if (change[name] >= 0).all()]
    if best := next((name for name in helping if name in harmless), None):
        rivals = [name for name in harmless if name != best]
        alike = [
            n for n in rivals if closer_to_zero(low, high, confidence[n], confidence[best])[at] <= 0
        ]
        more = f"; {quoted(alike)} may come as near" if alike else ""
        return (
            f" “{best}” brings “{worst}” nearest to zero without making another group "
            f"significantly worse: {gap_words(*after[best][at])}{more}."
        )
    name = helping[0]
    hurt = int(np.argmin(change[name]))
    return (
        f" Every method that brings “{worst}” significantly nearer to zero makes another group "
        f"worse: “{name}” takes it to {signed_points(after[name][at, 0])} points, and "
        f"“{before.index[hurt]}” from {signed_points(gap[hurt, 0])} to "
        f"{signed_points(after[name][hurt, 0])}."
    )


#: Gains below this share of the NLL are not worth a method.
SMALL_GAIN = 0.02


def conclude_recalibration(result: Comparison, search: SubgroupSearch | None = None) -> Conclusion:
    """Say which method helps, by how much, and what it does to the subgroup that is wrong.

    ``result``: the first method is what the others are compared with. ``search``: subgroups of the
    same rows, of the top label; the first is spoken of.

    What each sentence takes: docs/method.md ("Conclusions"). Either score errs in at most 2.5 %.
    """
    first, *others = (str(name) for name in result.table.index)
    if not others:
        return Conclusion(f"Only “{first}” is there: nothing to compare it with.")
    subgroup = search.subgroups[0] if search is not None and search.subgroups else None
    best, harmless = None, others
    if not result.ranked_by.proper:
        text = (
            "These data hold no whole probabilities, so no proper score can tell whether a method "
            f"is better than {nothing_done(first)}."
        )
    elif next(iter(result.summaries.values())).n_rows < 2:
        text = f"No method can be tested against {nothing_done(first)} on a single evaluation row."
    else:
        scores = [metric for metric in result.paired if metric.proper]
        nll = result.difference(scores[0])
        harmless = [name for name in others if not nll["low"][name] > 0]
        lower = [name for name in others if nll["difference"][name] < 0]
        for tested, by in enumerate(scores):
            high = result.difference(by)["high"]
            if better := [name for name in lower if high[name] < 0]:
                best = str(result.table.loc[better, by.name].idxmin())
                none = f"{_none_better(scores[:tested], others, first)}. " if tested else ""
                text = f"{none}{_on_score(result, by, first, best)}"
                break
        else:
            none = _none_better(scores, others, first)
            text = _at_most(result, scores[0], none, leave=subgroup is None)
    if subgroup is not None:
        text = f"{text} {_in_subgroup(result, first, best, harmless, subgroup)}"
    return Conclusion(text, is_significant=best is not None)


def _none_better(scores: list[Metric], others: list[str], first: str) -> str:
    """Say that no method is better than the first, without a full stop."""
    on, n = " and ".join(metric.name for metric in scores), len(others)
    which = f"“{others[0]}” is not" if n == 1 else f"none of {n} methods is"
    return f"On {on} {which} significantly better than {nothing_done(first)}"


def _at_most(result: Comparison, by: Metric, none: str, *, leave: bool) -> str:
    """Say how large a gain may have been missed, and perhaps to leave it."""
    before, gain = float(result.table[by.name].iloc[0]), -result.difference(by)["low"].min()
    start = "No significant improvement found"
    if gain <= SMALL_GAIN * before and leave:
        start = "Leave it"
    if gain <= before:
        left = f"the {by.name} of {by.text(before)} can fall by {by.text(gain)} at most (95 % CI)"
    else:
        left = f"the rows are too few to limit what can be gained on {by.name} (95 % CI)"
    return f"{start}: {none[0].lower()}{none[1:]}; {left}."


def _on_score(result: Comparison, by: Metric, first: str, best: str) -> str:
    """Say by how much a method is better on a proper score, and which may do as well."""
    difference, value = result.difference(by), result.table[by.name]
    others, better = [str(name) for name in difference.index], f"better than {nothing_done(first)}"
    change, low, high = (float(difference[end][best]) for end in ("difference", "low", "high"))
    numbers = (
        f"{by.text(value[first])} → {by.text(value[best])} ({by.unit.text(change, signed=True)}, "
        f"95 % CI {by.unit.interval_text(low, high, signed=True)})"
    )
    lower = [name for name in others if value[name] < value[best]]
    alike: list[str] = []
    if not lower and len(others) > 1:
        apart = result.difference(by, best)
        nearest = [str(name) for name in value[others].sort_values().index if name != best]
        alike = [name for name in nearest if not apart["low"][name] > 0]
        better += f", the best of {len(others)}" if alike else " and than every other method"
    rest = f"; {quoted(alike)} may do as well" if alike else ""
    if lower:
        reads = "reads" if len(lower) == 1 else "read"
        rest = f"; {quoted(lower)} {reads} lower, but not significantly"
    return f"“{best}” is significantly {better} on {by.name}: {numbers}{rest}."


def subgroup_gaps(result: Comparison, subgroup: Subgroup) -> pd.DataFrame:
    """Return the gap on a subgroup's held-out rows under each method, by its label.

    ``gap, low, high`` (95 %, Wilson) and ``change``: 1 where it is significantly nearer to zero
    than under the first method, −1 where it is further off; see
    :func:`~lore_core.comparison.effects.closer_to_zero`.
    """
    first, rows = next(iter(result.datasets.values())), subgroup.held_out
    weights = chosen_weights(first.weights, rows)
    units = chosen_units(first.units, rows)
    accuracy, low, high = share_interval(first.outcome[rows], weights, units)
    confidence = np.array(
        [np.average(item.confidence[rows], weights=weights) for item in result.datasets.values()]
    )
    columns = {"gap": confidence - accuracy, "low": confidence - high, "high": confidence - low}
    change = closer_to_zero(low, high, confidence[0], confidence)
    return pd.DataFrame({**columns, "change": change}, index=list(result.datasets))


def _in_subgroup(
    result: Comparison, first: str, best: str | None, harmless: list[str], subgroup: Subgroup
) -> str:
    """Say what the best method does to a subgroup, and which brings it nearest to zero."""
    gaps, n = subgroup_gaps(result, subgroup), len(subgroup.held_out)
    low, high = (gaps["gap"][first] - gaps[end][first] for end in ("high", "low"))

    def gap(name: str) -> float:
        return float(gaps["gap"][name])

    def with_interval(name: str) -> str:
        return gap_words(*gaps.loc[name, ["gap", "low", "high"]])

    def is_closer(name: str, than: str) -> bool:
        return bool(closer_to_zero(low, high, gap(than), gap(name)) > 0)

    on = f"On {n:,} held-out {rows_of_subgroup(subgroup)}"
    nearest = min(harmless, key=lambda name: abs(gap(name)), default=first)
    if best is None and not is_closer(nearest, first):
        worse = len(harmless) < len(gaps) - 1
        cost = f" without a significantly worse {result.ranked_by.name}" if worse else ""
        return f"{on} the gap is {with_interval(first)}; no method significantly narrows it{cost}."
    who, by_whom = ("it", best) if best is not None else (f"“{nearest}”", nearest)
    before, after = signed_points(gap(first)), with_interval(by_whom)
    if is_closer(by_whom, first):
        text = f"{on} {who} takes the gap from {before} to {after}"
    else:
        text = f"{on} {who} does not significantly narrow the gap: {before} → {after}"
    if is_closer(nearest, by_whom):
        text += f"; “{nearest}” comes nearer to zero, {with_interval(nearest)}"
    return f"{text}."


#: Gains of Brier score below this are of no consequence.
_SMALL = 0.001


def conclude_retraining(
    losses: LossParts | None, *, has_features: bool = True, simple_sample: bool = True
) -> Conclusion:
    """Say what recalibrating the confidence can gain, and what only the features can.

    ``losses``: None where rows are too few. ``has_features``: whether trees saw features, or the
    predicted class alone. ``simple_sample``: whether rows have neither weights nor units; of
    others nothing is estimated.

    "At most" and "at least" are ends of a 95 % interval.
    """
    if not simple_sample:
        return Conclusion(
            "Whether to recalibrate or to retrain was not tested: its bounds hold for rows without "
            "weights and units only."
        )
    if losses is None:
        return Conclusion(
            f"Whether to recalibrate or to retrain was not tested: that takes {MIN_ROWS} rows, "
            f"{MIN_OF_EACH} of them right and {MIN_OF_EACH} wrong."
        )
    by = "class and features" if has_features else "class"
    most, least = losses.calibration.high, losses.grouping.low
    of = f"{decimal(losses.score * HUNDREDTHS, 1)} points of Brier score"
    removes = f"can remove at most {_points(most)} of {of}"
    finds, helps = least >= _SMALL, losses.calibration.low > 0
    if finds:
        text = (
            f"Recalibrating the confidence alone is not enough: it {removes}; {by} can remove at "
            f"least {_points(least)} more (matrix scaling, LoRe smooth, a better model, more data)."
        )
    else:
        none = "Neither recalibration nor retraining is shown to help: recalibration"
        start = "Recalibrate: this" if helps else none
        small = "" if least == 0 else f" of {_points(_SMALL)} or more"
        text = f"{start} {removes}; no significant further gain from {by}{small} was found."
    return Conclusion(text, is_significant=finds or helps)


def retraining_in_subgroup(losses: LossParts | None) -> str:
    """Say what can be gained on the held-out rows of a subgroup; "" where they are too few."""
    if losses is None:
        return ""
    most, least = losses.calibration.high, losses.grouping.low
    text = (
        "Recalibrating these rows alone can remove at most "
        f"{_points(min(most, losses.score))} of their "
        f"{decimal(losses.score * HUNDREDTHS, 1)} points of Brier score"
    )
    if least < _SMALL:
        return f"{text}."
    return (
        f"{text}; to remove at least {_points(least)} more takes class and features: a better "
        "model, or more rows like these."
    )


def _points(share: float) -> str:
    value = share * HUNDREDTHS
    return decimal(value, 1 if value >= 10 else 2)
