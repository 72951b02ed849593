"""Batches: where they come from, what is found of them, kept for all readers, and one of them."""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from lore_core import demo, reading
from lore_core.comparison import RowBatches
from lore_core.dashboard.worker_pool import Request
from lore_core.data.number_text import (
    batches_words,
    interval_words,
    p_sentence,
    p_words,
    signed_points,
)
from lore_core.data.progress import Progress
from lore_core.figures.browser.landscape import LiveLandscape
from lore_core.figures.pictures.landscape import change_figure, sums_landscape_figure
from lore_core.figures.pictures.landscape_picture import LandscapePicture
from lore_core.figures.pictures.picture import shared_limit
from lore_core.mergeable import Batches, Change, SummedBatches, Watched
from lore_core.mergeable.partitions.batches import N_PLACES, place_words
from lore_core.mergeable.partitions.run import PLAN
from lore_core.reading.formats import SUFFIXES
from lore_core.regions.field import Field, Outline, SumsLandscape
from pages.shared import files
from pages.shared.charts import chart_line
from pages.shared.controls import choose_source
from pages.shared.header import plain
from pages.shared.live import live_landscape, map_as_seen
from pages.shared.session import remembered
from pages.shared.store import store

_SOURCE = "_watch_source"
_TEXT = (
    "**A model that was right last month may not be now:** give the rows of each day or week "
    "as a file, or open **Sample** to see what comes out. Where rows are too many or must not "
    "stay, this command saves *sums* of every batch in a directory, here *sums*."
)
_EXAMPLE = """lore watch sums 'days/day-*.parquet'
lore watch sums days/day-11.parquet    # one more, the day after"""


def choose(*, explain: bool) -> SummedBatches | None:
    """Draw the sources; return the batches; ``explain``: say what is wanted."""
    return choose_source(
        "watch",
        _given,
        label="Batches from",
        sample="Ten days of made-up forecasts; from the seventh on one kind of rows is worse.",
        directory=(
            "Directory on this machine",
            "~/models/days",
            "Of files of rows, one a batch; or of sums, as lore watch makes it.",
        ),
        uploads=(
            "Files of rows, one a batch, in the order of their names",
            "As on the Data page; every column they share is searched for what changed.",
        ),
        wanted=(_TEXT, _EXAMPLE) if explain else None,
    )


@st.cache_resource(show_spinner="Drawing the sample …")
def _sample() -> RowBatches:
    rows = demo.batches()
    assert rows.metadata is not None  # which name the day
    return RowBatches.of(rows, rows.metadata["day"].tolist())


def _given(place: Path | list[Any] | None) -> SummedBatches:
    if place is None:
        return _sample()
    if isinstance(place, list):
        return _read(place, [item.file_id for item in place])
    state = files.directory_state(place, "Give the directory that holds it.")
    files.check_inside(place.iterdir())
    paths = [Path(name) for name, *_ in state]
    rows = [path for path in paths if path.suffix.lower() in SUFFIXES and path.name[0] != "."]
    if rows and not (place / PLAN).exists():
        return _read(rows, state)
    return files.once_a_state(_SOURCE, state, lambda: Batches.opened(place))


def _read(sources: list[Any], state: object) -> SummedBatches:
    def read() -> RowBatches:
        with st.spinner("Reading and checking …"):
            return RowBatches.of(*reading.read_batches(sources, isolate=True))

    return files.once_a_state(_SOURCE, state, read)


#: Batches with p up to this are marked; how often that is wrong was measured at it.
LEVEL = 0.01
#: Rough seconds of a megabyte of sums, and of any batch.
_MEGABYTE, _LEAST = 1.8, 0.04


@dataclass(frozen=True)
class Look:
    """Batches as they are now, and the γ they are looked at with."""

    batches: SummedBatches
    gamma: float

    @cached_property
    def name(self) -> str:
        """What tells these batches from others."""
        rows = self.batches.rows.digest if isinstance(self.batches, RowBatches) else ""
        return rows or self.batches.what

    @cached_property
    def names(self) -> list[str]:
        """Names of the batches."""
        return self.batches.names

    def state(self, names: list[str]) -> str:
        """Return what tells some batches from others."""
        return repr([self.batches.state_of(name) for name in names])

    @cached_property
    def found(self) -> dict[Hashable, Any]:
        """What is known, to all readers."""
        found: dict[Hashable, Any] | None = store().watched.get(self.name)
        if found is None:
            store().watched.put(self.name, found := {})
        return found

    @property
    def request(self) -> Request[list[Watched]] | None:
        """The work that is left, if any."""
        keys = self.batches.keys(gamma=self.gamma)
        left = [name for name, of in keys.items() if not {*of} <= self.found.keys()]
        if not left:
            return None
        seconds = _LEAST * len(left)
        if isinstance(self.batches, Batches):
            sizes = [self.batches.path_of(name).stat().st_size for name in left]
            seconds += _MEGABYTE * sum(sizes) / 1e6
        key, what = (self.name, self.state(self.names), self.gamma), "Comparing the batches"
        return Request(look_at, {"look": self}, key, what, seconds, lane="server")


