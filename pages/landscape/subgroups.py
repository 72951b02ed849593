"""Significant subgroups: listed, explained, outlined, and chosen for a closer look."""

from collections.abc import Hashable

import numpy as np
import streamlit as st

from lore_core import Embedding, describe_composition
from lore_core.data.dataset import TOP_LABEL
from lore_core.regions.subgroups.find import Subgroup, SubgroupSearch
from lore_core.regions.subgroups.overall import Against
from lore_core.regions.subgroups.verdict import describe_subgroup, evidence_of
from lore_core.view import View, where
from pages.shared import compute
from pages.shared.charts import csv_button
from pages.shared.controls import linked, one_of
from pages.shared.header import plain
from pages.shared.rows import show_examples
from pages.shared.subgroups import AUTOMATIC, choose_subgroup, examples_of

_EXAMPLES = 6
_AGAINST: dict[str, Against] = {
    "nothing wrong": "zero",
    "the average": "average",
    "rows of the same confidence": "same confidence",
}


def search_subgroups(view: View) -> SubgroupSearch:
    """Find the subgroups that are worse than what the reader compares them with."""
    wanted = st.session_state.get("against", AUTOMATIC)
    # Without the argument it is the very search behind the headline.
    how = {"against": _AGAINST[wanted]} if wanted in _AGAINST else {}
    search: SubgroupSearch = compute.subgroups(view, **how)
    return search


def against_control() -> None:
    """Choose what a subgroup must be worse than."""
    with st.popover("How subgroups are found", icon=":material/tune:"):
        one_of(
            "Worse than",
            [AUTOMATIC, *_AGAINST],
            **linked("against"),
            help="nothing wrong: every miscalibrated subgroup. the average: subgroups further off "
            "than all rows together. rows of the same confidence: what is left after the best "
            "recalibration that looks at the confidence only. automatic: the average where that is "
            "itself significant, else nothing wrong; the headline of Overview is this one.",
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
    chosen: int | None,
) -> None:
    """Say in words where the confidence is wrong, the most important subgroup first."""
    if not search.subgroups:
        st.success(search.sentence, icon=":material/check_circle:")
        return
    outlined = {str(number + 1) for number in range(len(search.subgroups))}
    if view.points(on=on_map).shape[1] == 2:
        outlined = {name for name, _ in compute.outlines(view.dataset, on_map, key, search)}
    for number, subgroup in enumerate(search.subgroups):
        # A worse part of another subgroup stands under it.
        into = st.container() if subgroup.within is None else st.columns([0.04, 0.96])[1]
        scattered = str(number + 1) not in outlined
        with into:
            _show(view, search, number, key, is_chosen=number == chosen, is_scattered=scattered)
    st.caption(search.sentence)
    csv_button("Subgroups as CSV", search.frame, "subgroups", key="subgroups_csv")


def held_out_note(subgroup: Subgroup, search: SubgroupSearch) -> str:
    """Say what a subgroup's own gap is worth."""
    return (
        "Half of these rows were chosen by their outcomes, which exaggerates the gap above. "
        f"Unbiased: {evidence_of(subgroup, search)[0].lower()}{evidence_of(subgroup, search)[1:]}"
    )


def _show(
    view: View,
    search: SubgroupSearch,
    number: int,
    key: tuple[Hashable, ...],
    *,
    is_chosen: bool,
    is_scattered: bool,
) -> None:
    dataset, target, subgroup = view.evaluation, view.target_rows, search.subgroups[number]
    sentences = [evidence_of(subgroup, search, top_label=view.target == TOP_LABEL)]
    if subgroup.is_region:
        everything = np.ones(len(dataset), dtype=bool)
        composed = compute.region_composition(view, (*key, number), search.mask(number), everything)
        sentences.append(f"It is {describe_composition(composed)}.")
    if words := where.retraining_words(subgroup, compute.gains(view)):
        sentences.append(words)
    if subgroup.within is not None:
        sentences.append(f"A worse part of subgroup {subgroup.within + 1}.")
    if is_scattered:
        sentences.append("Its rows lie scattered on this map, so it has no outline.")
    with st.container(border=True):
        text, button = st.columns([6, 1.2], vertical_alignment="center")
        color = "red" if subgroup.sign > 0 else "blue"
        sentence = describe_subgroup(subgroup)
        text.markdown(
            f":{color}-badge[**{number + 1}**] **{plain(sentence)}**  \n"
            f"{plain(' '.join(sentences))}"
        )
        button.button(
            "Inspect",
            icon=":material/search:",
            key=f"place_{number}",
            width="stretch",
            disabled=is_chosen,
            on_click=choose_subgroup,
            args=(key, number),
        )
        show_examples(dataset, examples_of(view, subgroup, _EXAMPLES), target.confidence)
