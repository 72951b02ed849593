"""Places in plain words: what was promised, what came, on which rows, and how it was tried."""

from __future__ import annotations

from lore_core.data.number_text import (
    interval_words,
    points_words,
    rows_words,
    share_words,
    with_points,
)
from lore_core.regions.places.average import Against
from lore_core.regions.places.find import Place, PlaceSearch
from lore_core.regions.variables.attributes import PREDICTED
from lore_core.regions.variables.words import quoted

_ALIKE = "rows of the same confidence"
#: What places are, by what they are compared with.
WORSE_THAN: dict[Against, str] = {
    "zero": "wrong",
    "average": "worse than the average",
    "same confidence": "worse than rows of the same confidence",
}


def name_of_place(place: Place) -> str:
    """Name a place as a sentence begins with it: ``"Rows predicted Shirt"``."""
    if place.is_region:
        said = " or ".join(part.value for part in place.mostly)
        if not said:
            return "One region of the map"
        column = place.mostly[0].column
        if place.mostly[0].words:
            return f"One region of the map (mostly {place.mostly[0]})"
        what = "predicted" if column == PREDICTED else column
        return f"One region of the map (mostly {what} {said})"
    predicted = [part.value for part in place.conditions if part.column == PREDICTED]
    others = [str(part) for part in place.conditions if part.column != PREDICTED]
    text = "Rows"
    if predicted:
        text += f" predicted {predicted[0]}"
    return f"{text} with {' and '.join(others)}" if others else text


def describe_place(place: Place, *, top_label: bool = True) -> str:
    """Say what was promised and what came, on how many rows.

    ``top_label``: whether being right is what is promised, or that one class occurs.
    """
    return f"{name_of_place(place)}: {promised_words(place, top_label=top_label)}"


def promised_words(place: Place, *, top_label: bool = True) -> str:
    """Say what was promised and what came: ``"promised 88 %, got 78 % (939 rows)"``.

    ``place``, ``top_label``: see :func:`describe_place`.
    """
    share = share_words(place.accuracy)
    came = f"got {share}" if top_label else f"{share} came true"
    return f"promised {share_words(place.confidence)}, {came} ({rows_words(place.n_rows)})"


def evidence_of(place: Place, search: PlaceSearch) -> str:
    """Say what the rows said that had no part in finding a place."""
    held = place.held
    low, high = sorted(place.sign * end for end in (held.gap_low, held.gap_high))
    lean = "too sure" if place.sign > 0 else "too unsure"
    text = (
        f"On the {held.n_rows:,} of them not used to find the place it is "
        f"{with_points(place.sign * held.gap)} {lean} ({interval_words(low, high)})"
    )
    if search.against == "same confidence":
        text += f", {points_words(place.sign * held.excess)} more than {_ALIKE}."
    elif place.mended_globally:
        text += f"; it is not clearly worse than {_ALIKE}."
    else:
        text += f", {points_words(place.sign * held.beyond)} more than {_ALIKE}."
    # (A name says only the first words of many.)
    long = [part for part in (*place.conditions, *place.mostly) if part.says_less]
    return " ".join([text, *(f"All its words: {quoted(part.words)}." for part in long)])


def describe_search(search: PlaceSearch) -> str:
    """Say what was tried, against what, and with which chance of a false place."""
    worse = WORSE_THAN[search.against]
    if search.tried == 0:
        return "No place looks wrong enough to be tried, or there are too few rows."
    if not search.places:
        return f"No place is {worse} beyond chance, of {search.tried} tried on rows held out."
    these = "this one is" if len(search.places) == 1 else f"these {len(search.places)} are"
    return (
        f"Of {search.tried} places found on one half of the rows and tried on the other, {these} "
        f"{worse} beyond chance. If none were, one would be listed in at most "
        f"{share_words(search.alpha)} of such searches."
    )
