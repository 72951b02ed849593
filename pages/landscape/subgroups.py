"""Significant subgroups: listed, explained, outlined, and chosen for a closer look."""

from collections.abc import Hashable, Sequence

import numpy as np
import streamlit as st

from lore_core import Embedding, describe_composition
from lore_core.dashboard.background_tasks import estimate_gains
from lore_core.data.dataset import TOP_LABEL
from lore_core.regions import SavedSubgroup, measure_subgroups, saved_subgroups
from lore_core.regions.subgroups.find import Subgroup, SubgroupSearch
from lore_core.regions.subgroups.overall import Against
from lore_core.regions.subgroups.saved import subgroups_json
from lore_core.regions.subgroups.verdict import describe_subgroup, evidence_of, generated_name
from lore_core.view import View, where
from pages.shared import compute, subgroups as shared
from pages.shared.charts import csv_button
from pages.shared.controls import linked, one_of
from pages.shared.header import plain
from pages.shared.session import saved
from pages.shared.tasks import await_result

#: Cards that are listed at once.
_LISTED = 4
#: What the reader compares subgroups with, and what they are then tested against.
AGAINST: dict[str, Against] = {
    "nothing wrong": "zero",
    "the average": "average",
    "rows of the same confidence": "same confidence",
}


def against_control() -> None:
    """Choose what a subgroup must be worse than."""
    with st.popover("How subgroups are found", icon=":material/tune:"):
        one_of(
            "Worse than",
            [shared.AUTOMATIC, *AGAINST],
            **linked("against"),
            help="nothing wrong: every miscalibrated subgroup. the average: those further off than "
            "all rows. rows of the same confidence: what the best recalibration of the confidence "
            "leaves. automatic, as on Overview: the average if significant, else nothing wrong.",
        )
        st.caption(
            "Values and ranges of columns, pairs of columns, and regions of the map are searched "
            "on one half of the rows. The best twelve are tested on the other half, and the other "
            "way round; only significant ones are listed."
        )


def list_subgroups(
    view: View,
    on_map: Embedding,
    search: SubgroupSearch,
    key: tuple[Hashable, ...],
    chosen: shared.Chosen | None,
) -> None:
    """Say in words where the confidence is wrong, the most important subgroup first."""
    if not search.subgroups:
        st.success(search.sentence, icon=":material/check_circle:")
    outlined = {str(number + 1) for number in range(len(search.subgroups))}
    if view.points(on=on_map).shape[1] == 2:
        outlined = {name for name, _ in compute.outlines(view, on_map, search)}
    columns, n_more = st.columns(2, gap="medium"), len(search.subgroups) - _LISTED
    for number in range(len(search.subgroups)):
        if number == _LISTED:
            label = f"{n_more} more subgroup{'s' * (n_more > 1)}"
            more = st.expander(label, key="more_subgroups", on_change="rerun")
            if not more.open:
                break
            columns = more.columns(2, gap="medium")
        scattered = str(number + 1) not in outlined
        with columns[number % 2]:
            _show(view, search, number, key, chosen=chosen, is_scattered=scattered)
    found = {subgroup.id for subgroup in search.subgroups}
    others = [item for item in saved().values() if item.id not in found]
    measured = measure_subgroups(view.evaluation, others, target=view.target)
    for item, text, n in zip(others, measured["sentence"], measured["rows"], strict=True):
        lines = [f"**{plain(item.words)}**, not found by this search", plain(text)]
        _frame(view, item, chosen, lines, can_be_seen=n > 0)
    if search.subgroups:
        st.caption(search.sentence)
    with st.container(horizontal=True):
        if search.subgroups:
            csv_button("Subgroups as CSV", search.frame, "subgroups", key="subgroups_csv")
        if search.subgroups or others:
            st.download_button(
                "Subgroups as a file",
                lambda: subgroups_json([*saved_subgroups(search, view.evaluation), *others]),
                "lore-lens-subgroups.json",
                "application/json",
                icon=":material/download:",
                on_click="ignore",
                key="subgroups_file",
                help="Definitions, names and notes: for “Load subgroups”, for other data too, "
                "`lore subgroups --file` and `lore_core.regions.load_subgroups`.",
            )
        shared.load_control()


def _frame(
    view: View,
    item: Subgroup | SavedSubgroup,
    chosen: shared.Chosen | None,
    lines: Sequence[str],
    *,
    can_be_seen: bool = True,
) -> None:
    """Show lines on a subgroup, and what the reader can do with it."""
    with st.container(border=True):
        note = [f"*{plain(item.note)}*"] if item.note else []
        st.markdown("  \n".join([*lines, *note]))
        if isinstance(item, Subgroup):
            shared.show_examples_of(view, item)
        with st.container(horizontal=True, gap="small"):
            st.button(
                "Inspect",
                icon=":material/search:",
                key=f"inspect_{item.id}",
                disabled=not can_be_seen or (chosen is not None and chosen.saved.id == item.id),
                on_click=shared.choose_subgroup,
                args=(view.evaluation, item),
            )
            shared.name_control(view.evaluation, item)


def chosen_note(chosen: shared.Chosen, search: SubgroupSearch) -> str:
    """Say what the gap of the chosen subgroup is worth."""
    if chosen.number is None:
        return "This search did not find it: these rows are those that its definition names."
    evidence = evidence_of(search.subgroups[chosen.number], search)
    return (
        "Half of these rows were chosen by their outcomes, which exaggerates the gap above. "
        f"Unbiased: {evidence[0].lower()}{evidence[1:]}"
    )


def _show(
    view: View,
    search: SubgroupSearch,
    number: int,
    key: tuple[Hashable, ...],
    *,
    chosen: shared.Chosen | None,
    is_scattered: bool,
) -> None:
    dataset, subgroup = view.evaluation, search.subgroups[number]
    sentences = [f"{generated_name(subgroup)}."] if subgroup.name else []
    sentences.append(evidence_of(subgroup, search, top_label=view.target == TOP_LABEL))
    if subgroup.is_region:
        everything = np.ones(len(dataset), dtype=bool)
        composed = compute.region_composition(view, (*key, number), search.mask(number), everything)
        sentences.append(f"It is {describe_composition(composed)}.")
    if words := where.retraining_words(subgroup, await_result(compute.work(estimate_gains, view))):
        sentences.append(words)
    if subgroup.within is not None:
        sentences.append(f"A worse part of subgroup {subgroup.within + 1}.")
    if is_scattered:
        sentences.append("Its rows lie scattered on this map, so it has no outline.")
    badge = f":{shared.marks_of(search.subgroups)[number]}-badge[**{number + 1}**]"
    lines = [f"{badge} **{plain(describe_subgroup(subgroup))}**", plain(" ".join(sentences))]
    _frame(view, subgroup, chosen, lines)
