"""Watch: does the model change over time?"""

from __future__ import annotations

import streamlit as st

from pages.shared.charts import next_step
from pages.shared.controls import gamma_control
from pages.shared.header import question
from pages.watch.results import show
from pages.watch.source import choose

question(
    "Does the model change over time?",
    "Batches of rows, a day's each, that lore watch has kept: how their errors move, and whether "
    "by more than chance.",
    names_data=False,
)
left, right = st.columns([1.6, 1], gap="large", vertical_alignment="bottom")
kept = choose(left)
if kept is not None:
    show(kept, gamma_control(right))
next_step("pages/decisions/page.py", "is it worth it? Decisions")
