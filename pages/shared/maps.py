"""Feature maps by name: which there are, which are ready, and how to get the others."""

import threading

import streamlit as st

from lore_core import Dataset, Embedding
from lore_core.dashboard.worker_pool import Request
from lore_core.embedding import MapName, embed, estimate_seconds, make_map
from lore_core.view import View
from pages.shared.store import store
from pages.shared.tasks import JOB_PLACE, is_busy, job_panel, join_job, start_job

#: Maps estimated to take less are made without asking.
AUTOMATIC_SECONDS = 60.0
_LEARNED = [MapName(method, dimensions) for method in ("tsne", "umap") for dimensions in (2, 3)]
_LINEAR = [MapName("pca", dimensions) for dimensions in (2, 3, 10, 20, 50)]
_TURN = threading.Lock()
MAPS = {name.title: name for name in (*_LEARNED, *_LINEAR, MapName("identity"))}


def available_maps(dataset: Dataset) -> list[str]:
    """Titles of the maps these features allow."""
    if dataset.features is None:
        return []
    n, p = dataset.features.shape
    learned, most = n >= 10 and p >= 2, min(n, p)
    return [
        title
        for title, name in MAPS.items()
        if (learned if name.learned else (name.n_components or 0) <= most)
    ]


def planar_maps(dataset: Dataset) -> list[str]:
    """Titles of the maps that can be drawn: 2-D and 3-D ones."""
    p = 0 if dataset.features is None else dataset.features.shape[1]
    return [title for title in available_maps(dataset) if (MAPS[title].n_components or p) in (2, 3)]


def seconds(dataset: Dataset, title: str) -> float:
    """Rough duration of a map."""
    return _request(dataset, title).seconds


def _request(dataset: Dataset, title: str) -> Request[Embedding]:
    assert dataset.features is not None  # else no map is offered
    (n, p), name, key = dataset.features.shape, MAPS[title], (dataset.digest, title)
    n_components = name.n_components or p
    return Request(
        embed,
        {"features": dataset.features, "method": name.method, "n_components": n_components},
        key,
        title,
        estimate_seconds(name.method, n, p, n_components),
        lane="long",
        keep=lambda embedding: store().maps.put(key, embedding),
    )


def duration(seconds_: float) -> str:
    """Say a duration in words a reader takes as rough."""
    if seconds_ < 1.5:
        return "a second"
    return f"{seconds_:.0f} s" if seconds_ < 90 else f"{seconds_ / 60:.0f} min"


def compute_map(dataset: Dataset, title: str) -> None:
    """Start making a learned map in the background."""
    start_job(_request(dataset, title))


def is_ready(dataset: Dataset, title: str) -> bool:
    """Whether a map is there, or can be made on the spot."""
    return not MAPS[title].learned or store().maps.get((dataset.digest, title)) is not None


def instant_map(dataset: Dataset, title: str) -> Embedding:
    """Return a linear map, which is made on the spot."""
    with _TURN:  # a page may ask for what is being prepared
        embedding = store().maps.get((dataset.digest, title))
        if embedding is None:
            embedding = make_map(dataset, MAPS[title])
            store().maps.hold((dataset.digest, title), embedding)
    return embedding


def plane_of(view: View) -> tuple[str, Embedding] | None:
    """Return a view's map if it is a plane, else the one of two principal components, if any."""
    if view.embedding.n_components == 2:
        return view.map_name, view.embedding
    plane = MapName("pca", 2).title
    if plane not in available_maps(view.dataset):
        return None
    return plane, instant_map(view.dataset, plane)


def find_map(dataset: Dataset, title: str) -> Embedding | None:
    """Return a map if it is ready or made on the spot or, below a minute, unasked; else None."""
    if not MAPS[title].learned:
        return instant_map(dataset, title)
    key = (dataset.digest, title)
    found = store().maps.get(key)
    if found is not None or is_busy():
        return found
    tried = st.session_state.setdefault("_maps_tried", set())
    if not join_job(embed, key):
        if key in tried or seconds(dataset, title) > AUTOMATIC_SECONDS:
            return None
        tried.add(key)
        compute_map(dataset, title)
    with st.session_state[JOB_PLACE]:
        job_panel()
    return None
