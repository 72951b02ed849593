"""Report: every figure and number in one bundle."""

import io
import math
import zipfile
from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

from lore_core import Comparison
from lore_core.dashboard.worker_pool import Request
from lore_core.data.progress import Progress, part_of
from lore_core.regions import SavedSubgroup
from lore_core.report import ReportSettings, Source, report_files
from lore_core.report.archive import zipped
from lore_core.view import View
from lore_core.view.methods import Grouping, recalibrators_of
from pages.shared import compute
from pages.shared.charts import next_step
from pages.shared.controls import cost_controls, view_controls
from pages.shared.header import plain, question
from pages.shared.maps import duration
from pages.shared.methods import grouping, preselected
from pages.shared.session import origin, saved
from pages.shared.store import store
from pages.shared.tasks import current_job, start_job, wait_for

#: Seconds of a report: its start, times the root of the rows (fewer resamples of more).
_START, _ROOT = 5.0, 0.12
#: Pixels of the window in which it is read here.
_WINDOW = 760


def _make(
    view: View,
    settings: ReportSettings,
    source: Source,
    named: Sequence[SavedSubgroup],
    progress: Progress,
) -> bytes:
    def compared(
        methods: list[str], grouping: Grouping | None, progress: Progress | None
    ) -> Comparison:
        # (Measured as on Recalibrate, where it may have been done already.)
        on = view.embedding if view.is_local else None
        request = compute.fits(view, tuple(methods), grouping, on)
        result = wait_for(request, part_of(progress, 0.0, 0.3))
        intervals = compute.intervals(view, result, on)
        if intervals is None:
            return result
        simulated = wait_for(intervals, part_of(progress, 0.3, 1.0))
        return result if simulated is None else result.with_simulated(simulated)

    how: dict[str, Any] = {"source": source, "saved": named}
    return zipped(report_files(view, settings, progress=progress, comparing=compared, **how))


def _contents(view: View, settings: ReportSettings) -> None:
    dataset = view.dataset
    calibrated, grouped = dataset.calibration is not None, dataset.groups is not None
    column, methods = plain(settings.group_column or ""), plain(", ".join(settings.methods or ()))
    costs = f"{settings.wrong_cost:g} for a wrong answer, {settings.unsure_cost:g} for “unsure”"
    parts = {
        "**index.html**: verdict, significant subgroups, every number with its interval": True,
        "**Landscape** with a γ slider that works without a server": view.is_local,
        f"**Recalibrators** ranked, with paired differences: {methods}": calibrated,
        f"**Fairness**: every group under every method, by {column}": grouped,
        f"**Decisions** at a cost of {costs}": True,
        "**figures/**, **tables/**: interactive, SVG and PDF; CSV and Parquet": True,
        "**config.json**, **rerun.sh**: the settings, the command for the same numbers": True,
    }
    st.markdown("\n".join(f"- {words}" for words, is_there in parts.items() if is_there))
    missing = {
        "no features, so nothing is said about the map": view.is_local,
        "no calibration rows, so no recalibrator is fitted": calibrated,
        "no groups, so nothing is said about fairness": grouped,
    }
    if without := [words for words, is_there in missing.items() if not is_there]:
        text = f"These data hold {'; '.join(without)}. The report says so in its place."
        st.info(text, icon=":material/info:")
    st.caption("Settings are those of all pages; methods and groups are chosen on Recalibrate.")


settings = question(
    "Export everything",
    "Every figure and number of these data in one bundle: read it, print it, share it, and "
    "reproduce it.",
)
view = view_controls(settings)
top = st.container(key="main_answer")
options = st.container(horizontal=True)
unsure, wrong = cost_controls(options.container(width=130), options.container(width=130))
group = grouping(view.dataset)
offered = list(recalibrators_of(view))
methods = [name for name in st.session_state.get("methods") or [] if name in offered]
chosen = ReportSettings(
    methods=tuple(methods or preselected(offered)),
    group_column=None if group is None else group.column,
    min_group_size=None if group is None else group.min_group_size,
    unsure_cost=unsure,
    wrong_cost=wrong,
)
source = Source(*origin())
_contents(view, chosen)
named = tuple(saved().values())
names = tuple((item.id, item.name, item.note) for item in named)
key, reports = ("report", view.key(), chosen, names), store().reports
content = reports.get(key)
request = Request(
    _make,
    {"view": view, "settings": chosen, "source": source, "named": named},
    key,
    "The report",
    _START + _ROOT * math.sqrt(len(view.dataset)),
    lane="server",
    keep=partial(reports.put, key),
)
job = current_job()
busy = job is not None and not job.ended
with top:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Make the report" if content is None else "Make it anew",
            icon=":material/summarize:",
            type="primary" if content is None else "secondary",
            disabled=busy,
            on_click=start_job,
            args=(request,),
            key="make_report",
        )
        if content is not None:
            st.download_button(
                "Download the report",
                lambda: content,
                "lore-lens-report.zip",
                "application/zip",
                icon=":material/download:",
                type="primary",
                on_click="ignore",
                key="download_report",
            )
    if content is not None:
        st.success(
            f"The report is ready: {len(content) / 1e6:.1f} MB. Unpack it and open index.html:",
            icon=":material/check_circle:",
        )
        with zipfile.ZipFile(io.BytesIO(content)) as bundle:
            page = bundle.read("index.html").decode("utf-8")
        st.iframe(page, height=_WINDOW, alt="The report")
    elif job is not None and busy:
        st.caption(f"{plain(job.title)}: progress and Cancel are at the bottom of the window.")
    else:
        st.caption(f"Takes about {duration(request.seconds)} and can be cancelled.")
next_step("pages/landscape/page.py", "back to the landscape")
