"""What all tests share: where real inputs may lie, and small random data."""

import os
from pathlib import Path

import numpy as np
import pytest

from lore_core.kernel_sums.compile_once import load_kernels
from lore_core.kernel_sums.schedule import one_thread_a_product

# As the app and the command do: tests share the processors with each other.
one_thread_a_product()
# As servers and workers do: the last bit of sums by numpy, of few rows, differs.
load_kernels()
# So do they, or a waiting thread of t-SNE keeps the processor. (Read once, with OpenMP.)
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

REAL_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items) -> None:
    """Let what a module prepares be prepared by one worker."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.module.__name__))


@pytest.fixture(scope="session")
def real_data() -> Path:
    if not REAL_DATA.is_dir():
        pytest.skip("no real inputs beside the checkout (../shared/data)")
    return REAL_DATA


@pytest.fixture
def sample():
    """Confidences, outcomes and 2-D coordinates of 400 rows, some of them duplicates."""
    rng = np.random.default_rng(7)
    n = 400
    confidence = rng.uniform(0.3, 1.0, n)
    outcome = (rng.uniform(size=n) < confidence**1.5).astype(float)
    z = rng.normal(size=(n, 2))
    z[50:60] = z[40:50]
    return confidence, outcome, z
