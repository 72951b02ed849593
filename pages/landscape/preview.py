"""What a hand on the γ slider needs before it moves: fields, MLCE and chance at every bandwidth."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from lore_core import BandwidthCurve, Dataset, Embedding
from lore_core.chance import NullBand
from lore_core.data.progress import Cancelled, Progress
from lore_core.figures.browser.landscape import packed_rows
from lore_core.figures.browser.packing import pack
from lore_core.figures.browser.preview import PreviewOutlines, packed_preview
from lore_core.figures.pictures.every_row import EveryRow, every_row
from lore_core.figures.pictures.landscape import row_hovers
from lore_core.figures.pictures.picture import shortened
from lore_core.regions import telling_column
from lore_core.regions.places.find import PlaceSearch
from lore_core.view import View
from lore_core.view.preview import MOST_ROWS, PreviewField, PreviewRows, preview_rows
from lore_core.view.scene import Scene
from lore_core.view.where import curve_of
from pages.landscape.outlines import Outlines, outlines_of
from pages.shared import compute
from pages.shared.controls import GAMMAS
from pages.shared.live import live_feed
from pages.shared.requests import offer
from pages.shared.scheduler import cancel_if_busy, lower_priority, release_slot, wait_for_pages
from pages.shared.tasks import submit
from pages.shared.thumbnails import thumbnail_urls

#: Fields an answer, and seconds to wait for one.
_BATCH, _PATIENCE = 12, 2.0
#: Seconds that the rest of the page waits for the map to be drawn, and then for fields of all
#: bandwidths, of at most so many rows: the hand may be on the slider while the browser loads
#: Plotly.
_FIRST_PICTURE, _FIELDS, _MOST_WAITED_FOR = 2.0, 1.5, 20_000
#: Seconds after which nobody is taken to be waiting any more.
_FORGOTTEN = 6.0
#: Seconds between two looks at what is simulated beside the server.
_GLANCE = 0.5
#: Kernel sums use every core: one preview at a time; those that still lack fields come first.
_TURN = threading.Lock()
_lacking: set[Preview] = set()
_KEY = "_landscape_feed"
#: Rows whose images or words are sent at once, pixels of an image's side, letters of words.
_MOST_GLIMPSES, _SIDE, _LETTERS = 64, 96, 60


class Preview:
    """Fields at every bandwidth the slider offers, made in the background, nearest first.

    Parameters
    ----------
    key : str
        Names what is looked at, but for γ.
    view : View
        What is looked at, whichever its γ.
    bin_index : int or None
        The confidence bin; None for all rows.
    on : Embedding
        The map of the picture.
    outlines : Outlines or None
        Where places lie; None where they are not looked for.
    """

    def __init__(
        self,
        key: str,
        view: View,
        bin_index: int | None,
        on: Embedding,
        outlines: Outlines | None,
    ) -> None:
        self._key, self._view, self._bin, self._on = key, view, bin_index, on
        self._outlines = outlines
        self._rows: PreviewRows | None = None
        self._fields: dict[int, PreviewField] = {}
        self._places = PreviewOutlines()
        self._curve: BandwidthCurve | None = None
        self._band: NullBand | None = None
        self._rests = False
        self._news = threading.Condition()
        self._asked = 0.0
        self._near = view.gamma
        self._thread = threading.Thread()

    def begin(self) -> None:
        """Begin before a browser asks, as it will once it has drawn the map."""
        with self._news:
            self._asked = time.monotonic()
            self._start()

    @property
    def has_fields(self) -> bool:
        """Whether those of all bandwidths are there."""
        return len(self._fields) == len(GAMMAS)

    def _start(self) -> None:
        if not self._rests and not self._thread.is_alive():
            self._thread = threading.Thread(target=self._work, daemon=True)
            self._thread.start()

    def take(self, near: float, known: set[int], outlined: set[int]) -> bytes:
        """Pack what is not yet known in the browser, after a moment if nothing is.

        Parameters
        ----------
        near : float
            The bandwidth whose neighbours come first.
        known : set of int
            Numbers of the bandwidths whose fields are known.
        outlined : set of int
            Those of which it is known where places lie.
        """
        self._asked, self._near = time.monotonic(), near
        with self._news:
            self._start()
            if not self._rests:
                self._news.wait_for(lambda: self._has_news(known, outlined), _PATIENCE)
            fresh = sorted(self._fields.keys() - known, key=self._distance)[:_BATCH]
            shown = {k: self._fields[k] for k in fresh}
            n_rows = len(self._view.evaluation)
            return packed_preview(
                self._key,
                {k: one.field for k, one in shown.items()},
                self._curve,
                self._band,
                is_all=self._rests,
                quantiles={k: one.lce for k, one in shown.items() if one.lce is not None},
                outlines=self._places.lacking(outlined),
                sample=MOST_ROWS if n_rows > MOST_ROWS else None,
                # Once: they are the same at every γ.
                sampled=None if known or self._rows is None else self._rows.rows,
            )

    def _has_news(self, known: set[int], outlined: set[int]) -> bool:
        news = (self._fields.keys() - known) | (self._places.names.keys() - outlined)
        return self._rests or bool(news)

    def _distance(self, k: int) -> float:
        return abs(float(np.log(GAMMAS[k] / self._near)))

    def _work(self) -> None:
        lower_priority()
        _lacking.add(self)
        try:
            self._work_while_asked()
        finally:  # else all others would make way for ever
            _lacking.discard(self)

    def _work_while_asked(self) -> None:
        while not self._rests and time.monotonic() - self._asked < _FORGOTTEN:
            # Among many readers some page always runs: then it is done all the same.
            stop = self._make_way if wait_for_pages() else None
            if self._curve is not None and not self._unlined():
                self._take_band()
            else:
                with _TURN, suppress(Cancelled):
                    self._step(stop)
            if self.has_fields:
                _lacking.discard(self)
            with self._news:
                self._news.notify_all()

    def _make_way(self, share: float, message: str) -> None:
        if _lacking - {self}:
            raise Cancelled
        cancel_if_busy(share, message)

    def _unlined(self) -> list[int]:
        """Bandwidths of which it is not known yet where places lie."""
        if self._outlines is None:
            return []
        return [k for k in range(len(GAMMAS)) if k not in self._places.names]

    def _step(self, stop: Progress | None) -> None:
        """Make what is missed most."""
        missing = [k for k in range(len(GAMMAS)) if k not in self._fields]
        if missing:
            k = min(missing, key=self._distance)
            if self._rows is None:
                self._rows = preview_rows(self._view, bin_index=self._bin, on=self._on)
            field = self._rows.at_gamma(GAMMAS[k])
            with self._news:
                self._fields[k] = field
        elif self._curve is None:
            self._curve = curve_of(self._view, stop)
        elif self._outlines is not None:
            k = min(self._unlined(), key=self._distance)
            outlines = self._outlines.at_gamma(k)
            with self._news:
                self._places.take(outlines)

    def _take_band(self) -> None:
        """Take what chance shows, where it is known by now."""
        request = compute.chance_request(self._view)
        if request is None:
            self._rests = True
        elif (task := submit(request)).wait(_GLANCE):
            self._band = None if task.failed else task.result()
            self._rests = True


@st.cache_resource(max_entries=6, show_spinner=False)
def _preview(
    key: str, _view: View, _bin: int | None, _on: Embedding, _search: PlaceSearch | None
) -> Preview:
    return Preview(key, _view, _bin, _on, outlines_of(_view, _on, _search))


class Feed:
    """Answers what one reader's landscape asks for."""

    def __init__(self) -> None:
        self.address = offer(self)
        #: Set once a browser asks, as it does when it has drawn the map, and once it has been
        #: given the fields of all bandwidths.
        self.asked, self.has_fields = threading.Event(), threading.Event()
        self._shown: tuple[Scene, str, str, Preview | None] | None = None

    def show(
        self, scene: Scene, rows_key: str, preview_key: str, search: PlaceSearch | None
    ) -> None:
        """Take what is on the map."""
        preview = None
        if preview_key:
            preview = _preview(preview_key, scene.view, scene.bin_index, scene.on, search)
            if st.context.headers:  # else no browser will ask
                preview.begin()
        self._shown = scene, rows_key, preview_key, preview

    def answer(self, asked: Mapping[str, Any]) -> bytes | None:
        """Answer with rows, with what is known of some, or with what the slider lacks."""
        self.asked.set()
        match self._shown, asked:
            case (scene, rows_key, _, _), {"rows": rows, "row": int(row)} if rows == rows_key:
                return _detail(scene, row)
            case (scene, rows_key, _, _), {"rows": rows, "all": True} if rows == rows_key:
                return packed_rows(rows_of(scene), rows_key)
            case (scene, rows_key, _, _), {"rows": rows, "glimpses": list(wanted)} if (
                rows == rows_key
            ):
                n_rows = len(scene.view.evaluation)
                known = [r for r in wanted if isinstance(r, int) and 0 <= r < n_rows]
                found = glimpses(scene.view.evaluation, np.array(known[:_MOST_GLIMPSES], int))
                return pack({"rows": rows_key, "glimpses": found}, {})
            case (
                (_, _, preview_key, Preview() as preview),
                {
                    "preview": key,
                    "near": int() | float() as near,
                    "known": list(known),
                    "outlined": list(outlined),
                },
            ) if key == preview_key and near > 0:
                has_fields = preview.has_fields
                taken = preview.take(near, _numbers(known), _numbers(outlined))
                if has_fields and len(known) + _BATCH >= len(GAMMAS):
                    self.has_fields.set()
                return taken
        return None


