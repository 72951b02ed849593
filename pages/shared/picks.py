"""One thing of many that the reader has picked, in whichever list or picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import pandas as pd
import streamlit as st


def picked(what: str) -> Any:
    """Return what was picked last; None where nothing was."""
    return st.session_state.get(f"_picked_{what}")


def pick(what: str, one: Hashable, where: str = "") -> None:
    """Pick one, or None.

    ``what``: names the kind of thing. ``where``: key of the table in which it was picked.
    """
    st.session_state[f"_picked_{what}"] = one
    _picks(what)[where] += 1


def pick_table(
    table: pd.DataFrame, things: Sequence[Hashable], what: str, key: str, **look: Any
) -> None:
    """List things of which one can be picked, and show which one is.

    ``things``: what each row of the table stands for. ``what``: see :func:`pick`. ``key``: unique
    on the page. ``**look``: of ``st.dataframe``.
    """
    # A table keeps the number of its chosen row: where it holds other rows, or one was picked
    # elsewhere, it must be another table.
    elsewhere = _picks(what).total() - _picks(what)[key]
    name = f"{key}_{elsewhere}_{hash(tuple(things))}"

    def take() -> None:
        at = st.session_state[name].selection.rows
        pick(what, things[at[0]] if at else None, key)

    st.dataframe(
        table,
        hide_index=True,
        on_select=take,
        selection_mode="single-row",
        selection_default={
            "selection": {"rows": [k for k, one in enumerate(things) if one == picked(what)]}
        },
        key=name,
        **look,
    )


def _picks(what: str) -> Counter[str]:
    counts: Counter[str] = st.session_state.setdefault(f"_picks_{what}", Counter())
    return counts
