"""The settings all pages share, in the link and kept across pages."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from lore_core import Dataset, Embedding, InputError
from lore_core.data.binning import Binning
from lore_core.data.dataset import ALL_CLASSES, TOP_LABEL
from lore_core.data.defaults import ROUND_GAMMAS
from lore_core.metrics import ReliabilityTable
from lore_core.metrics.catalogue import CURVES, MIN_BIN_ROWS
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE, VECTOR_COUNTS_ALIKE
from lore_core.metrics.metric import CurveKey
from lore_core.reading.formats import SUFFIXES
from lore_core.view import View
from pages.shared import maps
from pages.shared.files import is_local, named_path
from pages.shared.header import plain, show_error
from pages.shared.session import HISTORY, PICKS, current, name_in_link
from pages.shared.tasks import current_job

Given = TypeVar("Given")
#: Bandwidths the slider offers.
GAMMAS = list(ROUND_GAMMAS)
WHOLE_VECTOR = "whole vector"
#: Where rows come from.
DIRECTORY, PATH, UPLOAD, SAMPLE = "Directory", "Path", "Upload", "Sample"
FALLBACKS = ("PCA 2-D", "All features")
#: In the session: maps that controls wait for, until the reader takes them.
_AWAITED = "_awaited_maps"


#: Controls whose setting lives in the link; the page shown, and those that were made on it.
_LINKED, _PAGE, _MADE = "_linked", "_page", "_made"
_VIEW = "_view_shown"
#: Settings and picks as they were noted last; changes that can be undone; picks in the link.
_NOTED, _MAX_CHANGES, _LINKED_PICKS = "_noted", 50, ("region", "subgroup")


def linked(key: str) -> dict[str, str]:
    """Name a control, and let its setting live in the link, on whichever page it stands."""
    for controls in (_LINKED, _MADE):
        st.session_state.setdefault(controls, set()).add(key)
    return {"key": key, "bind": "query-params"}


def in_session(key: str) -> dict[str, str]:
    """Name a control, and keep its setting as long as the session, on whichever page it stands."""
    return {"key": key, "persist_state": "session"}


def one_of(label: str, options: list[str], *, into: Any = st, **named: Any) -> Any:
    """Choose one of a few that stand side by side: the first, until the reader says otherwise."""
    return into.segmented_control(label, options, default=options[0], required=True, **named)


def source_control(label: str, key: str, kinds: Sequence[str]) -> str:
    """Choose where rows come from; a directory or path only at this machine."""
    offered = [kind for kind in kinds if kind not in (DIRECTORY, PATH) or is_local()]
    return str(one_of(label, offered, label_visibility="collapsed", **in_session(key)))


def upload_control(label: str, key: str, **more: Any) -> list[Any]:
    """Ask for files of rows."""
    kinds = [suffix.lstrip(".") for suffix in SUFFIXES]
    return [*st.file_uploader(label, kinds, accept_multiple_files=True, key=key, **more)]


def choose_source(
    name: str,
    read: Callable[[Path | list[Any] | None], Given],
    *,
    label: str,
    sample: str,
    directory: tuple[str, str, str],
    uploads: tuple[str, str | None],
    wanted: tuple[str, str] | None,
) -> Given | None:
    """Choose a directory, uploads or the sample; return what ``read`` makes of it (None: sample).

    ``sample``: what it is. ``directory``: label, example and explanation; ``uploads``: label and
    explanation. ``wanted``: what to say and show as an example where nothing is given.
    """
    kind = source_control(label, f"{name}_from", (DIRECTORY, UPLOAD, SAMPLE))
    given: Path | list[Any] | None = None
    try:
        if kind == SAMPLE:
            st.caption(sample)
            return read(None)
        if kind == DIRECTORY:
            title, example, about = directory
            text = st.text_input(
                title, **in_session(f"{name}_path"), placeholder=example, help=about
            ).strip()
            given = named_path(text) if text else None
        else:
            given = upload_control(uploads[0], f"{name}_upload", help=uploads[1])
        if given:
            return read(given)
    except InputError as error:
        show_error(error)
        return None
    if wanted is not None:
        left, right = st.columns([1.2, 1], gap="large")
        left.markdown(wanted[0])
        right.code(wanted[1], language=None, wrap_lines=True)
    return None


def show_tabs(key: str, shows: Mapping[str, Callable[[], object]]) -> None:
    """Draw tabs, of which only the open one is computed; which it is lives in the link."""
    for tab, show in zip(st.tabs([*shows], **linked(key)), shows.values(), strict=True):
        if tab.open:
            with tab:
                show()


def keep_settings(page: str) -> None:
    """Carry the link's settings to a page's new controls once: repeated, it could undo a change."""
    if st.session_state.get(_PAGE) != page:
        st.session_state[_PAGE], st.session_state[_MADE] = page, set()
    st.session_state.pop(_VIEW, None)  # of a page that ended early
    for key in st.session_state.get(_LINKED, set()) - st.session_state[_MADE]:
        if key in st.session_state and key not in st.query_params:
            st.session_state[key] = st.session_state[key]


def current_page() -> str:
    """Return what the address calls the page that runs."""
    return str(st.session_state[_PAGE])


def note_changes() -> None:
    """Note which settings and picks were changed since they were noted last, for :func:`undo`."""
    state = st.session_state
    now = {name: state[name] for name in (*state.get(_LINKED, ()), *PICKS) if name in state}
    before = state.get(_NOTED, now)
    # (A control that was not there before is no change; a pick is.)
    names = {*PICKS, *(before.keys() & now.keys())}
    changed = {name: before.get(name) for name in names if before.get(name) != now.get(name)}
    state[_NOTED] = now
    if changed:
        state[HISTORY] = [*state.get(HISTORY, ()), changed][-_MAX_CHANGES:]


def undo() -> None:
    """Take the last change of settings or picks back."""
    state = st.session_state
    *state[HISTORY], last = state[HISTORY]
    for name, value in last.items():
        if value is None:
            state.pop(name, None)
        else:
            state[name] = value
    state[_NOTED] = state[_NOTED] | last
    for parameter in _LINKED_PICKS:
        name_in_link(parameter, None)  # else it would be taken from there again


def _usable(dataset: Dataset, wanted: str, control: str = "features") -> tuple[str, Embedding]:
    """Return the map that a control wants, or one made on the spot until the reader takes it."""
    embedding = maps.find_map(dataset, wanted)
    wish, awaited = (dataset.digest, wanted), st.session_state.setdefault(_AWAITED, {})
    if embedding is not None and awaited.get(control) != wish:
        awaited.pop(control, None)
        return wanted, embedding
    awaited[control] = wish
    shown = next(name for name in FALLBACKS if name in maps.available_maps(dataset))
    job = current_job()
    if embedding is not None or (job is not None and not job.ended):
        # (What is looked at is not replaced unasked, and does not move.)
        with st.container(horizontal=True, vertical_alignment="center"):
            made = f"while {job.title} is being made" if job and embedding is None else ""
            text = f"**{shown} is shown** {made or f'and {wanted} is ready'}."
            st.caption(f":material/map: {text}", width="content")
            st.button(
                f"Show {wanted}",
                key=f"show_{control}",
                disabled=embedding is None,
                on_click=awaited.pop,
                args=(control, None),
            )
    else:
        text, button = st.columns([5, 1.4], vertical_alignment="center")
        text.info(
            f"{wanted} has not been made for these data yet; **{shown} is shown instead**. Making "
            f"it takes about {maps.duration(maps.seconds(dataset, wanted))} and can be cancelled.",
            icon=":material/map:",
        )
        button.button(
            f"Make {wanted}",
            type="primary",
            width="stretch",
            key=f"make_{wanted}",
            on_click=maps.compute_map,
            args=(dataset, wanted),
        )
    return shown, maps.instant_map(dataset, shown)


def gamma_control(container: DeltaGenerator) -> float:
    """Choose the bandwidth."""
    return float(
        container.select_slider(
            "Bandwidth γ",
            GAMMAS,
            value=View.gamma,
            **linked("gamma"),
            help="How near another row must be to count: small γ looks at single rows, large γ at "
            "the whole confidence bin. In units of the map's scale.",
        )
    )


def bins_control(container: DeltaGenerator) -> int:
    """Choose the number of confidence bins."""
    return int(
        container.slider(
            "Confidence bins",
            1,
            50,
            View.n_bins,
            **linked("bins"),
            help="Only rows in the same confidence bin are compared.",
        )
    )


def bin_control(
    container: DeltaGenerator, table: ReliabilityTable, more: list[str], key: str, about: str
) -> int | None:
    """Choose a confidence bin with rows, or of ``more``: "all" is None, "worst", "best"."""
    numbers = np.flatnonzero(table.count).tolist()
    names = {table.bins.name(number): number for number in numbers}
    wanted = container.selectbox("Confidence bin", [*more, *names], **linked(key), help=about)
    if wanted == "worst":
        return table.worst_bin(MIN_BIN_ROWS)
    return table.best_bin(MIN_BIN_ROWS) if wanted == "best" else names.get(wanted)


def cost_controls(left: DeltaGenerator, right: DeltaGenerator) -> tuple[float, float]:
    """Choose what saying “unsure” and a wrong answer cost."""
    unsure = left.number_input("Cost of unsure, u", 0.01, 1e6, 1.0, **linked("unsure"))
    wrong = right.number_input("Cost of wrong, w", 0.01, 1e8, 10.0, **linked("wrong"))
    return float(unsure), float(wrong)


def target_control(dataset: Dataset) -> str | int:
    """Choose what is being calibrated: the top label, all classes or one."""
    why_not = "" if dataset.weights is None else VECTOR_COUNTS_ALIKE
    if not dataset.complete:
        why_not = (
            "These data hold the predicted class's probability only: no whole vector, no other."
        )
    whole = [] if why_not else [WHOLE_VECTOR]
    choices = [TOP_LABEL, *whole, *(dataset.class_names if dataset.complete else ())]
    chosen = st.selectbox(
        "Target",
        choices,
        **linked("target"),
        disabled=len(choices) == 1,
        help="top-label: is the prediction right as often as its confidence says? whole vector: "
        "does each class occur as often as its probability says, all at once (on Overview)? "
        "A class: does it occur as often as its probability says?",
    )
    if why_not:
        st.caption(why_not)
    if chosen in (TOP_LABEL, WHOLE_VECTOR):
        return TOP_LABEL if chosen == TOP_LABEL else ALL_CLASSES
    return choices.index(chosen) - 1 - len(whole)


def say_vector_is_elsewhere() -> None:
    """Say what is shown instead, where the target is every class at once."""
    if st.session_state.get("target") == WHOLE_VECTOR:
        st.caption("The whole vector is on Overview; here the target is the top label.")


def settings_menu(container: DeltaGenerator) -> tuple[DeltaGenerator, DeltaGenerator]:
    """Fold the settings all pages share into the header; return where they stand."""
    note_changes()
    container.button(
        "Undo",
        icon=":material/undo:",
        type="tertiary",
        width="content",
        key="undo",
        on_click=undo,
        disabled=not st.session_state.get(HISTORY),
        shortcut="Ctrl+Z",
        help="Takes the last change of settings or selections back.",
    )
    summary = container.container(width="content")
    look: dict[str, Any] = {"icon": ":material/tune:", "type": "tertiary", "width": "content"}
    return summary, container.popover("Settings", **look)


def view_controls(
    settings: DeltaGenerator | tuple[DeltaGenerator, DeltaGenerator], *, shows_vector: bool = False
) -> View:
    """Draw the shared settings, in their menu; ``shows_vector``: if the page knows that target."""
    dataset = current().dataset
    has_features = dataset.features is not None
    names = maps.available_maps(dataset)
    summary, popover = settings if isinstance(settings, tuple) else settings_menu(settings)
    wanted, value = "", View.gamma
    with popover:
        if has_features:
            value = gamma_control(st.container())
            wanted = st.selectbox(
                "Similar by",
                names,
                **linked("features"),
                help="The features in which rows count as near: the kernel works on this map.",
            )
        n_bins = bins_control(st.container())
        binning: Binning = one_of(
            "Bins of",
            ["equal-width", "equal-mass"],
            **linked("binning"),
            help="Equal steps of confidence, or about as many rows in each.",
        )
        target = target_control(dataset)
    # (What follows stays in place when there is no more to say.)
    with st.container(key="notice"):
        on = dict([_usable(dataset, wanted)]) if wanted else {}
        if not has_features:
            st.info(
                "These data hold no features, so only global calibration can be shown. To see "
                "**where** the confidence is wrong, add a `features` array (npz) or `f_*` columns "
                "(CSV, Parquet), or choose a column of texts as `text` on Data.",
                icon=":material/info:",
            )
        if not shows_vector:
            say_vector_is_elsewhere()
    view = View(dataset, target, value, n_bins, binning, on)
    of_label = view.with_(target=TOP_LABEL) if target == ALL_CLASSES else view
    note_view(of_label)  # (What other pages compute is not of all classes.)
    parts = [f"γ {value:g}" * has_features, f"{n_bins} bins", view.map_name if on else ""]
    parts.append("" if target == TOP_LABEL else plain(view.target_name))
    summary.caption(" · ".join(filter(None, parts)))
    return view if shows_vector else of_label


def note_view(view: View) -> None:
    """Note the view of the page that runs, for its exports and for what is computed when idle."""
    st.session_state[_VIEW] = view


def shown_view() -> View | None:
    """Return the view of the page that runs; None where it has none."""
    view: View | None = st.session_state.get(_VIEW)
    return view


def map_control(view: View, container: DeltaGenerator) -> tuple[str, Embedding]:
    """Choose the map the picture is drawn on, apart from the features the kernel works on."""
    names = maps.planar_maps(view.dataset)
    about = (
        "The map of the picture. If it is not the map the kernel works on, the rows' errors are "
        "averaged on it."
    )
    same = ["same as features"] if view.map_name in names else []
    return _chosen_map(view, container, "Draw on", [*same, *names], key="map", help=about)


def metric_map(view: View, container: DeltaGenerator) -> tuple[str, Embedding]:
    """Choose the map the local metrics are measured on, apart from the one LoRe uses."""
    others = [name for name in maps.available_maps(view.dataset) if name != view.map_name]
    label, names = "Measure local errors on", ["same as LoRe's", *others]
    about = "A local method looks good on its own map. Measured on another, does it still?"
    return _chosen_map(view, container, label, names, key="measure", width=300, help=about)


def _chosen_map(
    view: View, container: DeltaGenerator, label: str, names: list[str], key: str, **look: Any
) -> tuple[str, Embedding]:
    """Choose a map; a name that is none of these data's is the view's own."""
    name, place = container.selectbox(label, names, **linked(key), **look), st.container()
    if name == view.map_name or name not in maps.available_maps(view.dataset):
        return view.map_name, view.embedding
    with place:
        return _usable(view.dataset, name, key)


def curve_metric(container: DeltaGenerator) -> CurveKey:
    """Choose what curves over γ show."""
    about = (
        f"Supported MLCE: the largest local error of rows with {MIN_EFFECTIVE_SIZE:g} effective "
        "neighbours or more. ALCE: the mean of all rows. MLCE of all rows: the paper's, often set "
        "by a single row in an almost empty bin."
    )
    by_name = {curve.choice or curve.title: name for name, curve in CURVES.items()}
    return by_name[one_of("Summary", list(by_name), **linked("metric"), help=about, into=container)]
