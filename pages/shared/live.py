"""The landscape that is drawn in the browser, as a component whose element stays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from lore_core import Dataset, Embedding
from lore_core.figures.browser import landscape_script
from lore_core.figures.browser.landscape import LiveLandscape
from pages.shared.requests import offer_script
from pages.shared.session import name_in_link

_SCRIPT = f"{landscape_script()}\nexport {{ join }};\n".encode()
_MAP = st.components.v2.component(
    "lore_lens.map",
    js=offer_script(f"landscape-{sha256(_SCRIPT).hexdigest()[:16]}", lambda: _SCRIPT)
    + (Path(__file__).parent / "live.js").read_text("utf-8"),
)
#: Of the link; in the session, where the reader looks on the map seen last (None: at all of it).
_VIEW, _LOOKED = "view", "_looked"


def map_key(dataset: Dataset, on: Embedding) -> str:
    """Name a map of some data: on every page it is seen as it was left on another."""
    return f"{dataset.digest} {on.digest}"


def live_landscape(live: LiveLandscape, key: str, **answers: Callable[[Any], None]) -> None:
    """Show a landscape where its map was looked at last; :func:`hear` calls the ``answers``."""
    st.session_state[f"{key}_answers"] = answers
    with st.container(gap=None):
        # It answers by itself while the page runs: it is not out of date.
        st.html(f"<style>.st-key-{key}[data-stale=true] {{ opacity: 1 !important; }}</style>")
        scene = replace(live, view=_seen(live.map_key, live.whole)).packed_scene()
        _mount(scene, key, live.map_key, live.whole, tuple(answers))


def looked_at(map_name: str) -> Callable[[], tuple[float, ...] | None]:
    """Return a function, for any thread, of where the reader looks by then; None: at all of it."""
    looked: dict[str, tuple[float, ...] | None] = st.session_state.setdefault(_LOOKED, {})
    return lambda: looked.get(map_name)


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
    if st.session_state.get(f"{key}_events"):
        st.rerun()


def _seen(map_name: str, whole: tuple[float, ...]) -> tuple[float, ...] | None:
    """Return where the reader looks, here or where a link is from; ``whole``: as at the start."""
    looked = st.session_state.setdefault(_LOOKED, {})
    if not looked:
        _look(map_name, _linked_view(len(whole)), whole)
    seen: tuple[float, ...] | None = looked.get(map_name)
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
