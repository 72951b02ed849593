"""The big picture of the page, and what the map asks for by itself: rows, and fields at every γ."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any, Literal
from weakref import WeakValueDictionary

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from lore_core import Dataset, Embedding
from lore_core.dashboard.worker_pool import lower_priority
from lore_core.data.progress import Cancelled, Progress
from lore_core.figures import landscape_3d_figure, landscape_figure, surface_figure
from lore_core.figures.browser.landscape import EveryRow, GammaFields, pack, packed_rows
from lore_core.figures.map_layout import FAINT
from lore_core.figures.pictures.landscape import outlined_region, row_colors, row_hovers
from lore_core.figures.pictures.landscape_picture import CAMERAS, LandscapePicture, RowColors, Value
from lore_core.figures.pictures.picture import truncate
from lore_core.regions import Field
from lore_core.regions.rows import columns_of, drawn_rows
from lore_core.regions.subgroups.find import SubgroupSearch
from lore_core.regions.subgroups.overall import Against
from lore_core.view import View
from lore_core.view.scene import MAX_ROWS, Scene, preview_rows
from pages.landscape import region
from pages.shared import compute, subgroups
from pages.shared.charts import chart_line, show_chart
from pages.shared.controls import GAMMAS, one_of
from pages.shared.header import plain
from pages.shared.live import live_landscape, looked_at, map_key
from pages.shared.maps import MAPS, instant_map, planar_maps
from pages.shared.requests import offer
from pages.shared.rows import picked_row, thumbnail_urls
from pages.shared.scheduler import is_page_running, run_when_idle, trim_memory, wait_for_pages
from pages.shared.tasks import submit

#: Rows whose images or words are sent at once, pixels of an image's side, letters of words.
_MAX_GLIMPSES, _SIDE_PIXELS, _MAX_LETTERS = 64, 96, 60
_KEY = "_map_rows"
#: Pieces that are sent at once.
_PART_SIZE = 12
#: Seconds a browser waits for news, until one that asks nothing is gone, between looks at a band.
_ANSWER_SECONDS, _ABANDONED_SECONDS, _BAND_SECONDS = 2.0, 6.0, 0.5
#: Rows of which places are looked for at every bandwidth, in some seconds.
_MAX_SEARCHED_ROWS = 20_000
KEY = "landscape"
#: What is known of every row, and what its outcome is called.
_KNOWN = ["confidence", "correctness", "predicted class", "true class", "effective neighbours"]
_OUTCOMES = ("correct", "wrong")
#: Features of which one can be chosen as colour.
_MAX_FEATURES = 200
_HINT = (
    "Shift and drag, or the lasso, reports on the rows inside; a click on a number inspects a "
    "subgroup, on a ring shows its row below."
)
_HINT_IN_SPACE = (
    "Drag turns the map. Shift and drag, or the lasso, reports on all rows inside, however far "
    "behind; a click on a row shows it below."
)
#: Rows in sight that have room for each, those drawn that are highlighted, and opacities of rows
#: that are in significant subgroups and that are not: all as on the map.
_MOST_NEAR, _MAX_HIGHLIGHTED, _STRENGTHS = 2000, 1500, (0.95, 0.5)
#: What sliders show, by what is looked at, but for γ.
_FIELDS: WeakValueDictionary[Hashable, FieldParts] = WeakValueDictionary()
#: Kernel sums use every core: one set of fields at a time.
_TURN = threading.Lock()


class FieldParts:
    """What a slider shows, piece by piece, nearest γ first; ``search`` None: no subgroups."""

    def __init__(
        self,
        view: View,
        bin_index: int | None,
        on: Embedding,
        search: SubgroupSearch | None,
        against: View | None = None,
    ) -> None:
        self.address = offer(self)  #: Where a browser asks for parts; their key, too
        self._view, self._bin, self._on, self._search = view, bin_index, on, search
        self._against = against  #: Whose errors are taken off
        self._pieces: list[GammaFields] = []
        self._left, self._is_done = self._make(), False
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
        for piece in self._left:
            with self._news:
                if piece is not None:
                    self._pieces.append(piece)
                self._news.notify_all()
            if time.monotonic() - self._asked > _ABANDONED_SECONDS:
                break
        else:
            with self._news:
                self._is_done = True
                self._news.notify_all()
        trim_memory()

    def _make(self) -> Iterator[GammaFields | None]:
        """Make what is missed most, piece by piece; None while one is still waited for."""
        yield from self._make_fields()
        if self._against is not None:
            return
        curve = None
        while curve is None:
            with self._turn() as stop, suppress(Cancelled):
                curve = compute.curve(self._view, stop)
            yield None if curve is None else GammaFields(curve=curve)
        if self._search is not None and self._on.n_components == 2:
            yield from self._make_outlines(self._search.against)
        # What chance shows takes seconds: it is simulated once no reader waits for a page.
        if (request := compute.chance_request(self._view)) is not None:
            while not wait_for_pages():
                yield None
            while not (task := submit(request)).wait(_BAND_SECONDS):
                yield None
            if not task.error:
                yield GammaFields(band=task.result())

    def _make_fields(self) -> Iterator[GammaFields]:
        with self._turn():
            how: dict[str, Any] = {"bin_index": self._bin, "on": self._on}
            rows = preview_rows(self._view, **how)
            before = None if self._against is None else preview_rows(self._against, **how)
        if rows.rows is not None:
            yield GammaFields(sampled=rows.rows, n_sampled=MAX_ROWS)
        for k in self._nearest_first():
            with self._turn():
                field, lce = rows.at_gamma(GAMMAS[k])
                if before is not None:
                    earlier, lce = before.at_gamma(GAMMAS[k])[0], None
                    assert isinstance(field, Field)
                    assert isinstance(earlier, Field)
                    field = field.less(earlier)
            yield GammaFields({k: field}, {} if lce is None else {k: lce})

    def _make_outlines(self, against: Against) -> Iterator[GammaFields | None]:
        """Find places at every γ as at the shown one, and outline each set of rows once."""
        view, keys = self._view, dict[bytes, int]()
        if len(view.evaluation) > _MAX_SEARCHED_ROWS:
            return
        for k in self._nearest_first():
            while not wait_for_pages():  # a search would hold up theirs
                yield None
            with self._turn():  # as the page will ask, where that γ is chosen
                search = compute.unnamed_subgroups(view.with_(gamma=GAMMAS[k]), against)
                found = GammaFields(subgroups={k: []})
                for name, outline in compute.outlines(view, self._on, search):
                    rows = search.subgroups[int(name) - 1].rows.tobytes()
                    if rows not in keys:
                        keys[rows] = len(keys)
                        found.outlines[keys[rows]] = outlined_region(name, outline)
                    found.subgroups[k].append((name, keys[rows]))
            yield found

    def _nearest_first(self) -> Iterator[int]:
        left = set(range(len(GAMMAS)))
        while left:
            k = min(left, key=lambda k: abs(float(np.log(GAMMAS[k] / self._near))))
            left.remove(k)
            yield k

    @contextmanager
    def _turn(self) -> Iterator[Progress | None]:
        """Compute alone, when no page runs; gives what stops work that may begin again."""

        def make_way(_share: float, _message: str) -> None:
            if is_page_running():
                raise Cancelled

        # Among many readers some page always runs: then it is done all the same.
        stop = make_way if wait_for_pages() else None
        with _TURN:
            yield stop


class MapRows:
    """Answers what one reader's map asks about its rows."""

    def __init__(self) -> None:
        self.address = offer(self)
        self.scene: Scene | None = None
        self.key = ""
        self.is_change = False  #: Whether errors are a difference: of single rows nothing is known
        self.fields: deque[FieldParts] = deque(maxlen=2)  #: Of the slider, the last looked at

    def answer(self, asked: Mapping[str, Any]) -> bytes | None:
        """Answer with all rows, or with what is known of some."""
        if self.scene is None or asked.get("rows") != self.key:
            return None
        dataset = self.scene.view.evaluation
        match asked:
            case {"all": True}:
                return packed_rows(rows_of(self.scene), self.key)
            case _ if self.is_change:
                return None
            case {"row": int(row)} if 0 <= row < len(dataset):
                return _detail(self.scene, row)
            case {"gamma": int() | float() as gamma} if gamma in GAMMAS:
                view, on = self.scene.view.with_(gamma=gamma), self.scene.on
                field: bytes = compute.packed_field_at(view, self.scene.bin_index, on)
                return field
            case {"glimpses": list(wanted)}:
                known = [r for r in wanted if isinstance(r, int) and 0 <= r < len(dataset)]
                found = glimpses(dataset, np.array(known[:_MAX_GLIMPSES], int))
                return pack({"rows": self.key, "glimpses": found}, {})
        return None


