"""Made-up data whose true calibration error is known at every row."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: How sure the model is: spread out, nearly certain, undecided.
CONFIDENCES = {
    "spread (Beta 8, 1)": lambda rng, n: rng.beta(8, 1, n),
    "nearly certain (1 − Exp 0.02)": lambda rng, n: 1 - rng.exponential(0.02, n).clip(0, 0.5),
    "undecided (0.3 to 0.7)": lambda rng, n: rng.uniform(0.3, 0.7, n),
}


@dataclass(frozen=True)
class World:
    """Rows and the truth about them.

    Attributes
    ----------
    confidence, outcome : ndarray of shape (n,)
    z : ndarray of shape (n, d)
    gap : ndarray of shape (n,)
        Confidence minus true accuracy.
    """

    confidence: Floats
    outcome: Floats
    z: Floats
    gap: Floats


def _world(rng: np.random.Generator, confidence: Floats, z: Floats, gap: Floats) -> World:
    accuracy = np.clip(confidence - gap, 0.0, 1.0)
    outcome = (rng.random(len(confidence)) < accuracy).astype(np.float64)
    return World(confidence, outcome, z, confidence - accuracy)


def calibrated(seed: int, n: int, kind: str, d: int = 2) -> World:
    """Return standard normal rows whose confidences are right."""
    rng = np.random.default_rng(seed)
    confidence = np.asarray(CONFIDENCES[kind](rng, n))
    return _world(rng, confidence, rng.normal(size=(n, d)), np.zeros(n))


def blobs(seed: int, n: int, gap: float, share: float = 0.1, d: int = 2) -> World:
    """Return five blobs too far apart to see each other; the first is overconfident by ``gap``.

    The others are calibrated, so which discoveries are false is known exactly.
    """
    rng = np.random.default_rng(seed)
    blob = rng.choice(5, n, p=[share, *[(1 - share) / 4] * 4])
    z = rng.normal(size=(n, d))
    z[:, 0] += 25.0 * blob
    confidence = rng.uniform(0.6, 0.95, n)
    return _world(rng, confidence, z, np.where(blob == 0, gap, 0.0))


def slope(seed: int, n: int, size: float) -> World:
    """Return normal rows whose error changes smoothly and averages to 0: size · sin(2 x)."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 2))
    return _world(rng, rng.uniform(0.6, 0.9, n), z, size * np.sin(2 * z[:, 0]))


def shift(seed: int, n: int, size: float) -> World:
    """Return normal rows that are all overconfident by ``size``."""
    rng = np.random.default_rng(seed)
    confidence = rng.beta(4, 1, n)
    return _world(rng, confidence, rng.normal(size=(n, 2)), np.full(n, size))
