import numpy as np
import pytest

# What has loaded the kernels uses them, however few the rows are.
import lore_core.kernel_sums.compiled  # noqa: F401


@pytest.fixture
def rng(monkeypatch):
    monkeypatch.setattr("lore_core.kernel_sums.compute._FEW_SOURCES", {2: 20, 3: 20})  # of few rows
    return np.random.default_rng(20210210)