def map_rows(scene: Scene, key: str, fields: FieldParts | None, of: str = _KEY) -> MapRows:
    """Return what answers for the rows of a scene; ``key`` names them, ``of`` the map."""
    answers: MapRows = st.session_state.setdefault(of, MapRows())
    answers.scene, answers.key = scene, key
    if fields is not None:
        if fields not in answers.fields:
            answers.fields.append(fields)
        if st.context.headers:  # else no browser will ask
            fields.begin(scene.view.gamma)
    return answers


def rows_of(scene: Scene) -> EveryRow:
    """Return all evaluation rows as a map takes them."""
    view = scene.view
    return EveryRow(view.evaluation, view.target, view.target_rows, scene.errors, scene.points)


def glimpse_of(dataset: Dataset) -> Literal["image", "words"] | None:
    """Say what of a row can stand on the map; None where nothing can."""
    if dataset.images is not None:
        return "image"
    return None if compute.telling_column(dataset) is None else "words"


def glimpses(dataset: Dataset, rows: NDArray[np.int64]) -> list[dict[str, int | str]]:
    """Return the ``image`` or the ``words`` of some rows, by their number ``row``."""
    column = compute.telling_column(dataset)
    if dataset.images is not None:
        name, shown = "image", thumbnail_urls(dataset.images, rows, side=_SIDE_PIXELS)
    elif column is not None:
        name, shown = "words", [truncate(text, _MAX_LETTERS) for text in column.iloc[rows]]
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


