import numpy as np
import pytest

from lore_core import Dataset

CLASSES = ("ash", "birch", "cedar")


def _make_rows(n: int, seed: int) -> Dataset:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 5))
    scores = X @ np.random.default_rng(99).normal(size=(5, 3)) * 2
    vectors = np.exp(scores - scores.max(axis=1, keepdims=True))
    vectors /= vectors.sum(axis=1, keepdims=True)
    truth = np.where(X[:, :1] > 0, vectors, vectors**0.4)
    truth /= truth.sum(axis=1, keepdims=True)
    labels = (random.random((n, 1)) > truth.cumsum(axis=1)).sum(axis=1).clip(0, 2)
    names = random.choice(["north", "south"], n)
    names[: n // 50] = "west"
    return Dataset(vectors, labels, X, {"region": names}, class_names=CLASSES)


@pytest.fixture(scope="session")
def make_rows():
    return _make_rows


@pytest.fixture(scope="session")
def calibration() -> Dataset:
    return _make_rows(400, 1)


@pytest.fixture(scope="session")
def new() -> Dataset:
    return _make_rows(900, 2)


@pytest.fixture(scope="session")
def as_given(new):
    rounded = np.round(np.asarray(new.probabilities), 6)
    return rounded, Dataset(
        rounded, new.labels, features=new.features, groups=new.groups, class_names=CLASSES
    )
