"""Whether recalibration helps: on a proper score, and where the confidence is wrong."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from lore_core.comparison.conclusions.conclusion import Conclusion, nothing_done, quoted
from lore_core.comparison.methods import Comparison
from lore_core.comparison.nearer import nearer
from lore_core.data.number_text import gap_words, signed_points
from lore_core.data.weights import chosen_weights
from lore_core.metrics.global_metrics import share_interval
from lore_core.metrics.metric import Metric
from lore_core.regions.places.find import Place, PlaceSearch
from lore_core.regions.places.sentences import name_of_place


def conclude_recalibration(result: Comparison, search: PlaceSearch | None = None) -> Conclusion:
    """Say which method helps, by how much, and what it does to the place that is wrong.

    Parameters
    ----------
    result : Comparison
        The first method is what the others are held against.
    search : PlaceSearch, optional
        Places of the same rows, of the top label; the first is spoken of.

    Notes
    -----
    A method helps where its mean NLL (or Brier score) is lower than that of the first by paired
    intervals that hold for all methods at once. Of these the lowest is spoken of. The place was
    tested by itself; its gap is that of its held-out rows, before and after, with one Wilson
    interval of their accuracy, which no method changes.
    """
    first, *others = (str(name) for name in result.table.index)
    if not others:
        return Conclusion(f"Only “{first}” is there: nothing to hold it against.", claims=False)
    place = search.places[0] if search is not None and search.places else None
    by = result.ranked_by
    if not by.proper:
        best, harmless = None, others
        said = (
            "These data hold no whole probabilities, so no proper score can tell whether a method "
            f"is better than {nothing_done(first)}."
        )
    else:
        difference = result.difference(by)
        harmless = [name for name in others if not difference["low"][name] > 0]
        best = _best(result, by, difference)
        said = _on_score(result, by, first, best, difference)
        if best is None and place is None:
            said = f"{said[:-1]}: leave it."
    if place is not None:
        said = f"{said} {_at_place(result, by, first, best, harmless, place)}"
    return Conclusion(said, claims=best is not None)


def _best(result: Comparison, by: Metric, difference: pd.DataFrame) -> str | None:
    """Name the lowest of the methods that are surely lower than the first; None: there is none."""
    surely = difference.index[difference["high"] < 0]
    return None if surely.empty else str(result.table.loc[surely, by.name].idxmin())


def _on_score(
    result: Comparison, by: Metric, first: str, best: str | None, difference: pd.DataFrame
) -> str:
    """Say whether methods help on a proper score, and by how much."""
    others, value = [str(name) for name in difference.index], result.table[by.name]
    n, before = len(others), nothing_done(first)
    if best is None:
        compared = "the one method compared is not" if n == 1 else f"none of {n} methods is"
        return f"On {by.name} {compared} surely better than {before}."
    change, low, high, _ = difference.to_numpy(float)[others.index(best)].tolist()
    numbers = (
        f"{by.text(value[first])} → {by.text(value[best])} ({by.unit.text(change, signed=True)}, "
        f"95 %: {by.unit.interval_text(low, high, signed=True)})"
    )
    if n == 1:
        return f"“{best}” is better than {before} on {by.name}: {numbers}."
    if lower := [name for name in others if value[name] < value[best]]:
        return (
            f"“{best}” is the best on {by.name} of those surely better than {before}: {numbers}; "
            f"{quoted(lower)} {'reads' if len(lower) == 1 else 'read'} lower, but not surely."
        )
    apart = result.difference(by, best)
    alike = [name for name in value[others].sort_values().index if name != best]
    alike = [str(name) for name in alike if not apart["low"][name] > 0]
    also = f"; {quoted(alike)} may do as well" if alike else ""
    return f"“{best}” is the best of {n} on {by.name}: {numbers}{also}."


def _at_place(
    result: Comparison,
    by: Metric,
    first: str,
    best: str | None,
    harmless: list[str],
    place: Place,
) -> str:
    """Say what the best method does to a place, and which brings it nearest to zero."""
    rows, n = place.held_out, len(place.held_out)
    weights = chosen_weights(result.datasets[first].weights, rows)
    mean = partial(np.average, weights=weights)
    got, low, high = share_interval(result.datasets[first].outcome[rows], weights)
    promised = {name: float(mean(item.confidence[rows])) for name, item in result.datasets.items()}

    def gap(name: str) -> float:
        return promised[name] - got

    def with_interval(name: str) -> str:
        return gap_words(gap(name), promised[name] - high, promised[name] - low)

    def is_nearer(name: str, than: str) -> bool:
        return bool(nearer(low, high, promised[than], promised[name]) > 0)

    # (A name may quote words.)
    name = name_of_place(place).replace("“", "‘").replace("”", "’")
    where = "the first region of the map" if place.is_region else f"“{name}”"
    on = f"On the {n:,} held-out rows of {where}"
    nearest = min(harmless, key=lambda name: abs(gap(name)), default=first)
    if best is None and not is_nearer(nearest, first):
        cost = "" if len(harmless) == len(promised) - 1 else f" without a surely worse {by.name}"
        return f"{on} the gap is {with_interval(first)}; no method surely narrows it{cost}."
    who, by_whom = ("it", best) if best is not None else (f"“{nearest}”", nearest)
    before, after = signed_points(gap(first)), with_interval(by_whom)
    if is_nearer(by_whom, first):
        said = f"{on} {who} takes the gap from {before} to {after}"
    else:
        said = f"{on} {who} does not surely narrow the gap: {before} → {after}"
    if is_nearer(nearest, by_whom):
        said += f"; “{nearest}” comes nearer to zero, {with_interval(nearest)}"
    return f"{said}."
