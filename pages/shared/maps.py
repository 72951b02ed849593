"""Feature maps by name: which there are, which are ready, and how to get the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import streamlit as st

from lore_core import Dataset, Embedding, embed
from lore_core.data.progress import Progress
from lore_core.embedding import estimate_seconds
from pages.shared.jobs import current_job, join_job, start_job
from pages.shared.store import store

__all__ = [
    "MAPS",
    "FeatureMap",
    "available_maps",
    "compute_map",
    "duration",
    "find_map",
    "planar_maps",
    "seconds",
]

#: Maps estimated to take less are made without asking.
AUTOMATIC_SECONDS = 60.0
#: Linear maps are made on the spot.
_INSTANT = ("pca", "identity")


@dataclass(frozen=True)
class FeatureMap:
    """One way from features to an embedding."""

    name: str
    method: Literal["identity", "pca", "tsne", "umap"]
    n_components: int

    @property
    def instant(self) -> bool:
        """True for linear maps."""
        return self.method in _INSTANT


MAPS = {
    item.name: item
    for item in (
        FeatureMap("t-SNE 2-D", "tsne", 2),
        FeatureMap("t-SNE 3-D", "tsne", 3),
        FeatureMap("UMAP 2-D", "umap", 2),
        FeatureMap("UMAP 3-D", "umap", 3),
        FeatureMap("PCA 2-D", "pca", 2),
        FeatureMap("PCA 3-D", "pca", 3),
        FeatureMap("PCA 10-D", "pca", 10),
        FeatureMap("PCA 20-D", "pca", 20),
        FeatureMap("PCA 50-D", "pca", 50),
        FeatureMap("All features", "identity", 0),
    )
}


def available_maps(dataset: Dataset) -> list[str]:
    """Names of the maps these features allow."""
    if dataset.features is None:
        return []
    n, p = dataset.features.shape
    names = []
    for item in MAPS.values():
        learned = item.method in ("tsne", "umap")
        if learned and (n < 10 or p < 2):
            continue
        if item.method == "pca" and item.n_components > min(n, p):
            continue
        names.append(item.name)
    return names


def planar_maps(dataset: Dataset) -> list[str]:
    """Names of the maps that can be drawn: 2-D and 3-D ones."""
    p = 0 if dataset.features is None else dataset.features.shape[1]
    return [
        name
        for name in available_maps(dataset)
        if MAPS[name].n_components in (2, 3) or (MAPS[name].method == "identity" and p in (2, 3))
    ]


def seconds(dataset: Dataset, name: str) -> float:
    """Rough duration of a map."""
    assert dataset.features is not None
    n, p = dataset.features.shape
    item = MAPS[name]
    return estimate_seconds(item.method, n, p, item.n_components)


def duration(seconds_: float) -> str:
    """Say a duration in words a reader takes as rough."""
    if seconds_ < 1.5:
        return "a second"
    return f"{seconds_:.0f} s" if seconds_ < 90 else f"{seconds_ / 60:.0f} min"


def _make(dataset: Dataset, name: str, progress: Progress | None = None) -> Embedding:
    item = MAPS[name]
    assert dataset.features is not None  # else no map is offered
    return embed(
        dataset.features, item.method, max(item.n_components, 1), random_state=0, progress=progress
    )


def compute_map(dataset: Dataset, name: str) -> None:
    """Start making a map in the background."""
    start_job(
        (dataset.digest, name),
        name,
        lambda progress: _make(dataset, name, progress),
        lambda embedding: store().put_embedding(dataset, name, embedding),
        seconds(dataset, name),
    )


def find_map(dataset: Dataset, name: str) -> Embedding | None:
    """Return a map if it is ready or can be made on the spot; otherwise None.

    A learned map that takes under a minute is started by itself.
    """
    found = store().embedding(dataset, name)
    if found is not None:
        return found
    if MAPS[name].instant:
        embedding = _make(dataset, name)
        store().put_embedding(dataset, name, embedding)
        return embedding
    job = current_job()
    if job is not None and job.running:
        return None
    key = (dataset.digest, name)
    tried = st.session_state.setdefault("_maps_tried", set())
    if join_job(key):
        st.rerun()  # so that its progress is on screen from the start
    if key not in tried and seconds(dataset, name) <= AUTOMATIC_SECONDS:
        tried.add(key)
        compute_map(dataset, name)
        st.rerun()
    return None
