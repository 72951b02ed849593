"""Variables: along which variable is the model miscalibrated?"""

import numpy as np
import pandas as pd
import streamlit as st

from lore_core.data.number_text import p_words
from lore_core.figures import shared_limit, variable_figure, variable_grid_figure
from lore_core.metrics.glossary import COCHRAN, GLOSSARY, HOLM
from lore_core.regions import describe_variable
from lore_core.regions.variables.attributes import PREDICTED, TRUE, columns
from lore_core.view import View
from lore_core.view.where import GRID_MIN_ROWS, GRID_PARTS, GRID_SHARE
from pages.shared import compute
from pages.shared.cells import in_hundredths, points_column
from pages.shared.charts import next_step, show_chart
from pages.shared.controls import linked, note_view, say_vector_is_elsewhere, target_control
from pages.shared.header import plain, question
from pages.shared.session import current

_NONE = "none"


def _show_ranking(ranking: pd.DataFrame) -> None:
    def pick() -> None:
        if rows := st.session_state["ranking"].selection.rows:
            st.session_state["variable"] = ranking["variable"].iloc[rows[0]]

    text = st.column_config.TextColumn
    st.markdown("**Where to look first**")
    shown = ranking[["variable", "p_adjusted", "spread", "worst_value", "worst_gap"]]
    st.dataframe(
        in_hundredths(shown, "spread", "worst_gap").assign(
            p_adjusted=shown["p_adjusted"].map(p_words)
        ),
        hide_index=True,
        height="content" if len(ranking) <= 11 else 430,
        column_config={
            "variable": text("variable", width=140),
            "spread": points_column(
                "spread",
                width=55,
                help="How far the true gaps of its parts lie apart, in points: their standard "
                "deviation without noise.",
            ),
            "p_adjusted": text(
                "p",
                width=60,
                help="Test that the gap is the same in all parts, adjusted for the number of "
                "variables. Below 0.05: a significant difference. "
                f"{COCHRAN}: {GLOSSARY[COCHRAN]} {HOLM}: {GLOSSARY[HOLM]}",
            ),
            "worst_value": text(
                "worst part", width=105, help="The part whose 95 % interval ends furthest from 0."
            ),
            "worst_gap": points_column("gap", signed=True, width=55),
        },
        on_select=pick,
        selection_mode="single-row",
        key="ranking",
    )
    st.caption(
        "Strongest evidence first; click a row to see it. Gap and spread in points of confidence − "
        "accuracy. The true class, and columns that say the same, are not ranked."
    )


settings = question(
    "Along which variable is it miscalibrated?",
    "The gap of the evaluation rows over their groups, metadata, image brightness and named "
    "features, one by one and two by two.",
)
dataset = current().dataset
with settings.popover("Settings", icon=":material/tune:", type="tertiary", width="content"):
    target = target_control(dataset)
    parts = int(
        st.slider(
            "Parts of a number",
            3,
            24,
            12,
            **linked("parts"),
            help="A number is cut at its quantiles into so many parts with about as many rows.",
        )
    )
say_vector_is_elsewhere()
view = View(dataset, target)
note_view(view)
ranking, cut = compute.ranking(view, parts), min(parts, GRID_PARTS)
ranked = list(ranking["variable"])
known = [PREDICTED, TRUE, *(column for column, _, _ in columns(dataset.evaluation))]
names = [*ranked, *(column for column in known if column not in ranked)]
answer = st.container(key="main_answer")
left, right, _ = st.columns([1, 1, 1.4], vertical_alignment="bottom")
name = left.selectbox(
    "Variable",
    names,
    **linked("variable"),
    help="The first is the one with the strongest evidence.",
)
others = [other for other in names if other != name]


def _grid_with(other: str) -> pd.DataFrame:
    return compute.on_grid(view, name, other, cut, GRID_MIN_ROWS)


others_ranked = (other for other in ranked if other != name)
partner = next((of for of in others_ranked if _grid_with(of)["shown"].mean() >= GRID_SHARE), None)
second = right.selectbox(
    "Together with",
    [_NONE, *others],
    index=0 if partner is None else 1 + others.index(partner),
    # Another variable has another partner.
    **linked("second"),
    help="A second variable: the gap on every combination of the two. Suggested is the one with "
    "the strongest evidence and enough rows.",
)

table, curve, tells_the_truth = compute.along(view, name, parts)
answer.info(plain(describe_variable(name, table, ranking)), icon=":material/bar_chart:")
if tells_the_truth:
    st.warning(
        f"{plain(name)} reveals the true class. Divided by the answer even a calibrated model "
        "looks wrong: do not judge by it.",
        icon=":material/warning:",
    )
scored = view.target_rows
overall = float(np.average(scored.confidence - scored.outcome, weights=scored.weights))
big, side = st.columns([1.35, 1], gap="medium")
with big:
    show_chart(
        variable_figure(table, name=name, rows=view.rows, curve=curve, overall=overall), "along"
    )
with side:
    if ranking.empty:
        st.info("No column has two parts with enough rows to compare.", icon=":material/info:")
    else:
        _show_ranking(ranking)
if second != _NONE:
    grid = _grid_with(second)
    show_chart(
        variable_grid_figure(
            grid,
            names=(name, second),
            limit=shared_limit(grid.loc[grid["shown"], "gap"].to_numpy()),
            min_rows=GRID_MIN_ROWS,
            rows=view.rows,
        ),
        "grid",
    )
next_step("pages/recalibrate/page.py", "does recalibration fix it? Recalibrate")
