"""Batches: where they come from, what is found of them, kept for all readers, and one of them."""

import dataclasses
from collections.abc import Collection, Hashable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from hashlib import sha256
from itertools import takewhile
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from lore_core import InputError, demo, reading
from lore_core.comparison import RowBatches, SliceChange
from lore_core.dashboard.worker_pool import Request
from lore_core.data.arrays import Mask
from lore_core.data.number_text import (
    batches_words,
    interval_words,
    p_sentence,
    p_words,
    signed_points,
)
from lore_core.data.progress import Progress, part_of, tell
from lore_core.figures import change_figure, shared_limit, sums_landscape_figure
from lore_core.figures.browser.landscape import LiveLandscape
from lore_core.mergeable import (
    Batches,
    Change,
    SummedBatches,
    Watched,
    change_between,
    metrics_of_sums,
)
from lore_core.mergeable.partitions.batches import place_words
from lore_core.mergeable.partitions.run import PLAN
from lore_core.reading.formats import SUFFIXES
from lore_core.regions import Field, Outline, SumsLandscape
from pages.shared import controls, files
from pages.shared.charts import chart_line, show_chart
from pages.shared.header import plain, show_error
from pages.shared.live import live_landscape, map_as_seen
from pages.shared.store import store

_SOURCE = "_watch_source"
_TEXT = (
    "**A model that was right last month may not be now:** give the rows of each day or week "
    "as a file, or open **Sample** to see what comes out. Where rows are too many or must not "
    "stay, this command saves *sums* of every batch in a directory, here *sums*."
)
_EXAMPLE = """lore watch sums 'days/day-*.parquet'
lore watch sums days/day-11.parquet    # one more, the day after"""


def choose(*, explain: bool) -> tuple[SummedBatches, files.State] | None:
    """Draw the sources; return the batches and their files; ``explain``: say what is wanted."""
    kind = controls.source_control("Batches from", "watch_from")
    if kind == controls.SAMPLE:
        st.caption("Ten days of made-up forecasts; from the seventh on one kind of rows is worse.")
        return _sample(), ()
    try:
        if kind == controls.DIRECTORY:
            text = files.directory_field(
                "Directory on this machine",
                "watch_path",
                "~/models/days",
                "Of files of rows, one a batch; or of sums, as lore watch makes it.",
            )
            if text:
                return _opened(files.named_path(text))
        else:
            uploads = controls.upload_control(
                "Files of rows, one a batch, in the order of their names",
                "watch_upload",
                help="As on the Data page; every column they share is searched for what changed.",
            )
            if uploads:
                return _read(uploads, [item.file_id for item in uploads]), ()
    except InputError as error:
        show_error(error)
        return None
    if explain:
        controls.explain_source(_TEXT, _EXAMPLE)
    return None


@st.cache_resource(show_spinner="Drawing the sample …")
def _sample() -> RowBatches:
    rows = demo.batches()
    assert rows.metadata is not None  # which name the day
    return RowBatches.of(rows, rows.metadata["day"].tolist())


def _opened(place: Path) -> tuple[SummedBatches, files.State]:
    state = files.directory_state(place, "Give the directory that holds it.")
    files.check_inside(place.iterdir())
    paths = [Path(name) for name, *_ in state]
    rows = [path for path in paths if path.suffix.lower() in SUFFIXES and path.name[0] != "."]
    if rows and not (place / PLAN).exists():
        return _read(rows, state), ()
    return files.once_a_state(_SOURCE, state, lambda: Batches.opened(place)), state


def _read(sources: list[Any], state: object) -> SummedBatches:
    def read() -> RowBatches:
        with st.spinner("Reading and checking …"):
            return RowBatches.of(*reading.read_batches(sources, isolate=True))

    return files.once_a_state(_SOURCE, state, read)


#: Simulations behind each p, and regions or slices of a batch that are kept.
N_DRAWS, N_PLACES = 999, 5
#: Batches with p up to this are marked; how often that is wrong was measured at it.
LEVEL = 0.01
#: Rough seconds of a megabyte of sums, and of any batch.
_MEGABYTE, _LEAST = 1.8, 0.04


