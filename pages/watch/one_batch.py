"""One batch: its change on the map, by columns and regions, and its landscape beside earlier."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import streamlit as st

from lore_core.data.arrays import Mask
from lore_core.data.number_text import (
    batches_words,
    interval_words,
    p_sentence,
    p_words,
    signed_points,
)
from lore_core.figures import change_figure, shared_limit, sums_landscape_figure
from lore_core.figures.browser.landscape import LiveLandscape
from lore_core.mergeable import Change, SummedBatches, Watched
from lore_core.mergeable.partitions.batches import place_words
from lore_core.regions import Field, Outline, SumsLandscape
from pages.shared.charts import chart_line, show_chart
from pages.shared.header import plain
from pages.shared.live import live_landscape
from pages.watch.looking import N_PLACES, Look

#: Batches with p up to this are marked; how often that is wrong was measured at it.
LEVEL = 0.01


def show_change(look: Look, of: Watched) -> None:
    """Draw the local error of a batch minus that of all before it, uncertain parts pale."""
    now, before = (_landscape_of(look, names) for names in ([of.name], _before(look, of)))
    if now.field is None:
        st.caption("Without a map in the plane there is no landscape of the change.")
        return
    change, is_certain = _difference(look.states_of(look.names), of.name, look.gamma, now, before)
    axes = look.batches.plan.embedding.name.title
    rows = f"{of.name} minus {batches_words(len(_before(look, of)))} before it, γ = {look.gamma:g}"
    found = [("1", box) for box in _boxes(of.change)]
    picture = change_figure(now, change, axes=axes, rows=rows, found=found)
    live = LiveLandscape(
        picture=picture,
        field=change,
        n_shown=now.sums.n_rows,
        map_key=f"{look.name} {axes}",
        vivid=Outline(change.x, change.y, is_certain.astype(np.float64)),
        gamma=look.gamma,
    )
    st.markdown(f"**{plain(picture.title)}: {plain(rows)}**")
    live_landscape(live, "watch_change")
    more = " 1: the region that changed most." if found else ""
    chart_line(picture, "watch_change", narrow=True, caption=f"{picture.how_to_read}{more}")


def list_changes(look: Look, of: Watched) -> None:
    """List the slices and regions in which a batch differs most from all before it."""
    change, bins = of.change, look.batches.plan.bins
    step = next(step for step in look.steps if step.name == of.name)
    _, slices = look.found.changes[step.up_to]
    marked = "significant change" if of.is_marked(LEVEL) else "no significant change"
    st.markdown(f"**{plain(f'{of.name}: {marked}, {p_sentence(of.p_value)}.')}**")
    if slices:
        st.dataframe(
            {
                "which rows": [item.name for item in slices],
                "rows before": [item.rows_before for item in slices],
                "rows of the batch": [item.rows for item in slices],
                "gap before, points": [signed_points(item.gap_before) for item in slices],
                "gap now, points": [signed_points(item.gap) for item in slices],
                "change, points": [signed_points(item.change) for item in slices],
                "95 % CI, all slices at once": [interval_words(i.low, i.high, 1) for i in slices],
                "p": [p_words(item.p_value) for item in slices],
            },
            hide_index=True,
        )
    if change is not None and not change.places.empty:
        most = change.places.head(N_PLACES)
        listed = {
            "where": [place_words(row, bins) for row in most.to_dict("records")],
            "change, points": [signed_points(value) for value in most["change"]],
            "rows before": most["rows_before"].astype(int).to_numpy(),
            "rows of the batch": most["rows_after"].astype(int).to_numpy(),
        }
        st.dataframe(listed, hide_index=True)
        st.caption(
            f"Change of confidence − accuracy, the most significant first. Of the regions only the "
            f"first is tested ({p_sentence(change.p_value)}); the others may overlap it."
        )


def show_before_and_after(look: Look, of: Watched) -> None:
    """Draw the landscapes of a batch and of what it is compared with, in one frame and scale."""
    before = _before(look, of)
    earlier, own = (_landscape_of(look, names) for names in (before, [of.name]))
    if earlier.field is None or own.field is None:
        st.caption("Without a map in the plane there is no landscape to draw.")
        return
    limit = shared_limit(
        *(item.values.mean_signed.value[item.supported] for item in (earlier, own))
    )
    drawn = partial(
        sums_landscape_figure,
        axes=look.batches.plan.embedding.name.title,
        limit=limit,
        found=[("1", box) for box in _boxes(of.change)],
        height=480,
    )
    first = drawn(earlier, title=f"{batches_words(len(before))} before it")
    left, right = st.columns(2)
    with left:
        show_chart(first, "watch_before", narrow=True)
    with right:
        show_chart(drawn(own, title=of.name, frame=first.extent), "watch_batch_map", narrow=True)
    st.caption("Two maps differ by noise as well, more so where rows are few.")


def _before(look: Look, of: Watched) -> list[str]:
    return look.names[: look.names.index(of.name)]


def _landscape_of(look: Look, names: list[str]) -> SumsLandscape:
    return _landscape(look.batches, names, look.states_of(names), look.gamma)


@st.cache_resource(max_entries=16, show_spinner="Looking at the map …")
def _difference(
    states: object, name: str, gamma: float, _now: SumsLandscape, _before: SumsLandscape
) -> tuple[Field, Mask]:
    del states, name, gamma  # what the cache goes by
    return _now.change_since(_before)


@st.cache_resource(max_entries=16, show_spinner="Looking at the map …")
def _landscape(
    _batches: SummedBatches, names: list[str], states: object, gamma: float
) -> SumsLandscape:
    del states  # what the cache goes by, of their files and the plan
    return SumsLandscape.of(_batches.joined(names), gamma=gamma)


def _boxes(change: Change | None) -> Iterator[Outline]:
    """Outline the place that changed most, where it is a part of a map in the plane."""
    if change is None or change.places.empty:
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
