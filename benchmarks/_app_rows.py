"""Rows to open the dashboard on: ten classes, sixteen features, a planted error, in any number."""

import dataclasses
from pathlib import Path

import numpy as np

import lore_core as lore

CLASSES, FEATURES = 10, 16
#: Calibration rows for each row that is shown.
CALIBRATION_SHARE = 0.25


def write_rows(path: Path, n_rows: int) -> Path:
    """Write ``n_rows`` evaluation rows, and a quarter as many to fit on, as an ``.npz``."""
    rng = np.random.default_rng(n_rows)
    n = n_rows + round(CALIBRATION_SHARE * n_rows)
    centres = 2.5 * rng.normal(size=(CLASSES, FEATURES)) * np.geomspace(1, 0.1, FEATURES)
    labels = rng.integers(0, CLASSES, n)
    features = (centres[labels] + rng.normal(size=(n, FEATURES))).astype(np.float32)
    distance = ((features[:, None, :4] - centres[None, :, :4]) ** 2).sum(axis=2)
    # On one side of the map the classifier is twice as sure of itself as it may be.
    sharpness = np.where(features[:, :1] > 2, 2.0, 1.0)
    logits = -0.5 * sharpness * distance
    weight = np.exp(logits - logits.max(axis=1, keepdims=True))
    np.savez(
        path,
        probs=(weight / weight.sum(axis=1, keepdims=True)).astype(np.float32),
        labels=labels,
        features=features,
        split=np.where(np.arange(n) < n_rows, "evaluation", "calibration"),
    )
    return path


def map_of(data: Path, dimensions: int = 2) -> np.ndarray:
    """Return the evaluation rows on the map "PCA 2-D", or "PCA 3-D", in the browser's 32 bits."""
    rows = lore.load(data)
    made = lore.embed(rows.features, "pca", dimensions, random_state=0)
    return made.coordinates[rows.in_split("evaluation")].astype(np.float32)


def bytes_of(data: Path) -> int:
    """Return the bytes of the arrays of a dataset in memory."""
    rows = lore.load(data)
    arrays = (getattr(rows, part.name) for part in dataclasses.fields(rows))
    return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))
