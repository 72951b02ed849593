"""Head of a page: its question, the data, the verdict; and Markdown escaped in texts."""

import re

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from lore_core import InputError
from lore_core.comparison import Conclusion
from lore_core.data.number_text import unbroken
from lore_core.metrics.glossary import GLOSSARY
from lore_core.regions.subgroups.verdict import Verdict
from pages.shared.session import current, failure, is_loaded, join_names, problem, whole_data


def question(title: str, text: str, *, names_data: bool = True) -> DeltaGenerator:
    """Head a page with its question, and name the data; return where its settings go."""
    head = st.container(key="head", gap="xsmall")
    head.html('<a class="skip" href="#map">Skip to the map</a>')
    if not names_data or not is_loaded():
        head.subheader(title, anchor=False, help=text)
        return head
    dataset, whole = current().dataset, whole_data()
    n_calibration = 0 if dataset.calibration is None else len(dataset.calibration)
    row = {"horizontal": True, "vertical_alignment": "center", "gap": "small"}
    line = head.container(**row, horizontal_alignment="distribute")
    line.subheader(title, anchor=False, help=text, width="content")
    with line.container(**row, width="content"):
        st.badge(plain(dataset.name), icon=":material/dataset:", color="green")
        st.caption(
            f"{len(dataset.evaluation):,} evaluation + {n_calibration:,} calibration rows"
            f"{'' if dataset.weights is None else ', weighted'}"
            f"{'' if dataset.units is None else f', {dataset.n_units:,} units'}"
            f"{'' if whole is None else f', a sample of {whole.n_drawn_from:,}'}",
            width="content",
        )
        settings = st.container(
            horizontal=True, vertical_alignment="center", gap="small", width="content"
        )
        with st.popover("Glossary", icon=":material/menu_book:", type="tertiary", width="content"):
            words = (f"- **{plain(term)}**: {plain(text)}" for term, text in GLOSSARY.items())
            st.markdown("\n".join(words))
    if trouble := problem():
        st.warning(plain(trouble), icon=":material/warning:")
    if (failed := failure()) is not None:
        st.warning(
            f"{plain(join_names(failed.files))} could not be read (see Data): the pages still show "
            f"**{plain(dataset.name)}**.",
            icon=":material/warning:",
        )
    return settings


_LEVELS = {
    "good": (st.success, "check_circle", "green"),
    "local": (st.warning, "location_searching", "orange"),
    "global": (st.error, "error", "red"),
}


def headline(verdict: Verdict, more: str = "") -> None:
    """Begin a page with the verdict, and in a second line with ``more``."""
    show, icon, _ = _LEVELS[verdict.level]
    text = f"**{plain(verdict.sentence)}**"
    show(f"{text}  \n{plain(more)}" if more else text, icon=f":material/{icon}:")


def headline_in_a_line(verdict: Verdict) -> None:
    """Say the verdict where a picture needs the room."""
    _, icon, color = _LEVELS[verdict.level]
    st.markdown(f":{color}[:material/{icon}:] **{plain(verdict.sentence)}**")


def conclude(container: DeltaGenerator, conclusion: Conclusion) -> None:
    """Show a conclusion, which report and command say too, in a page's first container."""
    container.info(plain(conclusion.sentence), icon=":material/summarize:")


def show_error(text: str | InputError) -> None:
    """Say in a sentence what went wrong."""
    st.error(sentence(str(text)), icon=":material/error:")


def sentence(text: str) -> str:
    """Write words as a sentence of a page, options of the command as code, which is not broken."""
    return _OPTION.sub(r"`\g<0>`", plain(text[:1].upper() + text[1:]))


#: Options of the command in an error, such as ``--column``.
_OPTION = re.compile(r"(?<![\w-])--[a-z]+(?:-[a-z]+)*")
#: Where web and e-mail addresses are cut: Streamlit makes links of whole ones, escaped or not.
_IN_ADDRESS = re.compile(r"(?<=:)(?=//)|(?<=www)(?=\.)|(?=@)", re.IGNORECASE)


def plain(text: str) -> str:
    """Escape Markdown in the user's own text, a file or column; addresses become no links."""
    cut = _IN_ADDRESS.sub("\N{WORD JOINER}", unbroken(text))
    return "".join(f"\\{c}" if c in "\\`*_{}[]()<>#+!|~$:" else c for c in cut)
