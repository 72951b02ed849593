"""Decisions: is recalibration worth it at the reader's costs?"""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from lore_core import InputError
from lore_core.comparison import conclude_retraining, retraining_frame
from lore_core.dashboard.background_tasks import estimate_gains
from lore_core.data.arrays import Mask
from lore_core.data.dataset import TOP_LABEL
from lore_core.data.number_text import HUNDREDTHS, Unit, rows_words
from lore_core.figures import reward_figure, risk_figure
from lore_core.metrics import RewardCurve, describe_rewards
from lore_core.view.methods import ABOUT_ABSTENTION, abstention_of, group_columns, group_masks
from pages.shared import compute
from pages.shared.cells import in_hundredths, share_column
from pages.shared.charts import next_step, show_chart
from pages.shared.controls import cost_controls, in_session, linked, show_tabs, view_controls
from pages.shared.header import plain, question
from pages.shared.methods import compared
from pages.shared.subgroups import title_of
from pages.shared.tasks import await_result, is_ready

_EVERYONE = "all rows"
_SUBGROUP = "a significant subgroup"


def _show_methods(own: dict[str, RewardCurve], first: str, ratio: float) -> None:
    """List the reward of every method at the reader's costs."""
    number = st.column_config.NumberColumn
    columns = {
        "reward": number("reward a row, in u", format="%.3f"),
        "answered": share_column("answered"),
        "gain": number(f"gain over {first}, in u", format="%+.3f"),
        "gain_low": number("95 % from", format="%+.3f"),
        "gain_high": number("to", format="%+.3f"),
    }
    table = pd.concat({method: curve.frame() for method, curve in own.items()}).droplevel(1)
    table = table.rename_axis("method").sort_values("reward", ascending=False)
    table = in_hundredths(table, "answered")
    st.dataframe(table, height="content", column_order=[*columns], column_config=columns)
    st.caption(
        f"At w/u = {ratio:g}. Choosing the best of several methods on the rows it is measured on "
        "exaggerates its gain a little."
    )


settings = question(
    "Is it worth it?",
    "An answer that is wrong costs w, saying “unsure” costs u, a right answer nothing: answer only "
    "where the confidence reaches 1 − u/w.",
)
view = view_controls(settings)
answer = st.container(key="main_answer")
picture = st.container(key="main_picture")
toolbar = st.container(horizontal=True, vertical_alignment="bottom", gap="medium")
unsure, wrong = cost_controls(toolbar.container(width=130), toolbar.container(width=130))
columns = group_columns(view.dataset)
by = toolbar.selectbox(
    "Rows of", [_EVERYONE, _SUBGROUP, *columns], **in_session("decide_by"), width=220
)
chooser = toolbar.container(width=260)
result = compared(view, None, toolbar)
gaining = compute.work(estimate_gains, view.with_(target=TOP_LABEL))
is_ready(gaining, 0.0)  # begun, while rewards are counted
evaluation = view.evaluation
first = next(iter(result.datasets))
inside, who = np.ones(len(evaluation), dtype=bool), _EVERYONE
groups, n_tried = dict[str, Mask](), 1
if by == _SUBGROUP:
    search = compute.subgroups(view)
    found, n_tried = search.subgroups, search.tried
    if not found:
        st.info("No subgroup is significantly miscalibrated.", icon=":material/info:")
        st.stop()
    number = chooser.selectbox(
        "Subgroup",
        range(len(found)),
        format_func=lambda k: title_of(found[k], k),
        key="decide_subgroup",
        help="Its held-out rows: those that had no part in finding it.",
    )
    inside = np.isin(np.arange(len(evaluation)), found[number].held_out)
    who = f"held out, of {title_of(found[number], number)}"
elif by != _EVERYONE:
    groups = group_masks(evaluation, by)
    who = chooser.selectbox("Group", [*groups], **in_session("decide_group"))
    inside = groups[who]
if unsure > wrong:
    raise InputError(
        "The cost of unsure must not exceed the cost of wrong: otherwise always answer. Lower u or "
        "raise w."
    )
ratio = wrong / unsure
curves = compute.rewards(view, result, (by, who), inside)
own = compute.rewards(view, result, (by, who), inside, ratio)
best = next((name for name in result.ranking if name != first), None)
drawn = [name for name in curves if name in (first, "Temperature scaling", best)]
sentence = describe_rewards(own, unsure_cost=unsure, wrong_cost=wrong)
known = await_result(gaining)
losses = None if known is None else known.losses(inside)
conclusion = conclude_retraining(
    losses, has_features=evaluation.features is not None, simple_sample=evaluation.is_simple_sample
).sentence
answer.info(f"**{plain(sentence)}**  \n{plain(conclusion)}", icon=":material/balance:")
with picture:
    show_chart(
        reward_figure(
            {name: curves[name] for name in drawn},
            rows=f"{who}, {int(inside.sum()):,} evaluation rows",
            ratio=ratio,
        ),
        "reward",
    )


def _steps() -> None:
    """List what recalibration and what a better model would gain."""
    if losses is None:
        st.caption("The rows are too few to estimate it.")
        return
    if by == _SUBGROUP:
        st.caption("Bounds on held-out rows of the subgroup.")
        return
    steps, unit = retraining_frame(losses), Unit("points", HUNDREDTHS, 2)
    texts = [unit.estimate_text(*row) for row in steps.to_numpy()]
    table = pd.DataFrame({"Brier score, points": texts}, index=steps.index)
    st.dataframe(table, height="content", key="retraining")
    st.caption(
        f"{rows_words(losses.n_rows)} ({who}), 95 % CI. Brier score of the confidence: what "
        "recalibrating could remove, and what class and features would at least remove beyond that."
    )


def _abstain() -> None:
    if not evaluation.is_simple_sample:
        st.caption(
            "Error rates are guaranteed for independent rows that count once; these have weights "
            "or units."
        )
        return
    asked: dict[str, Any] = {"help": "Choose it before you look at the outcomes.", "width": 200}
    risk = st.number_input("Wrong answers, at most %", 0.1, 50.0, 5.0, **linked("risk"), **asked)
    found = abstention_of(view, result, risk / 100, rows=inside, groups=groups, n_tried=n_tried)
    st.markdown(f"**{plain(found.sentence)}**")
    rows = f"{who}, {int(inside.sum()):,} evaluation rows"
    show_chart(risk_figure(found.curves, found.thresholds, rows=rows), "risk_curve")
    st.dataframe(found.table(), hide_index=True, height="content")
    st.caption(ABOUT_ABSTENTION)


show_tabs(
    "decisions_tab",
    {
        "Recalibrate or retrain?": _steps,
        "Answer only when sure": _abstain,
        "Every method at these costs": lambda: _show_methods(own, first, ratio),
    },
)
next_step("pages/report/page.py", "export everything: Report")
