"""Decisions: is it worth it?"""

import numpy as np
import pandas as pd
import streamlit as st

from lore_core import InputError
from lore_core.comparison import conclude_retraining, retraining_frame
from lore_core.data.dataset import TOP_LABEL
from lore_core.data.number_text import HUNDREDTHS, PLAIN, Unit, percent, rows_words
from lore_core.figures import reward_figure
from lore_core.metrics import describe_rewards
from lore_core.view.methods import group_columns, group_names
from pages.shared import compute
from pages.shared.cells import in_hundredths, share_column
from pages.shared.charts import next_step, show_chart
from pages.shared.controls import cost_controls, in_session, view_controls
from pages.shared.header import plain, question
from pages.shared.methods import compared
from pages.shared.subgroups import title_of
from pages.shared.tasks import is_ready

_EVERYONE = "all rows"
_PLACES = "a place beyond chance"

question(
    "Is it worth it?",
    "An answer that is wrong costs w, saying “unsure” costs u, a right answer nothing: answer only "
    "where the confidence reaches 1 − u/w.",
)
view = view_controls()
result = compared(view)
top_label = view.with_(target=TOP_LABEL)
is_ready(compute.gains_request(top_label), 0.0)  # begun, while rewards are counted
evaluation = view.evaluation
first = next(iter(result.datasets))

costs = st.columns([1, 1, 1.4, 1.4], vertical_alignment="bottom")
unsure, wrong = cost_controls(costs[0], costs[1])
columns = group_columns(view.dataset)
by = costs[2].selectbox("Rows of", [_EVERYONE, _PLACES, *columns], **in_session("decide_by"))
inside, who = np.ones(len(evaluation), dtype=bool), _EVERYONE
if by == _PLACES:
    found = compute.subgroups(view).subgroups
    if not found:
        st.info("No place is wrong beyond chance.", icon=":material/info:")
        st.stop()
    number = costs[3].selectbox(
        "Place",
        range(len(found)),
        format_func=lambda k: title_of(found[k], k),
        key="decide_place",
        help="Of its rows those that had no part in finding it.",
    )
    inside = np.isin(np.arange(len(evaluation)), found[number].held_out)
    who = f"held out, of {title_of(found[number], number)}"
elif by != _EVERYONE:
    values = group_names(evaluation, [by])
    listed = list(pd.Series(values).value_counts().index)
    who = costs[3].selectbox("Group", listed, **in_session("decide_group"))
    inside = values == who
if unsure > wrong:
    raise InputError(
        "The cost of unsure must not exceed the cost of wrong: otherwise always answer. Lower u or "
        "raise w."
    )
ratio = wrong / unsure
curves = compute.rewards(view, result, (by, who), inside)
own = compute.rewards(view, result, (by, who), inside, ratio)
sentence = describe_rewards(own, unsure_cost=unsure, wrong_cost=wrong)
st.markdown(f"**{plain(sentence)}**")
show_chart(
    reward_figure(
        curves,
        rows=f"{who}, {int(inside.sum()):,} evaluation rows",
        baseline=first,
        ratio=ratio if 1 <= ratio <= 100 else None,
    ),
    "reward",
)
number = st.column_config.NumberColumn
st.dataframe(
    in_hundredths(
        pd.concat({method: curve.frame() for method, curve in own.items()})
        .droplevel(1)
        .rename_axis("method"),
        "answered",
    ),
    height="content",
    column_order=["reward", "answered", "gain", "gain_low", "gain_high"],
    column_config={
        "reward": number("reward a row, in u", format="%.3f"),
        "answered": share_column("answered"),
        "gain": number(f"gain over {first}", format="%+.3f"),
        "gain_low": number("95 % from", format="%+.3f"),
        "gain_high": number("to", format="%+.3f"),
    },
)
st.caption(
    f"At w/u = {ratio:g}. Choosing the best of several methods on the rows it is measured on "
    "flatters it a little; a gain whose interval is well above zero survives that."
)

st.subheader("Recalibrate, or retrain?")
known = compute.gains(top_label)
losses, gains = (
    (None, None) if known is None else (known.losses(inside), known.rewards(ratio, inside))
)
conclusion = conclude_retraining(
    losses,
    gains,
    unsure_cost=unsure,
    has_features=evaluation.features is not None,
    weighted=evaluation.weights is not None,
)
st.markdown(f"**{plain(conclusion.sentence)}**")
if by == _PLACES and losses is not None:
    st.caption("Bounds on rows that had no part in finding the place.")
elif losses is not None and gains is not None:
    steps = retraining_frame(losses, gains)
    points = Unit("points", HUNDREDTHS, 2).estimate_text
    st.dataframe(
        pd.DataFrame(
            {
                "Brier score, points": [
                    points(*row) for row in steps[["brier", "brier_low", "brier_high"]].to_numpy()
                ],
                "reward a row, in u": [
                    PLAIN.estimate_text(*row, signed=True)
                    for row in steps[["reward", "reward_low", "reward_high"]].to_numpy()
                ],
                "answered otherwise": steps["changed"].map(percent),
            },
            index=steps.index,
        ),
        height="content",
        key="retraining",
    )
    st.caption(
        f"{rows_words(losses.n_rows)} ({who}), 95 % intervals. Brier score of the confidence, "
        "(c − a)²: what the best curve would gain, and what class and features tell beyond it, at "
        "least: other trees and features may tell more. Reward: what a curve and trees fitted on "
        "the calibration rows gain here; no interval where it cannot be told."
    )
next_step("pages/report/page.py", "take it away: Report")
