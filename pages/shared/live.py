"""The landscape that is drawn in the browser, as a component whose element stays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from lore_core.figures.browser.landscape import LiveLandscape, packed_rows
from lore_core.figures.browser.script import landscape_script

# Streamlit sends a component's script with each of its messages, but a message it sent before by
# its name alone: so the script and the rows travel once, in messages of their own.
_HAND_OVER = """
globalThis.loreLens ??= new Promise((resolve) => { globalThis.loreLensReady = resolve; });
export default
"""
_CODE = st.components.v2.component(
    "lore_lens.code",
    js=f"""{landscape_script()}
    {_HAND_OVER} () => globalThis.loreLensReady({{ join, deliver, provideBy }});""",
)
_ROWS = st.components.v2.component(
    "lore_lens.rows",
    js=f"{_HAND_OVER} async ({{ data }}) => (await globalThis.loreLens).deliver(data);",
)
_FEED = st.components.v2.component(
    "lore_lens.feed",
    js=f"""{_HAND_OVER} async ({{ data, setStateValue }}) => {{
      const {{ deliver, provideBy }} = await globalThis.loreLens;
      if (data) deliver(data);
      provideBy((asked) => setStateValue("asked", asked));
    }};""",
)
_MAP = st.components.v2.component(
    "lore_lens.map",
    js=_HAND_OVER.rpartition("export")[0] + (Path(__file__).parent / "live.js").read_text("utf-8"),
)


def live_landscape(live: LiveLandscape, key: str, **on_change: Callable[[], None]) -> Any:
    """Show a landscape.

    Parameters
    ----------
    live : LiveLandscape
        What is shown.
    key : str
        Unique on the page.
    **on_change
        ``on_view_change`` and so on: called when the reader moves the map, selects, clicks on a
        place or on a row; the value is ``st.session_state[key]``'s.
    """
    with st.container(gap=None):
        _CODE(key="lore_code")
        if live.rows is not None:
            _ROWS(key=f"{key}_rows", data=packed_rows(live.rows, live.rows_key))
        return _MAP(key=key, data=live.packed_scene(), **on_change)


def live_feed(preview: bytes | None, key: str, on_asked_change: Callable[[], None]) -> None:
    """Bring a part of a preview to the landscape, which asks for the next.

    Parameters
    ----------
    preview : bytes or None
        From :func:`~lore_core.figures.browser.preview.packed_preview`.
    key : str
        Unique on the page.
    on_asked_change : callable
        Called when it asks: ``st.session_state[key].asked`` has ``key``, ``known`` and ``near``.
    """
    _FEED(key=key, data=preview, on_asked_change=on_asked_change)
