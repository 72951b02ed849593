"""Real rows whose outcomes are drawn anew, so that the truth about them is known."""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_diabetes, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lore_core as lore
from lore_core.data.dataset import Dataset
from lore_core.regions.variables.attributes import telling_attributes

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Geometry:
    """Rows with the confidences, columns and features of a real (or realistic) classifier."""

    name: str
    dataset: Dataset
    points: Floats


@dataclass(frozen=True, eq=False)
class Planted:
    """Where outcomes are worse than promised, and what that is."""

    inside: NDArray[np.bool_]
    what: str


def _digits() -> Dataset:
    return lore.demo.digits().evaluation


def _tumours() -> Dataset:
    found = load_breast_cancer(as_frame=True)
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.05))
    p = cross_val_predict(model, found.data, found.target, method="predict_proba")
    return Dataset(p, found.target.to_numpy(), features=found.data, name="tumours")


def _diabetes() -> Dataset:
    found = load_diabetes(as_frame=True)
    high = (found.target > found.target.median()).to_numpy(np.int64)
    p = cross_val_predict(LogisticRegression(), found.data, high, method="predict_proba")
    return Dataset(p, high, features=found.data, name="diabetes")


def _table() -> Dataset:
    x, y = make_classification(
        10_000, 10, n_informative=6, n_classes=3, n_clusters_per_class=2, flip_y=0.1, random_state=0
    )
    rng = np.random.default_rng(0)
    place = rng.choice(["north", "south", "east", "west"], len(x), p=[0.4, 0.3, 0.2, 0.1])
    kind = np.where(x[:, 0] > 1, "new", np.where(x[:, 1] > 0, "usual", "old"))
    p = cross_val_predict(HistGradientBoostingClassifier(), x, y, method="predict_proba", cv=3)
    return Dataset(p, y, features=x, groups={"place": place, "kind": kind}, name="table")


def _plane() -> Dataset:
    return lore.demo.synthetic(4000, calibrated=True).dataset.evaluation


#: How each is made.
GEOMETRIES = {
    "digits": _digits,
    "tumours": _tumours,
    "diabetes": _diabetes,
    "table": _table,
    "plane": _plane,
}


@cache
def geometry(name: str, n: int | None = None) -> Geometry:
    """Make one, or ``n`` of its rows at random."""
    dataset = GEOMETRIES[name]()
    assert dataset.features is not None
    points = lore.embed(dataset.features, "pca", 2).coordinates
    if n is not None and n < len(dataset):
        rows = np.sort(np.random.default_rng(0).choice(len(dataset), n, replace=False))
        dataset, points = dataset.rows(rows), points[rows]
    return Geometry(name, dataset, points)


def redrawn(given: Geometry, gap: Floats | float, rng: np.random.Generator) -> Dataset:
    """Draw outcomes that fall short of the confidence by ``gap``, and labels that go with them."""
    dataset = given.dataset
    chance = np.clip(dataset.confidence - gap, 0.0, 1.0)
    right = rng.random(len(dataset)) < chance
    others = dataset.probabilities.copy()
    others[np.arange(len(dataset)), dataset.predictions] = 0.0
    others += 1e-9
    others[np.arange(len(dataset)), dataset.predictions] = 0.0
    labels = np.where(right, dataset.predictions, drawn_classes(others, rng))
    return replace(dataset, labels=labels)


def drawn_classes(chances: Floats, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw a class for each row, in proportion to its chances (n, K)."""
    upto = np.cumsum(chances, axis=1)
    return np.asarray((upto < rng.random((len(chances), 1)) * upto[:, -1:]).sum(axis=1), np.int64)


def blob(given: Geometry, share: float, rng: np.random.Generator) -> Planted:
    """Choose the rows nearest to one of them on the map."""
    centre = given.points[rng.integers(len(given.points))]
    distance = np.abs(given.points - centre).sum(axis=1)
    return Planted(distance <= np.quantile(distance, share), "blob")


def slice_of(given: Geometry, share: float, rng: np.random.Generator) -> Planted | None:
    """Choose a value, or a range of a number, that about so many rows hold; None: there is none."""
    found = []
    for item in telling_attributes(given.dataset, n_parts=6):
        parts = len(item.borders) + 1 if item.numeric else 1
        for length in range(1, min(parts, 3) + 1):
            for first in range(len(item.values) - length + 1):
                inside = (item.codes >= first) & (item.codes < first + length)
                if 0.6 * share <= inside.mean() <= 1.6 * share:
                    found.append(inside)
    return Planted(found[rng.integers(len(found))], "slice") if found else None
