"""Watch: does the model change over time?"""

import pandas as pd
import streamlit as st

from lore_core import InputError
from lore_core.dashboard.worker_pool import Task
from lore_core.data.number_text import batches_words, percent, rows_words, unbroken
from lore_core.figures import movement_figure
from lore_core.mergeable import Watched, movement_frame
from lore_core.mergeable.partitions.batches import movement_words
from pages.shared.charts import csv_button, next_step, show_chart
from pages.shared.controls import gamma_control
from pages.shared.header import plain, question, sentence, show_error
from pages.shared.tasks import current_job
from pages.watch.looking import N_DRAWS, Look, choose, go_on, is_looking, see_to
from pages.watch.one_batch import LEVEL, chosen_batch, show_batch

#: Seconds between two drawings while batches are looked at.
_EVERY = 2.0


def show(look: Look) -> None:
    """Show the batches of a directory: those that have been looked at, and how far it is."""
    if not look.names:
        show_error(f"'{look.batches.directory}' must hold a batch; it has none.")
        return
    job = see_to(look)
    works = job is not None and is_looking(job)
    if not works:
        _left_out(look, job)
    # While there is work it is drawn anew by itself, without what stands around it.
    n_seen = len(look.watched())
    st.fragment(_movement, run_every=_EVERY if works else None)(look, n_seen)
    try:
        show_batch(look)
    except InputError as error:
        show_error(error)


def _left_out(look: Look, job: Task | None) -> None:
    """Say why batches are left that nobody looks at, and offer to go on."""
    n_seen, n = len(look.watched()), len(look.names)
    if n_seen == n:
        return
    so_far = f"Looked at so far: {n_seen:,} of {batches_words(n)}"
    text, button = st.columns([5, 1.2], vertical_alignment="center")
    if job is not None and job.error:
        text.error(f"{sentence(job.error)} {so_far}.", icon=":material/error:")
    elif job is not None and not job.ended and job is current_job():
        text.info(
            f"{plain(job.title)} comes first, then the batches that are left. {so_far}.",
            icon=":material/hourglass_empty:",
        )
        return
    else:
        stays = "; what was found stays" if n_seen else ""
        text.info(f"Cancelled. {so_far}{stays}.", icon=":material/cancel:")
    button.button(
        "Go on",
        key="watch_go_on",
        icon=":material/play_arrow:",
        width="stretch",
        on_click=go_on,
        args=[look],
    )


def _movement(look: Look, n_around: int) -> None:
    """Draw and list the batches looked at; ``n_around``: how many when the rest was drawn."""
    watched, batches = look.watched(), look.batches
    n = len(look.names)
    is_whole = len(watched) == n
    table = movement_frame(watched)
    if watched:
        _say_what_changed(watched, is_whole=is_whole)
        n_rows = rows_words(sum(of.n_rows for of in watched))
        count = batches_words(n) if is_whole else f"{len(watched):,} of {batches_words(n)}"
        st.caption(plain(f"{n_rows} in {count} on {batches.plan.note}."))
        chart = movement_figure(
            table, level=LEVEL, rows=f"{count} on {batches.plan.embedding.name.title}"
        )
        show_chart(chart, "watch_movement")
    else:
        st.caption(plain(f"{batches_words(n)} on {batches.plan.note}."))
    left = look.names[len(watched) :]
    words = {
        column: texts + (left if column == "batch" else ["…"] * len(left))
        for column, texts in movement_words(watched, LEVEL).items()
    }
    st.dataframe(pd.DataFrame(words), hide_index=True)
    st.caption(
        unbroken(
            f"p: the share of {N_DRAWS} simulations, in which errors are everywhere what they were "
            "in all earlier batches together, that show as large a change; * at "
            f"{percent(LEVEL, 0)} or less, so about one batch in a hundred of a model that does "
            "not change is marked. More rows where errors were large before are no change, though "
            "ECE, ALCE and MLCE may rise. New regions: rows with no earlier row near them; they "
            "are not tested."
        )
    )
    if watched:
        csv_button("All numbers", lambda: table, "movement", key="watch_csv")
    if chosen_batch() in look.names[n_around : len(watched)]:
        st.rerun()  # it can be shown now


def _say_what_changed(watched: list[Watched], *, is_whole: bool) -> None:
    marked = [of.name for of in watched if of.is_marked(LEVEL)]
    if marked:
        named = ", ".join(marked[-5:])
        more = f"{len(marked)} batches, the newest: " if len(marked) > 5 else ""
        st.warning(
            plain(f"Errors changed significantly in {more}{named}."),
            icon=":material/notification_important:",
        )
    elif not is_whole:
        if len(watched) > 1:
            st.info(f"None of the first {batches_words(len(watched))} shows a significant change.")
    elif len(watched) == 1:
        st.info("One batch so far: from the second on, each is compared with those before it.")
    else:
        st.success(
            plain(f"None of {len(watched)} batches shows a significant change."),
            icon=":material/check_circle:",
        )


question(
    "Does the model change over time?",
    "Batches of rows, a day's each, saved by lore watch: how their errors move, and whether "
    "significantly.",
    names_data=False,
)
left, right = st.columns([1.6, 1], gap="large", vertical_alignment="bottom")
given = choose(left)
if given is not None:
    show(Look(*given, gamma_control(right)))
next_step("pages/decisions/page.py", "is it worth it? Decisions")
