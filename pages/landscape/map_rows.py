"""What a map asks for by itself: its rows, and fields, outlines and chance at every γ.

These are made in the background in parts.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from lore_core import Dataset, Embedding
from lore_core.dashboard.worker_pool import lower_priority
from lore_core.data.arrays import Floats
from lore_core.data.progress import Cancelled, Progress
from lore_core.figures.browser.landscape import EveryRow, GammaFields, every_row, pack, packed_rows
from lore_core.figures.pictures.landscape import outlined_region, row_hovers
from lore_core.figures.pictures.picture import shortened
from lore_core.regions import telling_column
from lore_core.regions.field import rows_outline
from lore_core.regions.subgroups.find import SubgroupSearch
from lore_core.regions.subgroups.overall import Against
from lore_core.view import View
from lore_core.view.scene import MAX_ROWS, Scene, preview_rows
from lore_core.view.where import curve_of, subgroups_of, view_halves
from pages.shared import compute
from pages.shared.controls import GAMMAS
from pages.shared.requests import offer
from pages.shared.rows import thumbnail_urls
from pages.shared.scheduler import is_page_running, release_slot, wait_for_pages
from pages.shared.tasks import submit

#: Seconds the page waits for the map, then for fields of all γ, of so many rows: the hand may be
#: on the slider while the browser loads Plotly.
_PICTURE_SECONDS, _FIELDS_SECONDS, _MAX_AWAITED_ROWS = 2.0, 1.5, 20_000
#: Rows whose images or words are sent at once, pixels of an image's side, letters of words.
_MAX_GLIMPSES, _SIDE_PIXELS, _MAX_LETTERS = 64, 96, 60
_KEY = "_map_rows"
#: Pieces that are sent at once.
_PART_SIZE = 12
#: Seconds a browser waits for news, until one that asks nothing is gone, between looks at a band.
_ANSWER_SECONDS, _ABANDONED_SECONDS, _BAND_SECONDS = 2.0, 6.0, 0.5
#: Rows of which places are looked for at every bandwidth, in some seconds.
_MAX_SEARCHED_ROWS = 20_000
#: Kernel sums use every core: one set of fields at a time; those that lack fields come first.
_TURN = threading.Lock()
_unfinished: set[FieldParts] = set()


class FieldParts:
    """What a slider shows, piece by piece, nearest γ first; ``search`` None: no subgroups."""

    def __init__(
        self, view: View, bin_index: int | None, on: Embedding, search: SubgroupSearch | None
    ) -> None:
        self.address = offer(self)  #: Where a browser asks for parts; their key, too
        self.fields_sent = threading.Event()  #: Set once a browser was given every field
        self._view, self._bin, self._on, self._search = view, bin_index, on, search
        self._pieces: list[GammaFields] = []
        self._left = self._make()
        self._fields_end, self._is_done = math.inf, False
        self._news = threading.Condition()
        self._asked, self._near = 0.0, view.gamma
        self._thread = threading.Thread()

    def begin(self, near: float) -> None:
        """Go on with what is missing: ``near`` this γ first, before a browser asks."""
        with self._news:
            self._asked, self._near = time.monotonic(), near
            if not self._is_done and not self._thread.is_alive():
                self._thread = threading.Thread(target=self._work, daemon=True)
                self._thread.start()

    def answer(self, asked: Mapping[str, Any]) -> bytes | None:
        """Return some pieces from one on, or after a moment without news none."""
        first = asked.get("part")
        if not isinstance(first, int) or not 0 <= first <= len(self._pieces):
            return None
        self.begin(self._near)
        if first >= self._fields_end:
            self.fields_sent.set()
        with self._news:
            self._news.wait_for(lambda: self._is_done or len(self._pieces) > first, _ANSWER_SECONDS)
            pieces = self._pieces[first : first + _PART_SIZE]
            is_all = self._is_done and first + len(pieces) == len(self._pieces)
        part = GammaFields()
        for piece in pieces:
            part.add(piece)
        return part.packed(self.address, next_part=first + len(pieces), is_all=is_all)

    def _work(self) -> None:
        lower_priority()
        if self._fields_end == math.inf:
            _unfinished.add(self)
        try:
            for piece in self._left:
                with self._news:
                    if piece is not None:
                        self._pieces.append(piece)
                    self._news.notify_all()
                if time.monotonic() - self._asked > _ABANDONED_SECONDS:
                    return
            with self._news:
                self._is_done = True
                self._news.notify_all()
        finally:  # else all others would make way for ever
            _unfinished.discard(self)

    def _make(self) -> Iterator[GammaFields | None]:
        """Make what is missed most, piece by piece; None while one is still waited for."""
        yield from self._make_fields()
        self._fields_end = len(self._pieces)
        _unfinished.discard(self)
        yield from self._make_curve()
        if self._search is not None and self._on.n_components == 2:
            yield from self._make_outlines(self._search.against)
        yield from self._make_band()

    def _make_fields(self) -> Iterator[GammaFields]:
        with self._turn():
            rows = preview_rows(self._view, bin_index=self._bin, on=self._on)
        if rows.rows is not None:
            yield GammaFields(sampled=rows.rows, n_sampled=MAX_ROWS)
        for k in self._nearest_first():
            with self._turn():
                at = rows.at_gamma(GAMMAS[k])
            yield GammaFields({k: at.field}, {} if at.lce is None else {k: at.lce})

    def _make_curve(self) -> Iterator[GammaFields | None]:
        curve = None
        while curve is None:
            with self._turn() as stop, suppress(Cancelled):
                curve = curve_of(self._view, stop)
            yield None if curve is None else GammaFields(curve=curve)

    def _make_outlines(self, against: Against) -> Iterator[GammaFields]:
        """Find places at every γ as at the shown one, and outline each set of rows once."""
        view, keys = self._view, dict[bytes, int | None]()
        if len(view.evaluation) > _MAX_SEARCHED_ROWS:
            return
        points, halves = view.points(on=self._on), None
        for k in self._nearest_first():
            with self._turn():
                halves = halves or view_halves(view, against=against)
                search = subgroups_of(replace(view, gamma=GAMMAS[k]), halves=halves)
                found = GammaFields(subgroups={k: []})
                for number in range(len(search.subgroups)):
                    name = search.mask(number).tobytes()
                    if name not in keys:
                        keys[name] = _add_outline(found, search, number, points, len(keys))
                    if (key := keys[name]) is not None:
                        found.subgroups[k].append((str(number + 1), key))
            yield found

    def _make_band(self) -> Iterator[GammaFields | None]:
        """Take what chance shows, where it is known by now."""
        request = compute.chance_request(self._view)
        if request is None:
            return
        while not (task := submit(request)).wait(_BAND_SECONDS):
            yield None
        if not task.failed:
            yield GammaFields(band=task.result())

    def _nearest_first(self) -> Iterator[int]:
        left = set(range(len(GAMMAS)))
        while left:
            k = min(left, key=lambda k: abs(float(np.log(GAMMAS[k] / self._near))))
            left.remove(k)
            yield k

    @contextmanager
    def _turn(self) -> Iterator[Progress | None]:
        """Compute alone, when no page runs; gives what stops work that may begin again."""
        # Among many readers some page always runs: then it is done all the same.
        stop = self._make_way if wait_for_pages() else None
        with _TURN:
            yield stop

    def _make_way(self, _share: float, _message: str) -> None:
        if _unfinished - {self} or is_page_running():
            raise Cancelled


def _add_outline(
    found: GammaFields, search: SubgroupSearch, number: int, points: Floats, key: int
) -> int | None:
    """Add the outline of a place as ``key`` and return this; None where its rows lie scattered."""
    outline = rows_outline(points, search.mask(number))
    if not outline.holds_most(points[search.subgroups[number].rows]):
        return None
    found.outlines[key] = outlined_region(str(number + 1), outline)
    return key


@st.cache_resource(max_entries=6, show_spinner=False)
def field_parts(
    key: str,  # noqa: ARG001 -- what the cache goes by
    _view: View,
    _bin: int | None,
    _on: Embedding,
    _search: SubgroupSearch | None,
) -> FieldParts:
    """Return what the slider shows; ``key`` names what is looked at, but for γ."""
    return FieldParts(_view, _bin, _on, _search)


class MapRows:
    """Answers what one reader's map asks about its rows."""

    def __init__(self) -> None:
        self.address = offer(self)
        self.asked = threading.Event()  #: Set once a browser asks, as when it has drawn the map
        self.scene: Scene | None = None
        self.key = ""
        self.fields: FieldParts | None = None  #: Of the slider, as long as they are shown
        self.has_waited = False

    def answer(self, asked: Mapping[str, Any]) -> bytes | None:
        """Answer with all rows, or with what is known of some."""
        self.asked.set()
        if self.scene is None or asked.get("rows") != self.key:
            return None
        dataset = self.scene.view.evaluation
        match asked:
            case {"all": True}:
                return packed_rows(rows_of(self.scene), self.key)
            case {"row": int(row)} if 0 <= row < len(dataset):
                return _detail(self.scene, row)
            case {"glimpses": list(wanted)}:
                known = [r for r in wanted if isinstance(r, int) and 0 <= r < len(dataset)]
                found = glimpses(dataset, np.array(known[:_MAX_GLIMPSES], int))
                return pack({"rows": self.key, "glimpses": found}, {})
        return None