def _numbers(told: list[Any]) -> set[int]:
    return {k for k in told if isinstance(k, int)}


def feed(scene: Scene, rows_key: str, preview_key: str, search: PlaceSearch | None) -> None:
    """Let the browser ask for rows and for what its slider lacks.

    Waits, once a session, until the map is drawn, and a moment at most: what the page sends next
    would hold it up, as the browser loads Plotly for it.

    ``scene``: what is on the map. ``rows_key``: names its rows. ``preview_key``: names what is
    looked at, but for γ; "" where there is nothing for the slider. ``search``: the places shown.
    """
    answers: Feed = st.session_state.setdefault(_KEY, Feed())
    answers.show(scene, rows_key, preview_key, search)
    live_feed(answers.address)
    if not st.context.headers:  # no browser is there
        return
    with release_slot():
        is_there = answers.asked.wait(_FIRST_PICTURE)
        if is_there and preview_key and len(scene.view.evaluation) <= _MOST_WAITED_FOR:
            answers.has_fields.wait(_FIELDS)
            answers.has_fields.set()  # that was it: once a session


def rows_of(scene: Scene) -> EveryRow:
    """Return all evaluation rows as a map takes them."""
    view = scene.view
    return every_row(view.evaluation, view.aimed, view.target, scene.errors, scene.points)


def glimpse_of(dataset: Dataset) -> Literal["image", "words"] | None:
    """Say what of a row can stand on the map; None where nothing can."""
    if dataset.images is not None:
        return "image"
    return None if telling_column(dataset) is None else "words"


def glimpses(dataset: Dataset, rows: NDArray[np.int64]) -> list[dict[str, int | str]]:
    """Return the ``image`` or the ``words`` of some rows, by their number ``row``."""
    column = telling_column(dataset)
    if dataset.images is not None:
        name, shown = "image", thumbnail_urls(dataset.images, rows, side=_SIDE)
    elif column is not None:
        name, shown = "words", [shortened(text, _LETTERS) for text in column.iloc[rows]]
    else:
        return []
    return [{"row": int(row), name: what} for row, what in zip(rows, shown, strict=True)]


def _detail(scene: Scene, row: int) -> bytes | None:
    dataset = scene.view.evaluation
    if not 0 <= row < len(dataset):
        return None
    (hover,) = row_hovers(scene.table(np.array([row])))
    images = dataset.images
    return pack(
        {
            "row": row,
            "gamma": scene.view.gamma,
            "lines": hover.text.split("\n"),
            "image": None if images is None else thumbnail_urls(images, np.array([row]))[0],
        },
        {},
    )
