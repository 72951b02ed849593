"""Fairness: for whom?"""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from lore_core import Comparison
from lore_core.comparison import conclude_groups
from lore_core.data.number_text import gap_words, percent, rows_words
from lore_core.figures import group_figure, landscape_figure, reliability_figure, shared_limit
from lore_core.metrics.catalogue import (
    ECE,
    MCE,
    MIN_CELL_ROWS,
    MIN_GROUP_SIZE,
    WORST_CELL,
)
from lore_core.view import View
from lore_core.view.methods import group_columns, group_names
from pages.shared import compute
from pages.shared.cells import in_hundredths, points_column
from pages.shared.charts import next_step, show_chart
from pages.shared.controls import linked, map_control, theme_mode, view_controls
from pages.shared.header import conclude, plain, question
from pages.shared.maps import planar_maps
from pages.shared.methods import compared, pair_controls


def _group_names(view: View) -> tuple[np.ndarray, str]:
    """Let the reader choose group columns; several give their intersections."""
    columns = group_columns(view.dataset)
    chosen = st.multiselect(
        "Groups by",
        columns,
        default=columns[:1],
        key="groups",
        persist_state="session",
        help="Several columns give their intersections.",
    )
    if not chosen:
        st.info("Choose at least one group column.", icon=":material/groups:")
        st.stop()
    return group_names(view.evaluation, chosen), " × ".join(chosen)


def _worst_table(table: pd.DataFrame, min_group_size: int) -> None:
    """Show the group furthest off by method, and the worst cell."""
    rows = st.column_config.NumberColumn("its rows", format="localized")
    st.dataframe(
        in_hundredths(table.rename_axis("method"), "gap", "gap_low", "gap_high", "cell_gap"),
        height="content",
        column_order=[
            "furthest_group",
            "furthest_rows",
            "gap",
            "gap_low",
            "gap_high",
            "cell_gap",
            "cell",
            "cell_rows",
        ],
        column_config={
            "furthest_group": "furthest off",
            "furthest_rows": rows,
            "gap": points_column("its gap, points", signed=True),
            "gap_low": points_column("95 % from", signed=True),
            "gap_high": points_column("to", signed=True),
            "cell_gap": points_column(WORST_CELL.heading, signed=True),
            "cell": "the cell",
            "cell_rows": rows,
        },
    )
    st.caption(
        f"Groups of {min_group_size} rows or more. Intervals of gaps hold for all groups at once. "
        f"The worst cell of group and confidence bin is that of cells of {MIN_CELL_ROWS} rows or "
        "more; the worst of many is off by chance too. Recalibrate says what held-out rows show "
        "there."
    )


def _one_group(
    view: View,
    result: Comparison,
    reports: dict[str, pd.DataFrame],
    by: str,
    names: np.ndarray,
    sizes: pd.Series,
    worst: str,
) -> None:
    """One group before and after: reliability, and where it lies on the landscape."""
    head = st.columns(4, vertical_alignment="bottom")
    listed = list(sizes.index)
    group = head[0].selectbox(
        "Group", listed, index=listed.index(worst), key="group", persist_state="session"
    )
    before, after = pair_controls(result, head[1], head[2])
    inside = names == group
    for column, place, method in zip(
        st.columns(2), ("before", "after"), (before, after), strict=True
    ):
        found = reports[method].set_index("group").loc[group]
        with column:
            show_chart(
                reliability_figure(
                    compute.group_reliability(view, result, method, by, group, inside),
                    rows=f"{group}, {found['rows']:,} evaluation rows",
                    mode=theme_mode(),
                    height=360,
                    title=method,
                ),
                f"group_{place}",
            )
            st.caption(
                f"{rows_words(int(found['rows']))}: promised {percent(found['mean_confidence'])}, "
                f"got {percent(found['accuracy'])}; gap "
                f"{gap_words(found['gap'], found['gap_low'], found['gap_high'])}."
            )
    if not view.is_local or not planar_maps(view.dataset):
        return
    on_name, on_map = map_control(view, head[3])
    points = view.points(on=on_map)
    first, second = result.summaries[before].local, result.summaries[after].local
    if points.shape[1] != 2 or first is None or second is None:
        return
    limit = shared_limit(*(item.signed[inside & item.supported()] for item in (first, second)))
    for column, place, method, local in zip(
        st.columns(2), ("before", "after"), (before, after), (first, second), strict=True
    ):
        field = compute.row_field(view, (method, by, group), on_map, local, inside)
        with column:
            show_chart(
                landscape_figure(
                    field,
                    points,
                    n_total=int(inside.sum()),
                    limit=limit,
                    rows=f"{group}, {view.kernel_in_words}",
                    axes=on_name,
                    mode=theme_mode(),
                    height=420,
                    title=f"{group}: {method}",
                ),
                f"place_{place}",
            )


question(
    "For whom?",
    "Calibration inside each group of the evaluation rows. Groups are used to measure only: no "
    "method, LoRe included, saw them when it was fitted.",
)
view = view_controls()
if view.dataset.groups is None:
    st.info(
        "These data name no groups. Add a `groups` array (npz), or a text column of a few values "
        "(CSV, Parquet), and every method can be held against each group.",
        icon=":material/groups:",
    )
    next_step("pages/data/page.py", "load data with groups")
    st.stop()
top = st.container()
names, by = _group_names(view)
result = compared(view)
sizes = pd.Series(names).value_counts()
largest = int(sizes.max())
min_group_size = st.slider(
    "Smallest group counted",
    1,
    max(min(largest, 500), 2),
    min(MIN_GROUP_SIZE, largest),
    **linked("min_group"),
    help="Smaller groups are shown, faint, but do not set the maximum.",
)
small = sizes[sizes < MIN_GROUP_SIZE]
if len(small):
    listed = ", ".join(f"{name} ({n})" for name, n in small.head(8).items())
    st.warning(
        f"Few rows: {plain(listed)}{' and others' if len(small) > 8 else ''}. Their numbers are "
        "mostly noise.",
        icon=":material/warning:",
    )
reports = compute.group_reports(view, result, by, names)
conclude(top, conclude_groups(reports, min_group_size))
st.subheader("The group furthest off", anchor=False)
comparison = compute.worst_groups(view, result, by, names, min(min_group_size, largest))
_worst_table(comparison, min(min_group_size, largest))
st.subheader("Every group", anchor=False)
metric = st.segmented_control(
    "Show",
    ["gap", ECE.name, MCE.name],
    default="gap",
    required=True,
    **linked("group_metric"),
)
show_chart(
    group_figure(
        reports,
        metric=metric.lower(),
        rows=f"{by}, {len(view.evaluation):,} evaluation rows",
        mode=theme_mode(),
    ),
    "group_chart",
)
st.subheader("One group, before and after", anchor=False)
_one_group(view, result, reports, by, names, sizes, str(comparison["furthest_group"].iloc[0]))
next_step("pages/decisions/page.py", "is it worth it? Decisions")
