"""Fairness: is the model calibrated for every group?"""

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from lore_core import Comparison
from lore_core.comparison import conclude_groups
from lore_core.data.number_text import gap_words, percent, rows_words
from lore_core.figures import group_figure, reliability_figure
from lore_core.metrics.catalogue import ECE, MCE, MIN_CELL_ROWS, MIN_GROUP_SIZE, WORST_CELL
from lore_core.regions import Subgroup
from lore_core.view import View
from lore_core.view.methods import drawn_first, group_columns, group_names
from lore_core.view.where import recalibrated_reliability_of
from pages.shared import compute
from pages.shared.cells import count_column, in_hundredths, points_column
from pages.shared.charts import end_page, next_step, show_chart
from pages.shared.controls import in_session, linked, map_control, one_of, show_tabs, view_controls
from pages.shared.header import conclude, plain, question
from pages.shared.maps import planar_maps
from pages.shared.methods import compared, pair_controls, pair_of_maps
from pages.shared.subgroups import MAX_ROWS_AT_ONCE, title_of
from pages.shared.tasks import await_result

_SUBGROUPS = "significant subgroups"


def _group_names(
    view: View, found: list[Subgroup], container: DeltaGenerator
) -> tuple[np.ndarray, str, np.ndarray]:
    """Return each row's group as the reader chooses, by what, and which rows are measured."""
    columns = [*group_columns(view.dataset), *([_SUBGROUPS] if found else [])]
    chosen = container.multiselect(
        "Groups by",
        columns,
        default=columns[:1],
        **in_session("groups"),
        help="Several columns give their intersections. Of subgroups only rows count that had no "
        "part in finding them.",
    )
    if not chosen:
        st.info("Choose at least one group column.", icon=":material/groups:")
        st.stop()
    measured = np.ones(len(view.evaluation), dtype=bool)
    parts = [group_names(view.evaluation, [name]) for name in chosen if name != _SUBGROUPS]
    if _SUBGROUPS in chosen:
        own = np.full(len(measured), "elsewhere", dtype=object)
        for number, item in reversed(list(enumerate(found))):
            if item.within is None:
                own[item.rows] = title_of(item, number)
                measured[item.rows] = np.isin(item.rows, item.held_out)
        parts.append(own)
    names = parts[0]
    for part in parts[1:]:
        names = names + " × " + part
    return names, " × ".join(chosen), measured


def _worst_table(table: pd.DataFrame, min_group_size: int) -> None:
    rows = count_column("its rows")
    columns = {
        "furthest_group": "worst group",
        "furthest_rows": rows,
        "gap": points_column("its gap, points", signed=True),
        "gap_low": points_column("95 % from", signed=True),
        "gap_high": points_column("to", signed=True),
        "cell_gap": points_column(WORST_CELL.heading, signed=True),
        "cell": "the cell",
        "cell_rows": rows,
    }
    table = in_hundredths(table.rename_axis("method"), "gap", "gap_low", "gap_high", "cell_gap")
    st.dataframe(table, height="content", column_order=[*columns], column_config=columns)
    st.caption(
        f"Groups of {min_group_size} rows or more; intervals hold for all of them at once. Cells "
        f"of group and confidence bin with {MIN_CELL_ROWS} rows or more: the worst of many is "
        "large by selection. Recalibrate says what held-out rows show there."
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
    head = st.columns(4, vertical_alignment="bottom")
    listed = list(sizes.index)
    group = head[0].selectbox("Group", listed, index=listed.index(worst), **in_session("group"))
    pair = pair_controls(result, head[1], head[2])
    inside, places = names == group, ("before", "after")
    for column, place, method in zip(st.columns(2), places, pair, strict=True):
        found = reports[method].set_index("group").loc[group]
        table = recalibrated_reliability_of(view, result.datasets[method], inside)
        rows = f"{group}, {found['rows']:,} evaluation rows"
        with column:
            chart = reliability_figure(table, rows=rows, height=320, title=method)
            show_chart(chart, f"group_{place}")
            st.caption(
                f"{rows_words(int(found['rows']))}: mean confidence "
                f"{percent(found['mean_confidence'])}, accuracy {percent(found['accuracy'])}; gap "
                f"{gap_words(found['gap'], found['gap_low'], found['gap_high'])}."
            )
    if not view.is_local or not planar_maps(view.dataset):
        return
    on = map_control(view, head[3])
    if view.points(on=on[1]).shape[1] != 2:
        return
    titles = [f"{group}: {method}" for method in pair]
    rows, key = f"{group}, {view.kernel_in_words}", (by, group)
    _, pictures = pair_of_maps(view, result, pair, on, inside, key, rows, titles, height=360)
    for column, place, picture in zip(st.columns(2), places, pictures, strict=True):
        with column:
            show_chart(picture, f"place_{place}")


settings = question(
    "Is it calibrated for every group?",
    "Calibration inside each group of the evaluation rows. Groups are used to measure only: no "
    "method, LoRe included, saw them when it was fitted.",
)
view = view_controls(settings)
search = compute.subgroups(view) if len(view.evaluation) <= MAX_ROWS_AT_ONCE else None
found = [] if search is None else search.subgroups
if view.dataset.groups is None and not found:
    end_page(
        "pages/data/page.py",
        "load data with groups",
        "These data name no groups. Add a `groups` array (npz), or a text column of a few values "
        "(CSV, Parquet), and every method can be compared by group.",
        "groups",
    )
top = st.container(key="main_answer")
picture = st.container(key="main_picture")
toolbar = st.container(horizontal=True, vertical_alignment="bottom", gap="medium")
names, by, measured = _group_names(view, found, toolbar.container(width=300))
metric = one_of("Show", ["gap", ECE.name, MCE.name], **linked("group_metric"), into=toolbar)
sizes = pd.Series(names[measured]).value_counts()
largest = int(sizes.max())
smallest = toolbar.container(width=200).slider(
    "Smallest group counted",
    1,
    max(min(largest, 500), 2),
    min(MIN_GROUP_SIZE, largest),
    **linked("min_group"),
    help="Smaller groups are shown, faint, but do not set the maximum.",
)
min_group_size = min(smallest, largest)
result = compared(view, None, toolbar)
drawn = toolbar.multiselect(
    "Drawn", list(result.datasets), default=drawn_first(result), width=300, key=f"drawn_{by}"
)
key = (by, tuple((item.id, item.name) for item in found))
reports = await_result(compute.group_reports(view, result, key, names, measured))
conclude(top, conclude_groups(reports, min_group_size))
comparison = compute.worst_groups(view, result, key, names, measured, min_group_size)
with picture:
    chart = group_figure(
        {name: reports[name] for name in reports if name in drawn} or reports,
        metric=metric.lower(),
        rows=f"{by}, {int(measured.sum()):,} evaluation rows",
    )
    small = [f"{name} ({n})" for name, n in sizes[sizes < MIN_GROUP_SIZE].head(8).items()]
    few = f" Few rows, mostly noise: {', '.join(small)}." if small else ""
    show_chart(chart, "group_chart", caption=f"{chart.how_to_read}{plain(few)}")
worst, shown = str(comparison["furthest_group"].iloc[0]), np.where(measured, names, "")
show_tabs(
    "fairness_tab",
    {
        "One group, before and after": lambda: _one_group(
            view, result, reports, by, shown, sizes, worst
        ),
        "Worst group of each method": lambda: _worst_table(comparison, min_group_size),
    },
)
next_step("pages/decisions/page.py", "is it worth it? Decisions")
