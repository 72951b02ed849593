"""Where one batch changed: its landscape beside that of those before it."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from lore_core.data.number_text import batches_words, p_sentence, signed_points
from lore_core.figures import shared_limit, sums_landscape_figure
from lore_core.mergeable import Batches, Change, LocalErrorSums
from lore_core.mergeable.partitions.batches import change_words, place_words
from lore_core.regions import SumsLandscape
from lore_core.regions.field import Outline
from pages.shared.charts import show_chart
from pages.shared.controls import in_session, one_of
from pages.shared.header import plain
from pages.watch.looking import N_PLACES, Look

#: Batches with p up to this are marked; how often that is wrong was measured at it.
LEVEL = 0.01
_CHOSEN = "watch_batch"
_ALL, _ONE = "all before it", "the one before"


def chosen_batch() -> str | None:
    """Return the name of the batch that the reader looks at."""
    name: str | None = st.session_state.get(_CHOSEN)
    return name


def show_batch(look: Look) -> None:
    """Show where one batch differs from those before it."""
    later = look.names[1:]
    if not later:
        return
    st.subheader("Where did it change?", anchor=False)
    left, right = st.columns(2, vertical_alignment="bottom")
    name = left.selectbox("Batch", later[::-1], **in_session(_CHOSEN))
    held = one_of(
        "Shown beside",
        [_ALL, _ONE],
        **in_session("watch_beside"),
        help="The test is always against all before it.",
        into=right,
    )
    seen = next((of for of in look.watched() if of.name == name), None)
    if seen is None:
        st.caption(plain(f"{name} has not been looked at yet."))
        return
    change = seen.change
    assert change is not None  # it is not the first
    bins = look.batches.plan.bins
    marked = seen.is_marked(LEVEL)
    start = "Significant change" if marked else "No significant change"
    say = st.warning if marked else st.info
    say(plain(f"{start}, {p_sentence(change.p_value)}: {change_words(change, bins)}"))
    _maps(look, name, held, change)
    if change.places.empty:
        return
    most = change.places.head(N_PLACES)
    listed = {
        "where": [place_words(row, bins) for row in most.to_dict("records")],
        "change, points": [signed_points(value) for value in most["change"]],
        "rows before": [f"{int(n):,}" for n in most["rows_before"]],
        "rows of the batch": [f"{int(n):,}" for n in most["rows_after"]],
    }
    st.dataframe(pd.DataFrame(listed), hide_index=True)
    st.caption(
        "Change of confidence − accuracy from all earlier batches, the largest in standard errors "
        "first. p is of the first; the others may overlap it and are not tested."
    )


def _maps(look: Look, name: str, held: str, change: Change) -> None:
    """Draw the landscapes of a batch and of what it is compared with, in one frame and scale."""
    names = look.names
    position = names.index(name)
    others = names[:position] if held == _ALL else names[position - 1 : position]
    earlier, own = (
        _landscape(look.batches, some, look.states_of(some), look.gamma)
        for some in (others, [name])
    )
    if earlier.field is None or own.field is None:
        st.caption("The map is no plane: there is no landscape to draw.")
        return
    limit = shared_limit(
        np.concatenate([of.values.mean_signed.value[of.supported] for of in (earlier, own)])
    )
    found = [("1", box) for box in _boxes(change)]
    title = f"{batches_words(position)} before it" if held == _ALL else names[position - 1]
    drawn = partial(
        sums_landscape_figure,
        axes=look.batches.plan.embedding.name.title,
        limit=limit,
        found=found,
        height=480,
    )
    first = drawn(earlier, title=title)
    second = drawn(own, title=name, frame=first.extent)
    for column, chart, key in zip(
        st.columns(2), (first, second), ("watch_before", "watch_batch_map"), strict=True
    ):
        with column:
            show_chart(chart, key, narrow=True)
    text = "1: where it changed most. " if found else ""
    st.caption(
        f"{text}Two maps differ by noise as well, more so where rows are few; p tests whether the "
        "batch differs from all before it by more than that."
    )


@st.cache_resource(max_entries=4, show_spinner=False)
def _sums(_batches: Batches, names: list[str], states: object) -> LocalErrorSums:
    """Join some batches; ``states``: of their files and the plan."""
    del states  # what the cache goes by
    return _batches.joined(names)


@st.cache_resource(max_entries=16, show_spinner="Looking at the map …")
def _landscape(_batches: Batches, names: list[str], states: object, gamma: float) -> SumsLandscape:
    return SumsLandscape.of(_sums(_batches, names, states), gamma=gamma)


def _boxes(change: Change) -> Iterator[Outline]:
    """Outline the place that changed most, where it is a part of a map in the plane."""
    if change.places.empty:
        return
    most = change.places.iloc[0]
    if not np.isfinite(most["from_1"]):
        return
    inside = np.zeros((12, 12))
    inside[1:-1, 1:-1] = 1.0
    x, y = (
        low + (high - low) * (np.arange(12) - 0.5) / 10
        for low, high in ((most[f"from_{m}"], most[f"to_{m}"]) for m in (1, 2))
    )
    yield Outline(x, y, inside)
