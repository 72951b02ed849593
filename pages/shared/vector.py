"""Overview of all classes at once: the whole probability vector."""

import pandas as pd
import streamlit as st

from lore_core.comparison import Conclusion
from lore_core.data.dataset import TOP_LABEL
from lore_core.data.number_text import POINTS, p_sentence, rows_words, share_words, unbroken
from lore_core.inference import VectorChance, describe_classes
from lore_core.metrics import VectorErrors
from lore_core.metrics.catalogue import ACCURACY, BRIER, NLL
from lore_core.metrics.proper_scores import clip_note
from lore_core.view import View
from lore_core.view.inference import vector_chance_of, vector_errors_of
from pages.shared import compute
from pages.shared.cells import in_hundredths, points_column, share_column, show_number, show_tile
from pages.shared.charts import csv_button
from pages.shared.header import conclude, plain
from pages.shared.tasks import await_result, is_ready

#: Classes that are listed; the file has all.
_LISTED = 20
_REST = (
    "ECE, MCE, the reliability diagram and subgroups are of one confidence a row: choose the "
    "top label or a class as target to see them."
)


def show_vector_overview(view: View) -> None:
    """Show the whole vector's numbers at once, and then what chance shows of them."""
    if not view.is_local:
        st.caption(unbroken(f"Local errors of the whole vector need features. {_REST}"))
        return
    top, tiles = st.container(), st.container()
    errors = await_result(compute.vector_request(vector_errors_of, view))
    request = compute.vector_request(vector_chance_of, view)
    chance = await_result(request) if is_ready(request) else None
    with tiles:
        _tiles(view, errors, chance)
    if chance is None:
        top.caption("Simulating what a calibrated model would show …")
        chance = await_result(request)
        st.rerun()
    table = compute.classes(view, errors, chance)
    conclude(top, Conclusion(chance.sentence, chance.is_significant))
    st.subheader("Which class is worst?", anchor=False)
    st.markdown(plain(describe_classes(table)))
    _list_classes(table)
    st.caption(unbroken(_REST))


def _tiles(view: View, errors: VectorErrors, chance: VectorChance | None) -> None:
    known = {}
    if chance is not None:
        for name, level, p in (
            ("average", chance.chance_level, chance.p_value),
            ("largest", chance.largest_level, chance.largest_p_value),
        ):
            known[name] = f"if calibrated below {POINTS.text(level)}, {p_sentence(p)}"
        if chance.n_supported:
            of_all = share_words(chance.beyond.sum() / chance.n_supported)
            known["beyond"] = f"{of_all} of {chance.n_supported:,}"
    with st.grid(3, min_column_width=200, gap="xsmall"):
        show_number(
            "Average local error",
            POINTS.text(errors.average) + POINTS.word,
            known.get("average"),
            "Of the whole vector: root mean square over the rows with ten effective neighbours or "
            "more, less its noise.",
        )
        show_number(
            "Largest local error",
            POINTS.text(errors.supported_maximum()) + POINTS.word,
            known.get("largest"),
            "Of the whole vector, at a row with ten effective neighbours or more, less its noise.",
        )
        show_number(
            "Significant rows",
            "…" if chance is None else f"{int(chance.beyond.sum()):,}",
            known.get("beyond"),
            "Rows where the error of the whole vector is significant by itself. Where every "
            "probability is right there is one in 5 % of data sets.",
        )
    found = compute.scores(view.with_(target=TOP_LABEL))
    with st.grid(3, min_column_width=200, gap="xsmall"):
        for metric in (ACCURACY, NLL, BRIER):
            show_tile(found, metric)
    st.caption(
        unbroken(
            f"{rows_words(int(errors.supported().sum()))} of {view.rows} have ten effective "
            f"neighbours or more at {view.kernel_in_words}. NLL and Brier are of all "
            "probabilities, the accuracy is of the predicted class. "
            + clip_note({"": found.unclipped_nll})
        )
    )


def _list_classes(table: pd.DataFrame) -> None:
    number = st.column_config.NumberColumn
    columns = {
        "local": points_column("local error", help="Root mean square over rows, less its noise."),
        "chance_level": points_column(
            "if calibrated", help="The local error stays below in 95 % of calibrated models."
        ),
        "p_value": number("p", format="%.3f", help="For all classes taken together."),
        "rows": number(
            "worst at",
            format="localized",
            help="Significant rows where this class has the largest error.",
        ),
        "gap": points_column("gap", signed=True, help="Mean probability − frequency, of all rows."),
        "mean_probability": share_column("mean probability"),
        "frequency": share_column("frequency"),
        "ece": points_column("ECE", help="In bins of the class's own probability."),
        "alce": points_column("ALCE"),
        "mlce": points_column("MLCE"),
    }
    shown = table.head(_LISTED)[[*columns]]
    shares = [name for name in columns if name not in ("p_value", "rows")]
    st.dataframe(in_hundredths(shown, *shares), height="content", column_config=columns)
    more = len(table) - len(shown)
    st.caption(
        unbroken(
            "The worst first. Errors in points; local ones of rows with ten effective neighbours "
            "or more, ALCE and MLCE as observed, with noise; neighbours are rows of one bin of "
            "the predicted class's confidence. Choose a class as target to see it by itself."
            + (f" {more:,} more {'is' if more == 1 else 'are'} in the file." if more > 0 else "")
        )
    )
    csv_button("Classes as CSV", table.reset_index, "classes", key="classes_csv")
