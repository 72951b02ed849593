"""LoRe Lens: the dashboard. Run it with ``make app``, ``lore app`` or ``streamlit run app.py``.

Streamlit imports this file once to serve it and runs it again for every page it shows.
"""

import gc
import os
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware
from streamlit.runtime.scriptrunner import RerunException
from streamlit.starlette import App

from lore_core import InputError
from lore_core.dashboard.access import TOKEN, AccessMiddleware, link_to, new_token
from lore_core.dashboard.background_tasks import prepare_first_page, warm_pages
from lore_core.dashboard.server import local_url
from lore_core.dashboard.worker_pool import POOL
from lore_core.data.processes import DASHBOARD, preload
from lore_core.kernel_sums.schedule import one_thread_a_product
from pages.shared import controls, header, live, session
from pages.shared.files import arguments
from pages.shared.methods import prefetch, prepare_data
from pages.shared.requests import ROUTES, Assets
from pages.shared.scheduler import page_slot, run_when_idle, set_up_process, trim_memory
from pages.shared.tasks import JOB_PLACE, job_panel

PAGES = {
    "data": ("Data", ":material/database:", "What did I load? Files, demo, checks, maps."),
    "overview": ("Overview", ":material/speed:", "Is there a problem? All metrics and a verdict."),
    "landscape": ("Landscape", ":material/map:", "Where is the confidence wrong? The error map."),
    "variables": ("Variables", ":material/bar_chart:", "Along which column is it wrong?"),
    "bandwidth": ("Bandwidth", ":material/show_chart:", "Which γ? MLCE and ALCE over bandwidths."),
    "recalibrate": ("Recalibrate", ":material/tune:", "Does recalibration help? Before and after."),
    "fairness": ("Fairness", ":material/groups:", "For whom? Every group under every method."),
    "compare": ("Compare", ":material/compare:", "Is the new model better? Two on one map."),
    "runs": ("Runs", ":material/repeat:", "Does it hold over many trainings? All runs at once."),
    "watch": ("Watch", ":material/timeline:", "Does it change over time? Every day's batch."),
    "decisions": ("Decisions", ":material/balance:", "Is it worth it? Rewards at your costs."),
    "report": ("Report", ":material/summarize:", "Take it away: everything in one bundle."),
}
#: Pages that load data of their own.
_OWN_DATA_PAGES = ("runs", "watch")


def show() -> None:
    """Show the page that is asked for."""
    st.set_page_config(
        page_title="LoRe Lens",
        page_icon=str(Path(__file__).parent / "pages" / "shared" / "icon.png"),
        layout="wide",
    )
    shared = Path(__file__).parent / "pages" / "shared"
    st.html(shared / "style.css")
    st.html(shared / "undo.html", unsafe_allow_javascript=True)
    st.logo(str(shared / "logo.svg"), size="large")
    pages = [
        st.Page(
            f"pages/{name}/page.py",
            title=title,
            icon=icon,
            # (That of the first page is not shown; its own name is that of the hidden one below.)
            url_path="first" if name == "data" else name,
            help=help_text,
            default=name == "data",
        )
        for name, (title, icon, help_text) in PAGES.items()
    ]
    # The address of the first page has no name; who gives it one is led to it.
    named = st.Page("pages/data/page.py", title="Data", url_path="data", visibility="hidden")
    page = st.navigation([*pages, named], position="top")
    st.session_state.pop(live.CONTROLS, None)
    try:
        if page.url_path == "data":
            session.ensure_loaded()
            st.switch_page(pages[0], query_params=st.query_params.to_dict())
        if session.ensure_loaded() and page.url_path == "":
            # The demo opens on what it is for.
            st.switch_page("pages/landscape/page.py")
        controls.keep_settings(page.url_path)
        session.keep_subgroups_in_link()
        # One place whether or not there is a job: what follows keeps its own.
        st.session_state[JOB_PLACE] = st.container()
        with st.session_state[JOB_PLACE]:
            job_panel()
        is_step = st.session_state.get("_shown") == page.url_path
        st.session_state["_shown"] = page.url_path
        if not session.is_loaded() and page.url_path != "":
            why = "Nothing is loaded: the data asked for could not be read."
            st.info(why, icon=":material/info:")
            label, icon = "Data: see why, or load others", ":material/arrow_forward:"
            st.page_link("pages/data/page.py", label=label, icon=icon)
            if page.url_path not in _OWN_DATA_PAGES:
                return
        with page_slot(_say_how_many_come_before, is_step=is_step):
            page.run()
        controls.note_changes()  # of controls that were not there before
        prefetch()
        trim_memory()
    except InputError as error:
        header.show_error(error)
    finally:
        # (A run that is cut short has not drawn everything.)
        if not isinstance(sys.exception(), RerunException):
            st.session_state[live.CONTROLS] = live.control_values()


def _say_how_many_come_before(pages: int) -> None:
    others = "A page of another reader is" if pages == 1 else f"{pages} pages of others are"
    st.toast(f"{others} computed before this one.", icon=":material/hourglass_empty:")


@asynccontextmanager
async def _start(_: App) -> AsyncIterator[None]:
    """Start the processes that read and compute; not while this file is only imported."""
    preload(DASHBOARD)
    threading.Thread(target=prepare_first_page, daemon=True).start()
    threading.Thread(target=prepare_data, args=(arguments().data,), daemon=True).start()
    POOL.start()
    run_when_idle("warm", warm_pages)
    if is_bare:
        link = link_to(local_url(st.get_option("server.port")), os.environ[TOKEN])
        sys.stdout.write(f"LoRe Lens is open at {link} (Ctrl-C closes it).\n")
        sys.stdout.flush()
    yield


if __name__ == "__main__":
    show()
else:
    # Looking through all modules for garbage, again and again, takes half a second at the start.
    gc.freeze()
    gc.enable()
    set_up_process()
    one_thread_a_product()
    is_bare = TOKEN not in os.environ  # as `streamlit run app.py` starts it
    os.environ[TOKEN] = new_token()
    access = Middleware(
        AccessMiddleware,
        os.environ[TOKEN],
        st.get_option("server.allowedHosts"),
        st.get_option("server.corsAllowedOrigins"),
        arguments().path_prefix,
    )
    app = App(__file__, routes=ROUTES, middleware=[access, Middleware(Assets)], lifespan=_start)
