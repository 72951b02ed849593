import numpy as np
import pytest
from numpy.typing import NDArray


@pytest.fixture(scope="session")
def clusters() -> NDArray[np.float64]:
    """Three well separated clusters of 40 rows in 6 dimensions, one after the other."""
    rng = np.random.default_rng(0)
    centres = 8.0 * np.eye(6)[:3]
    return np.repeat(centres, 40, axis=0) + rng.normal(size=(120, 6))


@pytest.fixture(scope="session")
def others(clusters) -> NDArray[np.float64]:
    """Rows beside those: none is at the point of a known one, which lies where that lies."""
    return clusters + 0.2 * np.random.default_rng(1).normal(size=clusters.shape)
