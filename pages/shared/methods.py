"""Which recalibrators are compared, the same on every page that compares them."""

from __future__ import annotations

import streamlit as st

from lore_core import Comparison, Embedding, standard_recalibrators
from lore_core.dataset import TOP_LABEL
from pages.shared import compute
from pages.shared.charts import next_step
from pages.shared.controls import View
from pages.shared.header import plain

__all__ = ["compared", "needs_calibration"]


def needs_calibration(view: View) -> None:
    """End the page with a way on where there is nothing to fit a recalibrator on."""
    if view.dataset.calibration is None:
        st.info(
            "Recalibrators are fitted on calibration rows, and these data have none. Add a "
            "calibration file, or split the rows on the Data page.",
            icon=":material/info:",
        )
        next_step("pages/data/page.py", "get calibration rows on the Data page")
        st.stop()
    if view.target != TOP_LABEL:
        st.info(
            "Recalibration works on the top label: the numbers below are those of the top-label "
            f"confidence, not of {plain(view.target_name)}.",
            icon=":material/info:",
        )


def compared(view: View, measured_on: Embedding | None = None) -> Comparison:
    """Let the reader choose methods; fit them on calibration rows, measure them on the others.

    Parameters
    ----------
    view : View
        Data and settings; its map is the one the methods use.
    measured_on : Embedding, optional
        Map of the local metrics, where it is to be another.
    """
    needs_calibration(view)
    offered = [
        method.label
        for method in standard_recalibrators()
        if view.embedding is not None or not method.needs_embedding
    ]
    methods = st.multiselect(
        "Methods",
        offered,
        default=offered,
        key="methods",
        persist_state="session",
        help="The first is the one the others are held against.",
    )
    if not methods:
        st.info("Choose at least one method.", icon=":material/tune:")
        st.stop()
    return compute.comparison(
        view.dataset,
        view.embedding,
        view.embedding if measured_on is None else measured_on,
        tuple(methods),
        view.gamma,
        view.n_bins,
        view.binning,
    )