def look_at(look: Look, progress: Progress | None = None) -> list[Watched]:
    """Look at every batch that has not been; what is found is kept as soon as it is."""
    return look.batches.movement(known=look.found, gamma=look.gamma, progress=progress)


def show_change(look: Look, of: Watched) -> None:
    """Draw the local error of a batch minus that of all before it, uncertain parts pale."""
    now, earlier = (_landscape_of(look, names) for names in ([of.name], _before(look, of)))
    if now.field is None:
        st.caption("Without a map in the plane there is no landscape of the change.")
        return
    key = ("change", look.state(look.names), of.name, look.gamma)
    change = remembered(key, lambda: now.change_since(earlier))
    axes, text = look.batches.plan.embedding.name.title, batches_words(len(_before(look, of)))
    frame = sums_landscape_figure(earlier, axes=axes).extent  # as before and after
    rows = f"{of.name} minus {text} before it, γ = {now.gamma:g}"
    picture = change_figure(now, change, axes=axes, rows=rows, found=_boxes(of.change), frame=frame)
    more = " 1: the region that changed most." if picture.regions else ""
    _show_map(look, now, picture, change[0], "watch_change", f"{picture.how_to_read}{more}")


def _show_map(
    look: Look,
    of: SumsLandscape,
    picture: LandscapePicture,
    field: Field | None,
    key: str,
    caption: str = "",
) -> None:
    """Draw a map of batches; all that are open move together."""
    on = f"{look.name} {look.batches.plan.embedding.name.title}"
    live = LiveLandscape(
        picture=picture,
        field=field,
        n_shown=of.sums.n_rows,
        map_key=on,
        gamma=look.gamma,
        link="batches",
    )
    st.markdown(f"**{plain(picture.title)}: {plain(picture.layers[0].name)}**")
    live_landscape(live, key)
    as_seen = map_as_seen(picture, on)
    chart_line(picture, key, narrow=True, caption=caption, as_seen=as_seen)


def list_changes(look: Look, of: Watched) -> None:
    """List the slices and regions in which a batch differs most from all before it."""
    change, slices, bins = of.change, of.slices, look.batches.plan.bins
    marked = "significant change" if of.is_marked(LEVEL) else "no significant change"
    st.markdown(f"**{plain(f'{of.name}: {marked}, {p_sentence(of.p_value)}.')}**")
    if slices:
        st.dataframe(
            {
                "which rows": [item.name for item in slices],
                "rows before": [f"{item.rows_before:,}" for item in slices],
                "rows of the batch": [f"{item.rows:,}" for item in slices],
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
            "rows before": [f"{n:,.0f}" for n in most["rows_before"]],
            "rows of the batch": [f"{n:,.0f}" for n in most["rows_after"]],
            "change, points": [signed_points(value) for value in most["change"]],
        }
        st.dataframe(listed, hide_index=True)
        st.caption(
            f"Change of confidence − accuracy, the most significant first. Of the regions only the "
            f"first is tested ({p_sentence(change.p_value)}); the others may overlap it."
        )


def show_before_and_after(look: Look, of: Watched) -> None:
    """Draw the landscapes of a batch and of what it is compared with, in one frame and scale."""
    before = _before(look, of)
    pair = [_landscape_of(look, names) for names in (before, [of.name])]
    if any(landscape.field is None for landscape in pair):
        st.caption("Without a map in the plane there is no landscape to draw.")
        return
    how: dict[str, Any] = {
        "axes": look.batches.plan.embedding.name.title,
        "limit": shared_limit(*(of.values.mean_signed.value[of.supported] for of in pair)),
        "found": _boxes(of.change),
        "height": 480,
    }
    titles = f"{batches_words(len(before))} before it", of.name
    for k, column in enumerate(st.columns(2)):
        picture = sums_landscape_figure(pair[k], title=titles[k], **how)
        how["frame"] = picture.extent
        with column:
            _show_map(look, pair[k], picture, pair[k].field, f"watch_{('before', 'now')[k]}")
    st.caption("Two maps differ by noise as well, more so where rows are few.")


def _before(look: Look, of: Watched) -> list[str]:
    return look.names[: look.names.index(of.name)]


def _landscape_of(look: Look, names: list[str]) -> SumsLandscape:
    def make() -> SumsLandscape:
        return SumsLandscape.of(look.batches.joined(names), gamma=look.gamma)

    return remembered(("landscape", look.state(names), look.gamma), make)


def _boxes(change: Change | None) -> list[tuple[str, Outline]]:
    """Outline the place that changed most, where it is a part of a map in the plane."""
    if change is None or change.places.empty or not np.isfinite(change.places["from_1"].iloc[0]):
        return []
    most = change.places.iloc[0]
    inside = np.zeros((12, 12))
    inside[1:-1, 1:-1] = 1.0
    x, y = (
        low + (high - low) * (np.arange(12) - 0.5) / 10
        for low, high in ((most[f"from_{m}"], most[f"to_{m}"]) for m in (1, 2))
    )
    return [("1", Outline(x, y, inside))]
