"""Small random classifiers, for tests only."""

import numpy as np

from lore_core import Dataset


def overconfident(n=300, k=3, seed=0, sharpness=2.5):
    """A classifier whose probabilities were sharpened, and coordinates its errors depend on."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 2))
    logits = rng.normal(size=(n, k)) + z[:, :1] * np.linspace(-1, 1, k)
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    y = np.array([rng.choice(k, p=row) for row in p])
    sharp = p**sharpness / (p**sharpness).sum(1, keepdims=True)
    return Dataset(sharp, y, features=z), z


def found_in(of_rows, numbers):
    """Return the numbers, whole ones apart, that are among those of rows (sorted)."""
    numbers = np.asarray(numbers, dtype=float)
    numbers = numbers[np.isfinite(numbers)]
    numbers = numbers[numbers % 1 != 0]
    nearest = np.searchsorted(of_rows, numbers).clip(1, len(of_rows) - 1)
    off = np.minimum(abs(numbers - of_rows[nearest]), abs(numbers - of_rows[nearest - 1]))
    return numbers[off < 1e-12]