def colors_of(scene: Scene, by: str) -> RowColors:
    """Return the colours of all evaluation rows by one of :func:`color_choices`."""
    dataset, target = scene.view.evaluation, scene.view.target_rows
    columns, names = columns_of(dataset), dataset.feature_names or ()
    known = {
        "confidence": target.confidence,
        "correctness": np.where(target.outcome == 1, *_OUTCOMES),
        "effective neighbours": scene.errors.effective_size,
        "predicted class": columns["predicted"],
        "true class": columns["true"],
    }
    column = known.get(by, columns.get(by.lower()))
    if column is None and dataset.features is not None and by in names:
        column = dataset.features[:, names.index(by)]
    return row_colors(by, pd.Series(np.empty(0) if column is None else column))


def color_choices(dataset: Dataset) -> list[str]:
    """Return what rows can be coloured by beside their error: what is known of each."""
    frames = [frame for frame in (dataset.groups, dataset.metadata) if frame is not None]
    names = [str(name) for frame in frames for name in frame.columns]
    features = (dataset.feature_names or ())[:_MAX_FEATURES]
    return list(dict.fromkeys([*_KNOWN, *names, *map(str, features)]))


def show_picture(
    scene: Scene,
    search: SubgroupSearch | None,
    chosen: subgroups.Chosen | None,
    marked: region.Marked | None,
    value: Value,
    layer: Literal["field", "rows", "both", "3-D"],
    colors: RowColors | None = None,
) -> None:
    """Draw the landscape with subgroups; ``colors``: of the rows, instead of their errors."""
    if colors is not None:
        layer = "rows"
    common: dict[str, Any] = {
        "value": value,
        "limit": subgroups.color_limit(scene),
        "rows": scene.in_words,
        "axes": scene.axes,
    }
    view, is_flat, field = scene.view, scene.on.n_components == 2, None
    key = () if search is None else subgroups.search_key(view, search)
    if is_flat:
        only_key = () if scene.only is None else key
        field = compute.field(view, scene.bin_index, scene.on, only_key, scene.only)
    if field is not None and layer == "3-D":
        camera = one_of("Camera", list(CAMERAS), key="camera", label_visibility="collapsed")
        show_chart(surface_figure(field, camera=camera, **common), "landscape_height")
        return
    selection = region.drawn_region(scene.axes, scene.on)
    outlined: subgroups.Outlines = []
    common |= {
        "colors": colors,
        "worst": scene.table(scene.worst),
        "n_total": int(scene.shown.sum()),
        "labels": scene.classes,
    }
    if field is None:
        own: dict[str, Any] = {"points": scene.drawn(), "coordinates": scene.points}
        draw = partial(landscape_3d_figure, **own, **common)
    else:
        if search is not None:
            outlined = compute.outlines(view, scene.on, search)
        if chosen is not None:
            names = () if chosen.number is None else (str(chosen.number + 1),)
            outlined = [item for item in outlined if item[0] in names]
        draw = partial(
            landscape_figure,
            None if layer == "rows" else field,
            scene.points,
            points=None if layer == "field" else scene.drawn(over_field=layer == "both"),
            region=selection,
            found=outlined,
            **common,
        )
    dots = subgroups.headline_dots(scene, search, outlined)
    seen, row = looked_at(map_key(view.dataset, scene.on)), picked_row(view.evaluation)
    picked = () if row is None else tuple(scene.points[row].tolist())

    def drawn(**how: Any) -> LandscapePicture:
        made = subgroups.with_subgroups(scene, draw(**how), search)
        return replace(made, dots=dots, picked=picked)

    def as_seen() -> LandscapePicture:
        """Draw the part that is looked at, where there is room with its rows, as the map does."""
        looked = seen()
        made = drawn(seen=looked)
        low, high = np.transpose(made.extent)
        inside = scene.shown & ((low <= scene.points) & (scene.points <= high)).all(axis=1)
        if field is not None and layer == "field" and inside.sum() <= _MOST_NEAR:
            near = scene.table(np.flatnonzero(inside))
            made = replace(drawn(seen=looked, points=near), strength=0.5)
        return _standing_out(scene, made, search, marked, draw)

    chart = drawn()
    _show_map(
        scene,
        chart,
        field,
        search,
        layer="rows" if layer == "3-D" else layer,
        selection=selection,
        chosen=None if chosen is None else chosen.number,
        highlighted=None if marked is None or marked.is_drawn else marked.rows,
    )
    hint = _HINT if is_flat else _HINT_IN_SPACE
    about = f"{subgroups.ABOUT_DOTS} {hint}" if dots else hint
    chart_line(chart, KEY, caption=about, as_seen=as_seen)