def map_rows(scene: Scene, key: str, fields: FieldParts | None) -> MapRows:
    """Return what answers for the rows of a scene; ``key`` names them."""
    answers: MapRows = st.session_state.setdefault(_KEY, MapRows())
    answers.scene, answers.key, answers.fields = scene, key, fields
    if fields is not None and st.context.headers:  # else no browser will ask
        fields.begin(scene.view.gamma)
    return answers


def wait_until_drawn() -> None:
    """Wait a moment, once a session, for map and fields: what comes next makes the browser busy."""
    answers: MapRows | None = st.session_state.get(_KEY)
    if answers is None or answers.scene is None or not st.context.headers:  # no browser is there
        return
    n_rows = len(answers.scene.view.evaluation)
    with release_slot():
        is_there = answers.asked.wait(_PICTURE_SECONDS)
        is_first, answers.has_waited = not answers.has_waited, is_there
        if is_there and is_first and answers.fields is not None and n_rows <= _MAX_AWAITED_ROWS:
            answers.fields.fields_sent.wait(_FIELDS_SECONDS)


def rows_of(scene: Scene) -> EveryRow:
    """Return all evaluation rows as a map takes them."""
    view = scene.view
    return every_row(view.evaluation, view.target_rows, view.target, scene.errors, scene.points)


def glimpse_of(dataset: Dataset) -> Literal["image", "words"] | None:
    """Say what of a row can stand on the map; None where nothing can."""
    if dataset.images is not None:
        return "image"
    return None if telling_column(dataset) is None else "words"


def glimpses(dataset: Dataset, rows: NDArray[np.int64]) -> list[dict[str, int | str]]:
    """Return the ``image`` or the ``words`` of some rows, by their number ``row``."""
    column = telling_column(dataset)
    if dataset.images is not None:
        name, shown = "image", thumbnail_urls(dataset.images, rows, side=_SIDE_PIXELS)
    elif column is not None:
        name, shown = "words", [shortened(text, _MAX_LETTERS) for text in column.iloc[rows]]
    else:
        return []
    return [{"row": int(row), name: what} for row, what in zip(rows, shown, strict=True)]


def _detail(scene: Scene, row: int) -> bytes:
    (hover,) = row_hovers(scene.table(np.array([row])))
    images = scene.view.evaluation.images
    return pack(
        {
            "row": row,
            "gamma": scene.view.gamma,
            "lines": hover.text.split("\n"),
            "image": None if images is None else thumbnail_urls(images, np.array([row]))[0],
        },
        {},
    )
