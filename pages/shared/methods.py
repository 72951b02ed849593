"""Recalibrators to compare, the same on every page, and their results, computed in advance."""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from lore_core import Comparison, Dataset, Embedding, standard_recalibrators
from lore_core.dashboard.background_tasks import estimate_gains
from lore_core.dashboard.worker_pool import POOL, Request
from lore_core.data.arrays import Mask
from lore_core.data.dataset import ALL_CLASSES, TOP_LABEL
from lore_core.figures.pictures.landscape import maps_of_methods
from lore_core.figures.pictures.landscape_picture import LandscapePicture
from lore_core.recalibration import offered_recalibrators
from lore_core.recalibration.registry import which_for_which_case
from lore_core.regions import Field
from lore_core.view import View
from lore_core.view.methods import Grouping, group_columns, grouping_of, recalibrators_of
from pages.shared import compute, controls, maps, session
from pages.shared.charts import end_page
from pages.shared.controls import in_session, shown_view
from pages.shared.header import plain
from pages.shared.scheduler import run_when_idle
from pages.shared.subgroups import MAX_ROWS_AT_ONCE
from pages.shared.tasks import await_result, submit, this_session

_COLUMN, _METHODS = "group_column", "methods"
#: Nothing that takes longer than so many seconds is done before anybody asks for it.
_MAX_SECONDS = 5.0


def grouping_control(dataset: Dataset, container: DeltaGenerator) -> None:
    """Let the reader choose the group column of the comparison, where there are several."""
    columns = group_columns(dataset)
    if len(columns) > 1:
        container.selectbox(
            "Worst group by",
            columns,
            **in_session(_COLUMN),
            width=300,
            help="The table holds the MCE of the worst of these groups. Fairness shows them all.",
        )


def grouping(dataset: Dataset) -> Grouping | None:
    """Return the grouping chosen, else by the first column; on every page the same."""
    return _grouping_by(dataset, st.session_state.get(_COLUMN))


def _grouping_by(dataset: Dataset, column: str | None) -> Grouping | None:
    return grouping_of(dataset, column if column in group_columns(dataset) else None)


def needs_calibration(view: View) -> None:
    """End the page with a way on where there is nothing to fit a recalibrator on."""
    if view.calibration is None:
        end_page(
            "pages/data/page.py",
            "get calibration rows on the Data page",
            "Recalibrators are fitted on calibration rows, and these data have none. Add a "
            "calibration file, or split the rows on the Data page.",
        )
    if view.target != TOP_LABEL:
        st.info(
            "Recalibration works on the top label: the numbers below are those of the top-label "
            f"confidence, not of {plain(view.target_name)}.",
            icon=":material/info:",
        )


def labels(*, local: bool) -> list[str]:
    """Names of the methods there are: without features global ones alone."""
    return [method.label for method in offered_recalibrators() if local or method.is_global]


def preselected(offered: list[str]) -> list[str]:
    """Those that are compared until the reader says otherwise: none of other libraries."""
    standard = {method.label for method in standard_recalibrators()}
    return [name for name in offered if name in standard]


def choose_methods(offered: list[str], key: str) -> list[str]:
    """Choose methods to compare."""
    about = "The others are compared with the first."
    default = preselected(offered)
    return st.multiselect("Methods", offered, default=default, **in_session(key), help=about)


def pair_controls(
    result: Comparison, left: DeltaGenerator, right: DeltaGenerator
) -> tuple[str, str]:
    """Choose two methods to compare: before and after, by default the first and the best."""
    methods = list(result.datasets)
    before = left.selectbox("Before", methods, **in_session("before"))
    others = [name for name in methods if name != before] or methods
    best = next((name for name in result.ranking if name in others), others[-1])
    after = right.selectbox("After", others, index=others.index(best), **in_session("after"))
    return before, after


