"""Fields, outlines, MLCE and chance at every γ of the slider, made in the background in parts."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from lore_core import Embedding
from lore_core.dashboard.worker_pool import lower_priority
from lore_core.data.progress import Cancelled, Progress
from lore_core.figures.browser.gamma_fields import GammaFields
from lore_core.figures.pictures.landscape import outlined_region
from lore_core.regions.field import rows_outline
from lore_core.regions.subgroups.average import Against
from lore_core.regions.subgroups.find import Halves, SubgroupSearch
from lore_core.view import View
from lore_core.view.preview import MAX_ROWS, preview_rows
from lore_core.view.where import curve_of, subgroups_of, view_halves
from pages.shared import compute
from pages.shared.controls import GAMMAS
from pages.shared.requests import offer
from pages.shared.scheduler import cancel_if_busy, wait_for_pages
from pages.shared.tasks import submit

#: Bandwidths of a part at most.
_PART_SIZE = 12
#: How long a browser waits for news; after which without a question nobody is waiting any more;
#: between two looks at what is simulated beside the server.
_ANSWER_SECONDS, _ABANDONED_SECONDS, _BAND_SECONDS = 2.0, 6.0, 0.5
#: Rows of which places are looked for at every bandwidth, in some seconds.
_MAX_SEARCHED_ROWS = 20_000
#: Kernel sums use every core: one set of fields at a time; those that lack fields come first.
_TURN = threading.Lock()
_unfinished: set[FieldParts] = set()


class FieldParts:
    """What a slider shows, in packed parts: the nearest γ first, and each part the same for all.

    ``view``: what is looked at, whichever its γ. ``bin_index``: None for all rows. ``on``: the map
    of the picture. ``search``: the places shown; None where they are not looked for.
    """

    def __init__(
        self, view: View, bin_index: int | None, on: Embedding, search: SubgroupSearch | None
    ) -> None:
        self.address = offer(self)  #: Where a browser asks for parts; their key, too
        self.fields_sent = threading.Event()  #: Set once a browser was given every field
        self._view, self._bin, self._on, self._search = view, bin_index, on, search
        self._parts: list[bytes] = []
        self._ready: list[GammaFields] = []
        self._to_make = set(range(len(GAMMAS)))
        self._pieces = self._make()
        self._is_done = False
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
        """Return a part, or after a moment without news an empty one."""
        number = asked.get("part")
        if not isinstance(number, int) or not 0 <= number <= len(self._parts):
            return None
        self.begin(self._near)
        with self._news:
            self._news.wait_for(lambda: self._has(number), _ANSWER_SECONDS)
            if not self._has(number):
                return GammaFields().packed(self.address, next_part=number, is_all=False)
            if number == len(self._parts):
                self._parts.append(self._next_part())
            return self._parts[number]

    def _has(self, number: int) -> bool:
        return number < len(self._parts) or bool(self._ready) or self._is_done

    def _next_part(self) -> bytes:
        part = GammaFields()
        for piece in self._ready[:_PART_SIZE]:
            part.add(piece)
        del self._ready[:_PART_SIZE]
        if not self._to_make and not any(piece.fields for piece in self._ready):
            self.fields_sent.set()
        is_all = self._is_done and not self._ready
        return part.packed(self.address, next_part=len(self._parts) + 1, is_all=is_all)

    def _work(self) -> None:
        lower_priority()
        if self._to_make:
            _unfinished.add(self)
        try:
            for piece in self._pieces:
                self._take(piece)
                if time.monotonic() - self._asked > _ABANDONED_SECONDS:
                    return
            with self._news:
                self._is_done = True
                self._news.notify_all()
        finally:  # else all others would make way for ever
            _unfinished.discard(self)

    def _take(self, piece: GammaFields | None) -> None:
        with self._news:
            if piece is not None:
                self._ready.append(piece)
                self._to_make -= piece.fields.keys()
            if not self._to_make:
                _unfinished.discard(self)
            self._news.notify_all()

    def _make(self) -> Iterator[GammaFields | None]:
        """Make what is missed most, piece by piece; None while one is still waited for."""
        yield from self._make_fields()
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
        if len(self._view.evaluation) > _MAX_SEARCHED_ROWS:
            return
        finder = _Outlines(self._view, self._on, against)
        for k in self._nearest_first():
            with self._turn():
                piece = finder.at_gamma(k)
            yield piece

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

    def _make_way(self, share: float, message: str) -> None:
        if _unfinished - {self}:
            raise Cancelled
        cancel_if_busy(share, message)


class _Outlines:
    """Places of a view at every γ, each looked for and tested as at the shown one.

    Most are columns' and the same at every bandwidth: an outline is made once for its rows.
    """

    def __init__(self, view: View, on: Embedding, against: Against) -> None:
        self._view, self._points, self._against = view, view.points(on=on), against
        self._halves: Halves | None = None
        self._keys: dict[bytes, int | None] = {}

    def at_gamma(self, k: int) -> GammaFields:
        """Return the places of a bandwidth by its number, and the outlines that are new."""
        if self._halves is None:
            self._halves = view_halves(self._view, against=self._against)
        search = subgroups_of(replace(self._view, gamma=GAMMAS[k]), halves=self._halves)
        found = GammaFields(subgroups={k: []})
        for number in range(len(search.subgroups)):
            key = self._key(search, number, found)
            if key is not None:
                found.subgroups[k].append((str(number + 1), key))
        return found

    def _key(self, search: SubgroupSearch, number: int, found: GammaFields) -> int | None:
        """Name an outline by its rows, and make it if it is new; None where they lie scattered."""
        rows = search.mask(number)
        name = rows.tobytes()
        if name not in self._keys:
            outline = rows_outline(self._points, rows)
            self._keys[name] = None
            if outline.holds_most(self._points[search.subgroups[number].rows]):
                key = self._keys[name] = len(self._keys)
                found.outlines[key] = outlined_region(str(number + 1), outline)
        return self._keys[name]


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
