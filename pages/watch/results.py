"""Batches over time: how their errors move, and where one of them changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from lore_core import InputError
from lore_core.data.number_text import (
    batches_words,
    p_sentence,
    percent,
    rows_words,
    signed_points,
    unbroken,
)
from lore_core.figures import movement_figure, shared_limit, sums_landscape_figure
from lore_core.mergeable import (
    Batches,
    Change,
    LocalErrorSums,
    Watched,
    change_between,
    metrics_of_sums,
    movement_frame,
)
from lore_core.mergeable.cell_sums.stored import digest
from lore_core.mergeable.partitions.batches import change_words, movement_words, place_words
from lore_core.regions import SumsLandscape
from lore_core.regions.field import Outline
from pages.shared.charts import csv_button, show_chart
from pages.shared.controls import theme_mode
from pages.shared.header import plain
from pages.watch.source import Kept

#: Batches with p up to this are marked; how often that is wrong was measured at it.
_LEVEL = 0.01
_DRAWS = 999
#: Places that are listed.
_PLACES = 5
_KEPT = "_watched"
_ALL, _ONE = "all before it", "the one before"


def show(kept: Kept, gamma: float) -> None:
    """Show the batches of a directory."""
    try:
        watched = _watched(kept, gamma)
        _movement(kept.batches, watched)
        _batch(kept, watched, gamma)
    except InputError as error:
        said = str(error)
        st.error(plain(said[:1].upper() + said[1:]), icon=":material/error:")


def _watched(kept: Kept, gamma: float) -> list[Watched]:
    """Look at every batch, once for each state of the directory; what is known stays."""
    key = (kept.state, gamma)
    found: tuple[Any, list[Watched]] | None = st.session_state.get(_KEPT)
    if found is not None and found[0] == key:
        return found[1]
    names = kept.batches.names
    if not names:
        raise InputError(f"'{kept.batches.directory}' must hold a batch; it has none.")
    bar = st.progress(0.0)
    watched = []
    for step, (name, before, sums) in enumerate(kept.batches.in_turn()):
        bar.progress(step / len(names), plain(f"looking at {name}"))
        metrics = _metrics(sums, gamma)
        change = None if before is None else _change(before, sums)
        watched.append(Watched(name, sums.n_rows, metrics, change))
    bar.empty()
    st.session_state[_KEPT] = (key, watched)
    return watched


@st.cache_resource(max_entries=2_000, show_spinner=False, hash_funcs={LocalErrorSums: digest})
def _metrics(sums: LocalErrorSums, gamma: float) -> pd.DataFrame:
    return metrics_of_sums(sums, gamma=gamma).set_index("metric")


@st.cache_resource(max_entries=500, show_spinner=False, hash_funcs={LocalErrorSums: digest})
def _change(before: LocalErrorSums, after: LocalErrorSums) -> Change:
    return change_between(before, after, n_draws=_DRAWS)


def _movement(batches: Batches, watched: list[Watched]) -> None:
    """Draw and list the numbers of every batch."""
    table = movement_frame(watched)
    marked = [of.name for of in watched if of.is_marked(_LEVEL)]
    n_rows = rows_words(sum(of.n_rows for of in watched))
    count = batches_words(len(watched))
    if len(watched) == 1:
        st.info("One batch is kept: from the second on each is held against those before it.")
    elif marked:
        named = ", ".join(marked[-5:])
        more = f"{len(marked)} batches, the newest: " if len(marked) > 5 else ""
        st.warning(
            plain(f"Errors changed somewhere by more than chance in {more}{named}."),
            icon=":material/notification_important:",
        )
    else:
        st.success(
            plain(f"No batch of {len(watched)} shows a change beyond chance."),
            icon=":material/check_circle:",
        )
    st.caption(plain(f"{n_rows} in {count} on {batches.plan.note}."))
    chart = movement_figure(
        table,
        level=_LEVEL,
        rows=f"{count} on {batches.plan.embedding.name.title}",
        mode=theme_mode(),
    )
    show_chart(chart, "watch_movement")
    st.dataframe(pd.DataFrame(movement_words(watched, _LEVEL)), hide_index=True)
    st.caption(
        unbroken(
            f"p: the share of {_DRAWS} simulations, in which errors are at every place what they "
            "were in all earlier batches together, that show a place that changed as much; * at "
            f"{percent(_LEVEL, 0)} or less. So about one batch in a hundred of a model that does "
            "not change is marked for nothing. More rows in a place that was bad before are no "
            "change, though ECE, ALCE and MLCE may rise by them. New places: rows where no earlier "
            "row is near, of which the test says nothing."
        )
    )
    csv_button("All numbers", lambda: table, "movement", key="watch_csv")


def _batch(kept: Kept, watched: list[Watched], gamma: float) -> None:
    """Show where one batch differs from those before it."""
    later = {of.name: of for of in watched[1:]}
    if not later:
        return
    st.subheader("Where did it change?", anchor=False)
    left, right = st.columns(2, vertical_alignment="bottom")
    name = left.selectbox("Batch", list(later)[::-1], key="watch_batch", persist_state="session")
    held = right.segmented_control(
        "Shown beside",
        [_ALL, _ONE],
        default=_ALL,
        required=True,
        key="watch_beside",
        persist_state="session",
        help="The test is always against all before it.",
    )
    change = later[name].change
    assert change is not None  # it is not the first
    bins = kept.batches.plan.bins
    marked = later[name].is_marked(_LEVEL)
    start = "Beyond chance" if marked else "No more than chance shows"
    say = st.warning if marked else st.info
    say(plain(f"{start}, {p_sentence(change.p_value)}: {change_words(change, bins)}"))
    _maps(kept, name, held, gamma, change)
    if change.places.empty:
        return
    most = change.places.head(_PLACES)
    listed = {
        "place": [place_words(row, bins) for row in most.to_dict("records")],
        "change, points": [signed_points(value) for value in most["change"]],
        "rows before": [f"{int(n):,}" for n in most["rows_before"]],
        "rows of the batch": [f"{int(n):,}" for n in most["rows_after"]],
    }
    st.dataframe(pd.DataFrame(listed), hide_index=True)
    st.caption(
        "Change of confidence − accuracy against all earlier batches, the largest in standard "
        "errors first. p is that of the first; the others may overlap it, and have no test of "
        "their own."
    )


def _maps(kept: Kept, name: str, held: str, gamma: float, change: Change) -> None:
    """Draw the landscapes of a batch and of what it is held against, in one frame and scale."""
    earlier, own = (_landscape(sums, gamma) for sums in _sums_of(kept, name, held))
    if earlier.field is None or own.field is None:
        st.caption("The map is no plane: there is no landscape to draw.")
        return
    limit = shared_limit(
        np.concatenate([of.values.mean_signed.value[of.supported] for of in (earlier, own)])
    )
    axes = kept.batches.plan.embedding.name.title
    found = [("1", box) for box in _boxes(change)]
    names = kept.batches.names
    position = names.index(name)
    count = f"{batches_words(position)} before it"
    first = sums_landscape_figure(
        earlier,
        axes=axes,
        limit=limit,
        found=found,
        title=count if held == _ALL else names[position - 1],
        mode=theme_mode(),
        height=480,
    )
    second = sums_landscape_figure(
        own,
        axes=axes,
        limit=limit,
        frame=first.picture.extent,
        found=found,
        title=name,
        mode=theme_mode(),
        height=480,
    )
    left, right = st.columns(2)
    with left:
        show_chart(first, "watch_before", narrow=True)
    with right:
        show_chart(second, "watch_batch_map", narrow=True)
    said = "1: where it changed most. " if found else ""
    st.caption(
        f"{said}Two maps differ by chance as well, more so where rows are few; whether the batch "
        "differs from all before it by more than that is what p says."
    )


@st.cache_resource(max_entries=4, show_spinner=False, hash_funcs={Kept: lambda kept: kept.state})
def _sums_of(kept: Kept, name: str, held: str) -> tuple[LocalErrorSums, LocalErrorSums]:
    """Return the sums a batch is shown beside, and its own."""
    previous: LocalErrorSums | None = None
    for batch, before, sums in kept.batches.in_turn():
        if batch == name:
            earlier = before if held == _ALL else previous
            assert earlier is not None  # it is not the first
            return earlier, sums
        previous = sums
    raise InputError(f"the batch '{name}' is there no more. Reload the page.")


@st.cache_resource(
    max_entries=16, show_spinner="Looking at the map …", hash_funcs={LocalErrorSums: digest}
)
def _landscape(sums: LocalErrorSums, gamma: float) -> SumsLandscape:
    return SumsLandscape.of(sums, gamma=gamma)


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
