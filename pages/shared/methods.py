"""Which recalibrators are compared, the same on every page that compares them."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from lore_core import Comparison, Dataset, Embedding, standard_recalibrators
from lore_core.data.dataset import TOP_LABEL
from lore_core.metrics.catalogue import MIN_GROUP_SIZE
from lore_core.recalibration import offered_recalibrators
from pages.shared import compute
from pages.shared.charts import next_step
from pages.shared.controls import View
from pages.shared.header import plain

__all__ = [
    "Grouping",
    "compared",
    "grouping",
    "grouping_control",
    "labels",
    "needs_calibration",
    "preselected",
]

_COLUMN = "group_column"


@dataclass(frozen=True)
class Grouping:
    """What the maximum group-wise MCE is taken over.

    Attributes
    ----------
    column : str
        Group column.
    min_group_size : int
        Groups of fewer evaluation rows are left out.
    """

    column: str
    min_group_size: int


def _columns(dataset: Dataset) -> list[str]:
    return [] if dataset.groups is None else [str(name) for name in dataset.groups.columns]


def grouping_control(dataset: Dataset, container: st.delta_generator.DeltaGenerator) -> None:
    """Let the reader choose the group column of the comparison, where there are several."""
    columns = _columns(dataset)
    if len(columns) > 1:
        container.selectbox(
            "Worst group by",
            columns,
            key=_COLUMN,
            persist_state="session",
            width=300,
            help="The table holds the MCE of the worst of these groups. Fairness shows them all.",
        )


def grouping(dataset: Dataset) -> Grouping | None:
    """Return the grouping chosen, the first column where nothing was; None without groups.

    Every page that compares asks for the same one, so that the comparison is computed once.
    """
    columns = _columns(dataset)
    if not columns:
        return None
    chosen = st.session_state.get(_COLUMN)
    column = chosen if chosen in columns else columns[0]
    groups = dataset.evaluation.groups
    assert groups is not None  # it has columns
    largest = int(groups[column].astype(str).value_counts().max())
    return Grouping(column, min(MIN_GROUP_SIZE, largest))


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


def labels(*, local: bool) -> list[str]:
    """Names of the methods on offer; without features only global ones."""
    return [method.label for method in offered_recalibrators() if local or method.is_global]


def preselected(offered: list[str]) -> list[str]:
    """Those that are compared until the reader says otherwise: none of other libraries."""
    standard = {method.label for method in standard_recalibrators()}
    return [name for name in offered if name in standard]


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
    offered = labels(local=view.embedding is not None)
    methods = st.multiselect(
        "Methods",
        offered,
        default=preselected(offered),
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
        _asked(grouping(view.dataset)),
    )


def _asked(wanted: Grouping | None) -> tuple[str, int] | None:
    return None if wanted is None else (wanted.column, wanted.min_group_size)
