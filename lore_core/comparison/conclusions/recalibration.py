"""Conclusion about recalibration: by a proper score, and where the confidence is wrong."""

from __future__ import annotations

from functools import partial

import numpy as np

from lore_core.comparison.conclusions.conclusion import Conclusion, nothing_done, quoted
from lore_core.comparison.effects import closer_to_zero
from lore_core.comparison.methods import Comparison
from lore_core.data.number_text import gap_words, signed_points
from lore_core.data.weights import chosen_weights
from lore_core.metrics.global_metrics import share_interval
from lore_core.metrics.metric import Metric
from lore_core.regions.subgroups.find import Subgroup, SubgroupSearch
from lore_core.regions.subgroups.verdict import name_of_subgroup

#: A gain of NLL that is less, as a share of it, is not worth a method.
SMALL_GAIN = 0.02


def conclude_recalibration(result: Comparison, search: SubgroupSearch | None = None) -> Conclusion:
    """Say which method helps, by how much, and what it does to the subgroup that is wrong.

    ``result``: the first method is what the others are compared with. ``search``: subgroups of the
    same rows, of the top label; the first is spoken of.

    A method helps where its mean NLL is lower than that of the first by paired intervals that hold
    for all methods at once; of several the lowest is spoken of. Where there is none, one helps
    whose Brier score is lower so and whose NLL reads lower. Either score calls a method better
    that is not in at most 2.5 %. "Leave it" takes intervals that rule out a gain of 2 % of the NLL.

    The subgroup was tested by itself; its gap is that of its held-out rows, before and after, with
    one Wilson interval of their accuracy, which no method changes.
    """
    first, *others = (str(name) for name in result.table.index)
    if not others:
        return Conclusion(
            f"Only “{first}” is there: nothing to hold it against.", is_significant=False
        )
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
            if best := _best(result, by, lower):
                none = f"{_none_better(scores[:tested], others, first)}. " if tested else ""
                text = f"{none}{_on_score(result, by, first, best)}"
                break
        else:
            none = _none_better(scores, others, first)
            text = _at_most(result, scores[0], none, leave=subgroup is None)
    if subgroup is not None:
        text = f"{text} {_in_subgroup(result, first, best, harmless, subgroup)}"
    return Conclusion(text, is_significant=best is not None)


def _best(result: Comparison, by: Metric, among: list[str]) -> str | None:
    """Name the lowest of the methods that are significantly lower than the first, if any is."""
    better = [name for name in among if result.difference(by)["high"][name] < 0]
    return None if not better else str(result.table.loc[better, by.name].idxmin())


def _none_better(scores: list[Metric], others: list[str], first: str) -> str:
    """Say that no method is better than the first, without a full stop."""
    on, n = " and ".join(metric.name for metric in scores), len(others)
    which = f"“{others[0]}” is not" if n == 1 else f"none of {n} methods is"
    return f"On {on} {which} significantly better than {nothing_done(first)}"


def _at_most(result: Comparison, by: Metric, none: str, *, leave: bool) -> str:
    """Say how large a gain may have been missed, and to leave it where that is little.

    ``none``: that no method is better. ``leave``: whether nothing else asks for a method.
    """
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
    if len(others) == 1:
        return f"“{best}” is significantly {better} on {by.name}: {numbers}."
    if lower := [name for name in others if value[name] < value[best]]:
        return (
            f"“{best}” is the best on {by.name} of those significantly {better}: {numbers}; "
            f"{quoted(lower)} {'reads' if len(lower) == 1 else 'read'} lower, but not "
            "significantly."
        )
    apart = result.difference(by, best)
    alike = [name for name in value[others].sort_values().index if name != best]
    alike = [str(name) for name in alike if not apart["low"][name] > 0]
    also = f"; {quoted(alike)} may do as well" if alike else ""
    return (
        f"“{best}” is significantly {better}, the best of {len(others)} on {by.name}: "
        f"{numbers}{also}."
    )


def _in_subgroup(
    result: Comparison, first: str, best: str | None, harmless: list[str], subgroup: Subgroup
) -> str:
    """Say what the best method does to a subgroup, and which brings it nearest to zero."""
    rows, n = subgroup.held_out, len(subgroup.held_out)
    weights = chosen_weights(result.datasets[first].weights, rows)
    mean = partial(np.average, weights=weights)
    got, low, high = share_interval(result.datasets[first].outcome[rows], weights)
    promised = {name: float(mean(item.confidence[rows])) for name, item in result.datasets.items()}

    def gap(name: str) -> float:
        return promised[name] - got

    def with_interval(name: str) -> str:
        return gap_words(gap(name), promised[name] - high, promised[name] - low)

    def is_closer(name: str, than: str) -> bool:
        return bool(closer_to_zero(low, high, promised[than], promised[name]) > 0)

    # (A name may quote words.)
    name = name_of_subgroup(subgroup).replace("“", "‘").replace("”", "’")
    where = "the first region of the map" if subgroup.is_region else f"“{name}”"
    on = f"On the {n:,} held-out rows of {where}"
    nearest = min(harmless, key=lambda name: abs(gap(name)), default=first)
    if best is None and not is_closer(nearest, first):
        worse = len(harmless) < len(promised) - 1
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
