import numpy as np
import pytest

import lore_core.kernel_sums.compiled  # noqa: F401 -- once loaded, they sum few rows too


@pytest.fixture
def rng(monkeypatch):
    monkeypatch.setattr("lore_core.kernel_sums.compute._FEW_SOURCES", {2: 20, 3: 20})  # of few rows
    monkeypatch.setattr("lore_core.kernel_sums.prepare._HELD_ROWS", (1, 2**21))
    return np.random.default_rng(20210210)
