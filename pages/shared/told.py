"""What is marked, told to the program that opened the dashboard."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import streamlit as st

from lore_core import InputError
from lore_core.data.arrays import Mask
from lore_core.data.atomic_files import replaced_at_once
from lore_core.data.dataset import EVALUATION
from pages.shared.files import arguments
from pages.shared.session import current

_TOLD = "_told"


def tell_marked(rows: Mask | None) -> None:
    """Write which rows of the opened data are marked, where ``lore.launch`` waits for it.

    ``rows``: mask of the evaluation rows; None: none is. Rows of other data are nobody's answer.
    """
    given, loaded = arguments(), current()
    if given.told is None or loaded.source != " + ".join(given.data):
        return
    marked = np.zeros(len(loaded.dataset), dtype=bool)
    if rows is not None:
        marked[loaded.dataset.in_split(EVALUATION)] = rows
    # A move of γ marks no other rows: nothing is written for it.
    if st.session_state.get(_TOLD) == (said := marked.tobytes()):
        return
    st.session_state[_TOLD] = said
    with suppress(InputError), replaced_at_once(given.told) as place, place.open("wb") as file:
        np.save(file, marked)