@dataclass
class Found:
    """What is known of some batches."""

    #: Change of the map and of slices, by the states of all batches up to one.
    changes: dict[str, tuple[Change | None, tuple[SliceChange, ...]]] = field(default_factory=dict)
    #: Rows and metrics, by γ and the state of a batch.
    metrics: dict[Hashable, tuple[int, pd.DataFrame]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Batch:
    """One batch, and what tells its results from others'."""

    name: str
    state: Hashable  #: Of its rows and of the map
    own: Hashable  #: Of its metrics
    up_to: str  #: Of its change
    n_bytes: float


@dataclass(frozen=True)
class Look:
    """Batches as they are now, and the γ they are looked at with."""

    batches: SummedBatches
    state: files.State  #: Of a directory's files, with their paths; none of rows in memory
    gamma: float

    @cached_property
    def name(self) -> str:
        """What tells these batches from others."""
        if isinstance(self.batches, RowBatches):
            return self.batches.rows.digest
        return self.batches.what

    @cached_property
    def steps(self) -> list[_Batch]:
        """The batches that were there, in their order."""
        up_to, steps = "", []
        for name in self.batches.names:
            state, n_bytes = self.check(name)
            up_to = sha256(f"{up_to} {state!r}".encode()).hexdigest()
            steps.append(_Batch(name, state, (self.gamma, state), up_to, n_bytes))
        return steps

    def check(self, name: str) -> tuple[Hashable, float]:
        """Return the state of a batch and its size; InputError if it has changed since."""
        if not isinstance(self.batches, Batches):
            return (self.name, name), len(name)
        paths = [self.batches.directory / PLAN, self.batches.path_of(name)]
        now = files.states_of(paths)
        # What was found must be of the state that it is kept by.
        if len(now) < len(paths) or not set(now) <= set(self.state):
            raise InputError(f"the batch '{name}' was summed anew meanwhile. Reload the page.")
        return now, now[1][1]

    @cached_property
    def names(self) -> list[str]:
        """Names of the batches."""
        return [step.name for step in self.steps]

    def states_of(self, names: Collection[str]) -> tuple[Hashable, ...]:
        """Return what tells some batches, at any γ, from others."""
        return tuple(of.state for of in self.steps if of.name in names)

    @cached_property
    def found(self) -> Found:
        """What is known, to all readers."""
        found: Found | None = store().watched.get(self.name)
        if found is None:
            store().watched.put(self.name, found := Found())
        return found

    def is_known(self, of: _Batch) -> bool:
        """Whether a batch has been looked at."""
        return of.own in self.found.metrics and of.up_to in self.found.changes

    def watched(self) -> list[Watched]:
        """Return the batches that have been looked at, up to the first that has not."""
        watched = []
        for of in takewhile(self.is_known, self.steps):
            change, slices = self.found.changes[of.up_to]
            slice_p = slices[0].p_value if slices else nan
            watched.append(Watched(of.name, *self.found.metrics[of.own], change, slice_p))
        return watched

    @property
    def request(self) -> Request[None]:
        """The work that is left."""
        left = [of for of in self.steps if not self.is_known(of)]
        seconds = sum(_LEAST + _MEGABYTE * of.n_bytes / 1e6 for of in left)
        key = self.name, self.steps[-1].up_to, self.gamma
        what = "Comparing the batches"
        return Request(look_at, {"look": self}, key, what, seconds, lane="server")


def look_at(look: Look, progress: Progress) -> None:
    """Look at every batch that has not been; what is found is kept as soon as it is."""
    found, names, batches = look.found, look.names, look.batches
    before, n, n_before = None, len(names), 0
    for at, of in enumerate(look.steps):
        if look.is_known(of):
            continue
        step = part_of(progress, at / n, (at + 1) / n, f"{of.name}, {at + 1:,} of {n:,}")
        tell(step, 0.0, "")
        ((_, _, sums),) = batches.in_turn([of.name])
        if of.up_to not in found.changes:
            if n_before < at:
                before = batches.joined(names[:at], part_of(step, 0.0, 0.1))
            change: Change | None = None
            slices: tuple[SliceChange, ...] = ()
            if before is not None:
                change = change_between(before, sums, n_draws=N_DRAWS)
                # (Of thousands of regions only those that are listed are kept.)
                change = dataclasses.replace(change, places=change.places.head(N_PLACES))
                if isinstance(batches, RowBatches):
                    slices = tuple(batches.changes_of(at)[:N_PLACES])
            look.check(of.name)
            found.changes[of.up_to] = change, slices
            before, n_before = sums if before is None else before + sums, at + 1
            tell(step, 0.3, "")
        if of.own not in found.metrics:
            table = metrics_of_sums(sums, gamma=look.gamma).set_index("metric")
            look.check(of.name)
            found.metrics[of.own] = sums.n_rows, table


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
    vivid = Outline(change.x, change.y, is_certain.astype(np.float64))
    picture = change_figure(now, change, axes=axes, rows=rows, found=found)
    picture, key = dataclasses.replace(picture, vivid=vivid), f"{look.name} {axes}"
    live = LiveLandscape(
        picture=picture, field=change, n_shown=now.sums.n_rows, map_key=key, gamma=look.gamma
    )
    st.markdown(f"**{plain(picture.title)}: {plain(rows)}**")
    live_landscape(live, "watch_change")
    more = " 1: the region that changed most." if found else ""
    words, as_seen = f"{picture.how_to_read}{more}", map_as_seen(picture, key)
    chart_line(picture, "watch_change", narrow=True, caption=words, as_seen=as_seen)


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
