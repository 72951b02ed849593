"""Landscapes and charts in the browser, as components whose elements stay as they are seen."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import plotly
import plotly.graph_objects as go
import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from lore_core import Dataset, Embedding
from lore_core.figures import Chart
from lore_core.figures.browser import landscape_script
from lore_core.figures.browser.landscape import LiveLandscape
from lore_core.figures.chart import Seen
from lore_core.figures.export import IN_SPACE, plot_config, plotly_script
from lore_core.figures.pictures.landscape_picture import LandscapePicture
from lore_core.view import View
from pages.shared.requests import offer, offer_script
from pages.shared.session import name_in_link

_FOLDER = Path(__file__).parent
_SCRIPT = f"{landscape_script()}\nexport {{ join }};\n".encode()
_MAP = st.components.v2.component(
    "lore_lens.map",
    js=offer_script(f"landscape-{sha256(_SCRIPT).hexdigest()[:16]}", lambda: _SCRIPT)
    + (_FOLDER / "live.js").read_text("utf-8"),
)
#: Of the link; in the session, where the reader looks on the map seen last (None: at all of it).
_VIEW, _LOOKED = "view", "_looked"
_SHOWN = "_charts"
#: In the session: :func:`control_values` when the page had run, absent until a run is whole.
CONTROLS = "_controls"
_EYE = ("eye", "up", "center")
_CHART = st.components.v2.component(
    "lore_lens.chart",
    js=offer_script(f"plotly-{plotly.__version__}", partial(plotly_script, is_flat=False), "WHOLE")
    + offer_script(f"plotly-cartesian-{plotly.__version__}", partial(plotly_script, is_flat=True))
    + f"const IN_SPACE = {json.dumps(IN_SPACE)};\n"
    + (_FOLDER / "chart.js").read_text("utf-8"),
    isolate_styles=False,  # Plotly's own rules are those of the page
)


def map_key(dataset: Dataset, on: Embedding) -> str:
    """Name a map of some data: on every page it is seen as it was left on another."""
    return f"{dataset.digest} {on.digest}"


def live_landscape(live: LiveLandscape, key: str, **answers: Callable[[Any], None]) -> None:
    """Show a landscape where its map was looked at last; :func:`hear` calls the ``answers``."""
    st.session_state[f"{key}_answers"] = answers
    with st.container(gap=None):
        # It answers by itself while the page runs: it is not out of date.
        st.html(
            f"<style>.st-key-{key}[data-stale=true] {{ opacity: 1 !important; }}</style>"
            '<span id="map" tabindex="-1"></span>'
        )
        scene = replace(live, view=_seen(live.map_key, live.whole)).packed_scene()
        _mount(scene, key, live.map_key, live.whole, tuple(answers))


def is_mapped(key: str) -> bool:
    """Return whether a landscape was shown before."""
    return f"{key}_answers" in st.session_state


def looked_at(map_name: str) -> Callable[[], tuple[float, ...] | None]:
    """Return a function, for any thread, of where the reader looks by then; None: at all of it."""
    looked: dict[str, tuple[float, ...] | None] = st.session_state.setdefault(_LOOKED, {})
    return lambda: looked.get(map_name)


def map_as_seen(picture: LandscapePicture, map_name: str) -> Callable[[], LandscapePicture]:
    """Return a function, for any thread, that shows of a flat map what the reader looks at."""
    seen = looked_at(map_name)
    return lambda: picture.looked_at(seen())


def hear(key: str) -> None:
    """Answer what the reader did, before controls are drawn: what callbacks set would be lost."""
    answers = st.session_state.get(f"{key}_answers", {})
    for what, value in st.session_state.pop(f"{key}_events", []):
        answers[what](value)


@st.fragment
def _mount(
    scene: bytes, key: str, of_map: str, whole: tuple[float, ...], events: tuple[str, ...]
) -> None:
    """Mount the map apart from the page, which need not run when the map is moved."""

    def note(what: str) -> None:
        value = st.session_state[key].get(what)
        if value is not None:
            st.session_state.setdefault(f"{key}_events", []).append((what, value))

    def take_view() -> None:
        _look(of_map, st.session_state[key].get(_VIEW), whole)
        _seen(of_map, whole)

    noted = {f"on_{what}_change": partial(note, what) for what in events}
    _MAP(key=key, data=scene, on_view_change=take_view, **noted)
    # What is done elsewhere at the same moment comes with the map's view, for which the page as a
    # whole is not run, or cut short: a menu would open and stay empty.
    context, before = get_script_run_ctx(suppress_warning=True), st.session_state.get(CONTROLS)
    is_alone = context is not None and bool(context.fragment_ids_this_run)
    is_other = is_alone and (before is None or not control_values() <= before)
    if is_other or st.session_state.get(f"{key}_events"):
        st.rerun()


def control_values() -> set[tuple[object, object]]:
    """Return what is chosen, typed and on; what is off may be a button, which is so by itself."""
    kinds, items = bool | int | float | str, st.session_state.items()
    return {(key, it) for key, it in items if isinstance(it, kinds) and it is not False}


def _seen(map_name: str, whole: tuple[float, ...]) -> tuple[float, ...] | None:
    """Return where the reader looks, here or where a link is from; ``whole``: as at the start."""
    looked = st.session_state.setdefault(_LOOKED, {})
    if not looked:
        _look(map_name, _linked_view(len(whole)), whole)
    seen: tuple[float, ...] | None = looked.get(map_name)
    # (An address that does not hold the bandwidth yet, written whole, would take it back.)
    gamma = st.session_state.get("gamma", View.gamma)
    if st.query_params.get("gamma", str(View.gamma)) in (str(gamma), f"{gamma:g}"):
        name_in_link(_VIEW, None if seen is None else ",".join(f"{number:.9g}" for number in seen))
    return seen


def _look(map_name: str, seen: Sequence[float] | None, whole: tuple[float, ...]) -> None:
    looked = st.session_state[_LOOKED]
    looked.clear()
    looked[map_name] = None if seen is None or tuple(seen) == whole else tuple(seen)


def _linked_view(n_numbers: int) -> tuple[float, ...] | None:
    try:
        seen = tuple(map(float, st.query_params.get(_VIEW, "").split(",")))
    except ValueError:
        return None
    is_known = len(seen) == n_numbers and np.isfinite(seen).all() and seen[2] > 0
    return seen if is_known else None


@dataclass
class _Shown:
    chart: Chart
    seen: dict[str, Any] = field(default_factory=dict)  #: Ranges of axes, a camera, hidden traces
    of: str = ""  #: The axes this was seen on
    address: str = ""  #: At which the browser asks

    def answer(self, asked: Mapping[str, Any]) -> bytes | None:
        """Draw the chart in another theme, or take what is seen."""
        if asked.get("mode") in ("light", "dark"):
            return str(replace(self.chart, mode=asked["mode"]).figure.to_json()).encode()
        if isinstance(asked.get("seen"), dict):
            self.seen, self.of = asked["seen"], str(self.chart.figure.layout.uirevision)
        return None

    def as_seen(self) -> Chart:
        chart = self.chart
        if not self.seen or self.of != str(chart.figure.layout.uirevision):
            return chart
        return replace(chart, seen=_checked(chart.figure, self.seen))


def live_chart(
    chart: Chart, key: str, *, on_pick: Callable[[int], None] | None = None
) -> Callable[[], Chart]:
    """Draw a chart; return what makes it as the reader sees it.

    ``on_pick`` is given the number of the bar that is clicked.
    """
    chart = replace(chart, mode="dark" if st.context.theme.type == "dark" else "light")
    charts: dict[str, _Shown] = st.session_state.setdefault(_SHOWN, {})
    shown = charts.setdefault(key, _Shown(chart))
    shown.chart = chart
    shown.address = shown.address or offer(shown)
    message = {
        "ask": shown.address,
        "mode": chart.mode,
        "alt": chart.alt,
        "picks": on_pick is not None,
        "settings": plot_config(chart),
    }
    content = f'{{"figure":{chart.figure.to_json()},{json.dumps(message)[1:]}'.encode()

    def picked() -> None:
        number = st.session_state[key].get("picked")
        if on_pick is not None and isinstance(number, int):
            on_pick(number)

    # (Its height is said before Plotly is there, so that nothing moves when it comes.)
    _CHART(key=key, data=content, height=chart.figure.layout.height, on_picked_change=picked)
    return shown.as_seen


def _checked(figure: go.Figure, seen: Mapping[str, Any]) -> Seen:
    """Take what a browser said is seen; what it cannot have said is passed over."""
    axes = {
        name: tuple(ends)
        for name, ends in (seen.get("axes") or {}).items()
        if ends is not None and name in figure.layout and _are_numbers(ends, 2)
    }
    camera = seen.get("camera")
    if camera is not None:
        camera = {part: camera[part] for part in _EYE}
        if not all(_are_numbers(list(place.values()), 3) for place in camera.values()):
            camera = None
    hidden = {at for at in seen.get("hidden") or () if at in range(len(figure.data))}
    return Seen(axes, frozenset(hidden), camera)


def _are_numbers(values: list[Any], n: int) -> bool:
    return len(values) == n and all(
        isinstance(value, int | float) and math.isfinite(value) for value in values
    )
