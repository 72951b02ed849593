"""Small random classifiers, for tests only."""

import json

import numpy as np
import pandas as pd

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


def run_of(seed, n=160, k=3):
    """One run of a model: three features, two groups, one half to calibrate on."""
    data, z = overconfident(n, k=k, seed=seed)
    return Dataset(
        data.probabilities,
        data.labels,
        features=np.column_stack([z, z[:, 0] * z[:, 1]]),
        groups=pd.DataFrame({"region": np.array(["north", "south"])[np.arange(n) % 2]}),
        split=np.array(["calibration", "evaluation"])[np.arange(n) // (n // 2)],
        name=f"run{seed}",
    )


def found_in(of_rows, numbers):
    """Return the numbers, whole ones apart, that are among those of rows (sorted)."""
    numbers = np.asarray(numbers, dtype=float)
    numbers = numbers[np.isfinite(numbers)]
    numbers = numbers[numbers % 1 != 0]
    nearest = np.searchsorted(of_rows, numbers).clip(1, len(of_rows) - 1)
    off = np.minimum(abs(numbers - of_rows[nearest]), abs(numbers - of_rows[nearest - 1]))
    return numbers[off < 1e-12]


def unpacked(content: bytes) -> dict:
    """The header and arrays of what a browser is sent of a map."""
    length = int.from_bytes(content[-4:], "little")
    header = json.loads(content[-4 - length : -4])
    for name, (kind, place, size) in header.pop("arrays").items():
        header[name] = np.frombuffer(content, f"<{kind}", size, place)
    return header
