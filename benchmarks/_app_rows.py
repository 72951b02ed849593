"""Rows to open the dashboard on: of several shapes, with a planted error, in any number."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import lore_core as lore

#: Calibration rows for each row that is shown.
CALIBRATION_SHARE = 0.25
_WORDS = 400


@dataclass(frozen=True)
class Shape:
    """What rows are made of."""

    classes: int
    features: int
    texts: bool = False  #: Whether words stand for the features


SHAPES = {
    "16 features × 10 classes": Shape(10, 16),
    "512 features × 100 classes": Shape(100, 512),
    "16 features, binary": Shape(2, 16),
    "texts, 4 classes": Shape(4, 4, texts=True),
}


def write_rows(path: Path, n_rows: int, shape: Shape = Shape(10, 16)) -> Path:
    """Write ``n_rows`` evaluation rows, and a quarter as many to fit on; return the file."""
    rng = np.random.default_rng(n_rows)
    n, classes, width = n_rows + round(CALIBRATION_SHARE * n_rows), shape.classes, shape.features
    centres = 2.5 * rng.normal(size=(classes, width)) * np.geomspace(1, 0.1, width)
    labels = rng.integers(0, classes, n)
    features = (centres[labels] + rng.normal(size=(n, width))).astype(np.float32)
    distance = np.stack([((features[:, :4] - at[:4]) ** 2).sum(axis=1) for at in centres], axis=1)
    # On one side of the map the classifier is twice as sure of itself as it may be.
    sharpness = np.where(features[:, :1] > 2, 2.0, 1.0)
    logits = -0.5 * sharpness * distance
    weight = np.exp(logits - logits.max(axis=1, keepdims=True))
    probs = (weight / weight.sum(axis=1, keepdims=True)).astype(np.float32)
    split = np.where(np.arange(n) < n_rows, "evaluation", "calibration")
    if shape.texts:
        columns = {f"p_{k}": probs[:, k] for k in range(classes)}
        frame = pd.DataFrame({"text": _texts(rng, features), **columns, "label": labels})
        frame.assign(split=split).to_parquet(path := path.with_suffix(".parquet"))
    else:
        np.savez(path, probs=probs, labels=labels, features=features, split=split)
    return path


def _texts(rng: np.random.Generator, features: np.ndarray) -> list[str]:
    """Write a sentence a row, of words that lie near the row."""
    places = 2.5 * rng.normal(size=(_WORDS, features.shape[1]))
    nearness = features @ places.T + 4 * rng.gumbel(size=(len(features), _WORDS))
    chosen = np.argpartition(-nearness, 12, axis=1)[:, :12]
    return [" ".join(f"word{k}" for k in row) for row in chosen.tolist()]


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