def _standing_out(
    scene: Scene,
    picture: LandscapePicture,
    search: SubgroupSearch | None,
    marked: region.Marked | None,
    draw: Callable[..., LandscapePicture],
) -> LandscapePicture:
    """Let rows stand out as on the map: those that are marked, else those of subgroups."""
    points, strength = picture.points, np.ones(len(scene.points))
    if marked is not None and (points is not None or not marked.is_drawn):
        rows = drawn_rows(marked.rows & scene.shown, scene.worst[:0], _MAX_HIGHLIGHTED)
        faint = 0.5 if points is None else picture.strength
        table = scene.table(rows)
        picture = replace(picture, highlighted=draw(points=table).points, strength=faint)
        strength *= FAINT
    elif search is not None and not isinstance(picture.scale, RowColors):
        strength = np.where(search.inside(), *_STRENGTHS)
    if points is not None:
        picture = replace(picture, points=replace(points, strength=strength[points.row]))
    return picture


def take_gamma(wanted: float) -> None:
    """Take the bandwidth to which a map's slider was moved."""
    if wanted in GAMMAS:
        st.session_state["gamma"] = float(wanted)


def _make_next(
    view: View, bin_index: int | None, on: Embedding, search: SubgroupSearch | None
) -> None:
    """Make what the next key on a slider asks for and, of few rows, another map in the list."""
    at, n_rows = int(np.abs(np.log(np.array(GAMMAS) / view.gamma)).argmin()), len(view.evaluation)
    near = [(view.with_(gamma=gamma), on) for gamma in GAMMAS[max(at - 1, 0) : at + 2]]
    if bin_index is None and n_rows <= MAX_ROWS:
        numbers = (max(view.n_bins - 1, 1), view.n_bins + 1)
        near += [(view.with_(n_bins=number), on) for number in numbers]
    if search is not None and on is view.embedding and n_rows <= _MAX_SEARCHED_ROWS:
        names = [name for name in planar_maps(view.dataset) if not MAPS[name].learned]
        made = [(name, instant_map(view.dataset, name)) for name in names]
        near += [(view.with_(maps={name: each}), each) for name, each in made]
    for other, drawn_on in near:
        if drawn_on is not on and search is not None and wait_for_pages():
            compute.unnamed_subgroups(other, search.against)
        if drawn_on.n_components == 2:
            compute.packed_field_at(other, bin_index, drawn_on)
        else:
            compute.errors(other)


