"""A small classifier with awkward names, and the result objects its figures are drawn from."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from lore_core import Dataset, bandwidth_curve, error_field, local_errors, reliability_table
from lore_core.metrics import LocalErrors

#: Names and values a user may well have, and a figure must not take for markup.
NASTY = ("<b>x</b>", "a & b", "<script>alert(1)</script>")


@pytest.fixture(scope="session")
def dataset():
    rng = np.random.default_rng(3)
    n = 300
    probabilities = rng.dirichlet([2.0, 1.0, 0.5], n)
    labels = np.array([rng.choice(3, p=p) for p in probabilities])
    metadata = pd.DataFrame(
        {"<i>site</i>": rng.choice(NASTY, n), "age": rng.normal(40, 10, n), "note": NASTY[2]}
    )
    return Dataset(
        probabilities,
        labels,
        rng.normal(size=(n, 2)),
        metadata=metadata,
        class_names=NASTY,
    )


@pytest.fixture(scope="session")
def points(dataset):
    return np.asarray(dataset.features, dtype=np.float64)


@pytest.fixture(scope="session")
def table(dataset):
    return reliability_table(dataset.confidence, dataset.outcome, n_bins=15)


@pytest.fixture(scope="session")
def errors(dataset, points):
    return local_errors(dataset.confidence, dataset.outcome, points, gamma=0.4, n_bins=5)


@pytest.fixture(scope="session")
def field(dataset, points, errors):
    return error_field(
        dataset.confidence,
        dataset.outcome,
        points,
        gamma=0.4,
        rows=errors.bin_index == 3,
        resolution=40,
        min_effective_size=5.0,
    )


@pytest.fixture(scope="session")
def curves(dataset, points):
    def curve(z):
        return bandwidth_curve(dataset.confidence, dataset.outcome, z, np.geomspace(0.01, 100, 7))

    return {"<b>first</b>": curve(points), "one & only": curve(points[:, :1])}


@pytest.fixture
def strings():
    """Every text of a figure, as the browser gets it."""

    def collect(figure):
        found = []

        def walk(item):
            if isinstance(item, str):
                found.append(item)
            elif isinstance(item, dict):
                for value in item.values():
                    walk(value)
            elif isinstance(item, list):
                for value in item:
                    walk(value)

        walk(json.loads(figure.to_json()))
        return found

    return collect


@pytest.fixture
def with_nan():
    """The same local errors with some rows about which nothing is known."""

    def spoil(errors: LocalErrors, rows) -> LocalErrors:
        signed = errors.signed.copy()
        signed[rows] = np.nan
        return LocalErrors(
            signed,
            errors.accuracy,
            errors.mass,
            errors.effective_size,
            errors.bin_index,
            errors.bins,
            errors.gamma,
        )

    return spoil
