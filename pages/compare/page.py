"""Compare: is the new model better?"""

import numpy as np
import pandas as pd
import streamlit as st

from lore_core import InputError, region_report
from lore_core.comparison import Conclusion, ModelComparison
from lore_core.data.arrays import Mask
from lore_core.data.number_text import POINTS, gap_words, signed_points, unbroken
from lore_core.figures import bandwidth_figure
from lore_core.metrics.proper_scores import row_nll
from lore_core.regions.selection import change_report
from lore_core.view import View
from lore_core.view.methods import model_views
from lore_core.view.view import scored_by_unit
from pages.compare.maps import KEYS, show_maps
from pages.compare.models import chosen_model
from pages.recalibrate import results
from pages.shared import cells, compute
from pages.shared.cells import TINTS
from pages.shared.charts import csv_button, next_step, show_chart
from pages.shared.controls import curve_metric, show_tabs, view_controls
from pages.shared.header import conclude, plain, question, show_error
from pages.shared.live import hear
from pages.shared.maps import planar_maps
from pages.shared.rows import add_images

#: Rows listed of which the models predict another class.
_LISTED = 200
#: What a subgroup's kind looks like in a table.
_KINDS = {"new": "worse", "worse": "worse", "fixed": "better", "better": "better", "remaining": ""}


def _metrics(found: ModelComparison) -> None:
    """Tabulate both models' metrics and the differences."""
    table = pd.DataFrame(found.texts).rename(columns={"": "metric"}).set_index("metric")
    st.dataframe(table.iloc[: -len(found.subgroups) or None], height="content")
    st.caption(
        "Differences are the new model's less the old one's, row by row, with joint 95 % "
        "intervals; other metrics are no means of rows and have none. Each model's accuracy and "
        "gap are those of the class it predicts."
    )
    csv_button("Comparison as CSV", found.frame, "comparison")


def _subgroups(found: ModelComparison) -> None:
    """List the subgroups that changed or remained wrong."""
    listed = found.subgroups
    if not listed:
        st.caption("No subgroup changed significantly, and none remains wrong.")
        return
    change = "change (held-out 95 % CI)"
    table = pd.DataFrame(
        [
            {
                "number": number,
                "rows": item.rows_in_words,
                "kind": item.kind,
                "n": f"{item.n_rows:,}",
                "held out": f"{item.held.n_rows:,}",
                "old gap": signed_points(item.before.gap),
                "new gap": signed_points(item.after.gap),
                change: POINTS.estimate_text(
                    item.change.gap, item.change.gap_low, item.change.gap_high, signed=True
                ),
            }
            for number, item in enumerate(listed, start=1)
        ]
    ).set_index("number")
    tints = {"kind": [TINTS[_KINDS[item.kind]] for item in listed]}
    cells.show_tinted(table, tints, {"rows": st.column_config.TextColumn(width=300)})
    st.caption(
        "Gaps in points, on held-out rows. new: the gap grew to twice the old one or more; worse: "
        "it grew; fixed: it fell to half or less; better: it fell; remaining: both are wrong, and "
        "a change was not tested or not significant; its interval is of this subgroup alone. If "
        "nothing had changed, at most 2 % of such searches would list a subgroup as better or "
        "worse."
    )


def _disagreements(found: ModelComparison) -> None:
    """List rows that the models put into different classes, the new one's worst first."""
    old, new = found.measured.datasets.values()
    rows = np.flatnonzero(old.predictions != new.predictions)
    n, right = len(rows), [int(of.outcome[rows].sum()) for of in (old, new)]
    if not n:
        st.caption("Both predict the same class for every row.")
        return
    loss = [row_nll(of.probabilities[rows], of.labels[rows]) for of in (old, new)]
    rows = rows[np.argsort(loss[0] - loss[1], kind="stable")][:_LISTED]
    table = pd.DataFrame({"row": rows, "true": [old.class_name(k) for k in old.labels[rows]]})
    for what, of in (("old", old), ("new", new)):
        table[what] = [of.class_name(k) for k in of.predictions[rows]]
        table[f"{what} confidence"] = of.confidence[rows] * 100
    columns = {
        f"{what} confidence": cells.share_column(f"{what} confidence") for what in ("old", "new")
    }
    columns |= add_images(table, old, rows)
    st.dataframe(table, hide_index=True, column_config=columns, height="content" if n < 9 else 390)
    st.caption(
        f"{len(rows):,} of {n:,} rows with different predictions: the old model is right on "
        f"{right[0]:,} of them, the new one on {right[1]:,}. First those on which it loses most."
    )


def _curves(views: dict[str, View]) -> None:
    """Draw local errors over γ of both models."""
    metric = curve_metric(st.container())
    curves = {name: compute.curve(of) for name, of in views.items()}
    of = next(iter(views.values()))
    rows = f"{of.rows}, {of.map_name}, {of.bins_in_words}"
    show_chart(bandwidth_figure(curves, metric=metric, rows=rows, gamma=of.gamma), "compare_curves")


def _selected(views: dict[str, View], inside: Mask) -> None:
    """Report on rows that were drawn on a map, under both models."""
    with st.container(border=True):
        for name, of in views.items():
            report = region_report(**scored_by_unit(of.target_rows), inside=inside)
            st.markdown(f"**{plain(name)}** · {unbroken(report.sentence)}")
        old, new = (of.target_rows for of in views.values())
        change = change_report(
            new.confidence - old.confidence,
            new.outcome - old.outcome,
            inside,
            weights=old.weights,
            units=old.units,
        )
        words = gap_words(change.gap, change.gap_low, change.gap_high)
        st.markdown(f"**Change of the gap** · {unbroken(words)}")


settings = question(
    "Is the new model better?",
    "Two models' predictions of the same evaluation rows: overall, and where each is wrong.",
)
for key in KEYS:
    hear(key)
view = view_controls(settings)
answer = st.container(key="main_answer")
other = chosen_model()
try:
    pair = compute.matched(view.dataset, other.dataset)
except InputError as error:
    show_error(error)
    st.stop()
found = compute.models(view, pair)
views = model_views(view, pair)
view = views[pair.first.name]
conclude(answer, Conclusion(found.sentence))
rows: Mask = np.ones(len(view.evaluation), dtype=bool)
if view.is_local and planar_maps(view.dataset):
    with st.container(key="main_picture"):
        inside = show_maps(views, found)
    if inside is not None:
        _selected(views, inside)
shows = {
    "Subgroups": lambda: _subgroups(found),
    "All metrics": lambda: _metrics(found),
    "Reliability": lambda: results.compare_reliability(view, found.measured, found.names),
    "Different predictions": lambda: _disagreements(found),
}
if view.is_local:
    shows["LCE distribution"] = lambda: results.compare_distributions(
        view, found.measured, found.names, rows, "all confidences", view.map_name
    )
    shows["Bandwidths"] = lambda: _curves(views)
show_tabs("compare_tab", shows)
st.caption(
    unbroken(
        f"{plain(pair.how)}; compared are {len(view.evaluation):,} evaluation rows, on one map. "
        f"Old is the model of the other pages. {plain(found.measured.note_on_nll)}"
    )
)
next_step("pages/recalibrate/page.py", "does recalibration help? Recalibrate")