def _show_map(
    scene: Scene,
    picture: LandscapePicture,
    field: Field | None,
    search: SubgroupSearch | None,
    **shown: Any,
) -> None:
    view = scene.view
    rows_key = repr((*view.key("target", "n_bins", "binning"), scene.on.digest))
    fields, is_colored = None, isinstance(picture.scale, RowColors)
    if scene.only is None and not is_colored:  # else what is shown is tested anew at every γ
        against = None if search is None else search.against
        looked_for = (rows_key, view.key("maps"), scene.bin_index, against)
        # (Each reader's session holds those that it looks at.)
        fields = _FIELDS.get(looked_for) or FieldParts(view, scene.bin_index, scene.on, search)
        _FIELDS[looked_for] = fields
        if field is not None or len(view.evaluation) <= _MAX_SEARCHED_ROWS:
            what = view, scene.bin_index, scene.on, search
            run_when_idle(("next", fields.address), partial(_make_next, *what))
    live = subgroups.live_scene(
        scene,
        picture,
        field,
        search,
        rows=rows_of(scene),
        rows_key=rows_key,
        bin_index=scene.bin_index,
        only=scene.only is not None,
        row=picked_row(view.evaluation),
        glimpse=glimpse_of(view.evaluation),
        gammas=() if is_colored else tuple(GAMMAS),
        fields_key="" if fields is None else fields.address,
        address=map_rows(scene, rows_key, fields).address,
        **shown,
    )

    def take_place(number: float) -> None:
        if search is not None:
            subgroups.choose_subgroup(view.evaluation, search.subgroups[int(number)])

    live_landscape(
        live,
        KEY,
        gamma=take_gamma,
        selection=lambda parts: region.take_selection(parts, scene.axes),
        place=take_place,
        row=region.take_row,
    )


def show_asked(scene: Scene, words: str) -> None:
    """Report on what was drawn on the picture, else on the rows asked for in words."""
    view, chosen, drawn = scene.view, scene.bin_index, region.drawn_region(scene.axes, scene.on)
    if not drawn and not words:
        return
    inside = region.asked_rows(scene, drawn or words)
    # Without γ: it moves the errors, not what the region holds.
    key = (view.target, None if chosen is None else (chosen, view.n_bins, view.binning))
    region.region_panel(
        view,
        scene.errors,
        inside,
        among=scene.rows,
        key=(drawn, scene.on.digest, *key) if drawn else (words, *key),
        title="Selected region" if drawn else plain(f"Rows with “{words}”"),
    )
