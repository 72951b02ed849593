"""The sums of all rows, where the pages show a sample of them."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from lore_core.mergeable.partitions.sample import WholeData, read_whole_data
from pages.shared.files import arguments
from pages.shared.session import current


def whole_data() -> WholeData | None:
    """Return the sums beside the data that are shown; None where these are all there are."""
    given = arguments()
    if given.whole is None or current().source != " + ".join(given.data):
        return None
    return read_once(str(given.whole))


@st.cache_resource(max_entries=1, show_spinner=False)
def read_once(folder: str) -> WholeData:
    """Read the sums in a folder, for all readers."""
    return read_whole_data(Path(folder))
