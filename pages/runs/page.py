"""Runs: does it hold over many trainings?"""

import streamlit as st

from pages.runs.request import RunsAnswer, ask, choose, compare, show, work
from pages.shared.charts import next_step
from pages.shared.header import question
from pages.shared.maps import duration
from pages.shared.session import name_in_link
from pages.shared.store import store
from pages.shared.tasks import is_busy, join_job, start_job

_PARAMETER = "runs"
_SHOWN = "_runs_shown"


def _choose(key: str | None) -> None:
    st.session_state[_SHOWN] = key
    name_in_link(_PARAMETER, key)


def _answer(wanted: str | None) -> RunsAnswer | None:
    if wanted is None:
        return None
    found: RunsAnswer | None = store().runs.get(wanted)
    if found is not None:
        _choose(wanted)
        return found
    if is_busy():
        return None
    if join_job(compare, wanted):
        _choose(wanted)
        st.rerun()  # so that its progress is on screen from the start
    if not st.session_state.get(_SHOWN):
        st.warning(
            "The comparison this link was made for is no longer kept here; compare the runs again.",
            icon=":material/warning:",
        )
    # Started here and not there: it was cancelled or failed, which the panel has said.
    _choose(None)
    return None


def _choose_runs() -> None:
    """Choose runs and how they are compared, and begin it."""
    source = choose(explain=answer is None)
    request = None if source is None else ask(source)
    if source is None or request is None:
        return
    busy, asked, key = is_busy(), work(source, request), request.key(source)
    ready = store().runs.get(key) is not None
    with st.container(horizontal=True, vertical_alignment="center"):
        pressed = st.button(
            "Show" if ready else "Compare",
            type="primary",
            disabled=busy or (ready and wanted == key),
            icon=":material/play_arrow:",
            help="Something is being computed already." if busy else None,
        )
        if not ready:
            st.caption(f"about {duration(asked.seconds)}, in the background; it can be cancelled")
    if pressed:
        _choose(key)
        if not ready:
            start_job(asked)
        st.rerun()


question(
    "Does it hold over many trainings?",
    "Every recalibrator is fitted on each run's calibration rows and measured on its evaluation "
    "rows; then runs are compared in pairs.",
    names_data=False,
)
# The comparison started last, else the one in the link.
wanted = st.session_state.get(_SHOWN) or st.query_params.get(_PARAMETER)
answer = _answer(wanted)
if answer is None:
    _choose_runs()
else:
    show(answer)
    with st.expander("Compare other runs or methods", icon=":material/tune:"):
        _choose_runs()
next_step("pages/decisions/page.py", "is it worth it? Decisions")
