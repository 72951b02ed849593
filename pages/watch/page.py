"""Watch: does the model change over time?"""

from collections.abc import Callable

import pandas as pd
import streamlit as st

from lore_core.comparison import conclude_batches
from lore_core.data.number_text import batches_words, percent, rows_words, unbroken
from lore_core.figures import movement_figure
from lore_core.mergeable import SummedBatches, Watched, movement_frame
from lore_core.mergeable.partitions.batches import N_DRAWS, movement_words
from pages.shared.charts import csv_button, next_step, show_chart
from pages.shared.controls import gamma_control, in_session, show_tabs
from pages.shared.header import conclude, plain, question, show_error
from pages.shared.session import remembered
from pages.shared.tasks import await_result
from pages.watch import looking
from pages.watch.looking import LEVEL, Look, choose

#: Whether batches were shown: their source is folded away.
_SHOWN = "_watch_shown"


def show(batches: SummedBatches) -> None:
    """Show batches: what changed since when, on the map and over time, then every number."""
    top, picture = st.container(key="main_answer"), st.container(key="main_picture")
    left, right = st.columns([1, 1.6], vertical_alignment="bottom", gap="large")
    look = Look(batches, gamma_control(right))
    if not look.names:
        show_error(f"{batches.what} must hold a batch; it has none.")
        return
    if (request := look.request) is not None:
        await_result(request, top)
    watched = looking.look_at(look)
    key = ("conclusion", look.state(look.names))
    conclude(top, remembered(key, lambda: conclude_batches(batches, watched, LEVEL)))
    later = look.names[:0:-1]
    marked = [of.name for of in watched if of.is_marked(LEVEL)]
    start = later.index(marked[0]) if marked else 0
    chosen = left.selectbox("Batch", later, index=start, **in_session(f"watch_batch_{look.name}"))
    of = next((item for item in watched if item.name == chosen), None)
    table = movement_frame(watched)
    with picture:
        columns = st.columns(2, gap="medium") if of is not None else [st.container()]
        with columns[-1]:
            rows = f"{batches_words(len(watched))} on {batches.plan.embedding.name.title}"
            chart = movement_figure(table, level=LEVEL, rows=rows)
            show_chart(chart, "watch_movement", narrow=True)
        if of is not None:
            with columns[0]:
                looking.show_change(look, of)

    def of_a_batch(show_it: Callable[[Look, Watched], None]) -> None:
        if of is None:
            st.caption("The first batch has none before it.")
        else:
            show_it(look, of)

    def all_batches() -> None:
        st.dataframe(pd.DataFrame(movement_words(watched, LEVEL)), hide_index=True)
        st.caption(
            f"* a significant change: p ≤ {percent(LEVEL, 0)}. New regions: rows far from all "
            "earlier ones, which are not tested."
        )
        csv_button("All numbers", lambda: table, "movement", key="watch_csv")

    show_tabs(
        "watch_tab",
        {
            "What changed": lambda: of_a_batch(looking.list_changes),
            "Before and after": lambda: of_a_batch(looking.show_before_and_after),
            "All batches": all_batches,
            "How sure is this?": lambda: _how_sure(look, watched),
        },
    )


def _how_sure(look: Look, watched: list[Watched]) -> None:
    n_rows = rows_words(sum(of.n_rows for of in watched))
    st.markdown(plain(f"{n_rows} in {batches_words(len(watched))} on {look.batches.plan.note}."))
    st.markdown(
        unbroken(
            f"p: the share of {N_DRAWS} simulations without a change that show as large a one; "
            "with slices by columns and words, tested as well, twice the lower p (Bonferroni). "
            f"At p ≤ {percent(LEVEL, 0)} (*) at most about one batch in a hundred is marked of a "
            "model that does not change."
        )
    )
    st.markdown(
        "Only rows of the same confidence and place on the map are compared: more rows where "
        "errors were large are no change. New regions, far from earlier rows, are not tested. "
        "“Since”: the later batches, tested alone, still differ from those before."
    )


question(
    "Does the model change over time?",
    "Batches of rows, a day's or a week's each: whether the local errors of one differ "
    "significantly from all before it, where, and on which rows.",
    names_data=False,
)
body = st.container()
folded = st.session_state.get(_SHOWN, False)
with st.expander("Other batches", icon=":material/folder_open:") if folded else st.container():
    given = choose(explain=not folded)
if folded != (given is not None):
    st.session_state[_SHOWN] = given is not None
    st.rerun()
if given is not None:
    with body:
        show(given)
next_step("pages/decisions/page.py", "is it worth it? Decisions")