def compared(
    view: View,
    measured_on: Embedding | None,
    container: DeltaGenerator,
    show: Callable[[Comparison | None, list[str]], object] = lambda *_: None,
) -> Comparison:
    """Let the reader choose methods, and compare them; ``measured_on``: None is LoRe's map.

    ``show``: draws those that are measured, None at first, and names the others, until all are.
    """
    needs_calibration(view)
    offered = list(recalibrators_of(view))
    with container.popover("Methods", icon=":material/checklist:", width="content"):
        methods = choose_methods(offered, _METHODS)
        if left_out := set(labels(local=view.is_local)) - set(offered):
            st.caption(
                f"Rows count by their weights, in every fit too. {' and '.join(sorted(left_out))} "
                "cannot, and are not offered."
            )
        st.markdown("**Which method for which case**")
        columns = which_for_which_case()
        lines = [columns, ["---"] * len(columns), *zip(*columns.values(), strict=True)]
        st.markdown("\n".join(f"| {' | '.join(line)} |" for line in lines))
    if not methods:
        st.info("Choose at least one method.", icon=":material/tune:")
        st.stop()
    if measured_on is None and view.is_local:
        measured_on = view.embedding
    # (In a place of its own: controls that move when it goes would forget that links name them.)
    request = compute.fits(view, tuple(methods), grouping(view.dataset), measured_on)

    def show_part(part: Comparison | None) -> None:
        show(part, [name for name in methods if part is None or name not in part.names])

    return await_result(request, st.empty(), show_part)


def pair_of_maps(
    view: View,
    result: Comparison,
    pair: tuple[str, str],
    on: tuple[str, Embedding],
    inside: Mask,
    key: Hashable,
    rows: str,
    titles: Sequence[str],
    **look: Any,
) -> tuple[list[Field], list[LandscapePicture]]:
    """Draw rows ``inside``, named by ``key``, under two methods on one colour scale."""
    local = [result.summaries[method].local for method in pair]
    known = [item for item in local if item is not None]
    fields = [
        compute.row_field(view, (method, key), on[1], item, inside)
        for method, item in zip(pair, known, strict=True)
    ]
    look |= {"rows": rows, "axes": on[0], "titles": titles}
    return fields, maps_of_methods(view.points(on=on[1]), known, fields, inside, **look)


def prepare_data(paths: Sequence[str]) -> None:
    """Read what the command line names, and compute what the first page will ask."""
    loaded, name = session.read_ahead(paths), controls.FALLBACKS[0]
    if loaded is not None and name in maps.available_maps(loaded.dataset):
        view = View(loaded.dataset, maps={name: maps.instant_map(loaded.dataset, name)})
        compute.errors(view)
        compute.overall(view)
        if len(view.evaluation) <= MAX_ROWS_AT_ONCE:
            compute.unnamed_subgroups(view, compute.halves(view).against)


def prefetch() -> None:
    """Compute what the comparing pages will ask of this page's view, once none runs."""
    view, reader = shown_view(), this_session()
    # (A page without a map says nothing of the one that the next page will have.)
    has_map = view is not None and (view.is_local or view.dataset.features is None)
    if POOL.is_started and view is not None and view.calibration is not None and has_map:
        # (What has to look at methods and rows is done later: the page has not ended yet.)
        methods, column = st.session_state.get(_METHODS), st.session_state.get(_COLUMN)
        run_when_idle(("prefetch", reader), partial(_prefetch, view, reader, methods, column))


def _prefetch(view: View, reader: str, names: list[str] | None, column: str | None) -> None:
    def done(request: Request[Any] | None) -> Any:
        if request is None or request.seconds > _MAX_SECONDS:
            return None
        task = submit(request, reader)
        task.wait()
        return None if task.error else task.result()

    if view.target != ALL_CLASSES:  # for the Overview
        done(compute.remaining(view))
        compute.summary(view)
    if names is None:
        names = preselected(list(recalibrators_of(view)))
    on, groups = view.embedding if view.is_local else None, _grouping_by(view.dataset, column)
    fits = compute.fits(view, tuple(names), groups, on)
    if names and (result := done(fits)) is not None:
        done(compute.intervals(view, result, on))
        if on is not None:
            for curve in compute.method_curve_requests(view, result, list(result.datasets), on):
                done(curve)
    done(compute.work(estimate_gains, view.with_(target=TOP_LABEL)))
