import numpy as np
import pytest

# What has loaded the kernels uses them, however few the rows are.
import lore_core.kernel_sums.compiled  # noqa: F401


@pytest.fixture
def rng():
    return np.random.default_rng(20210210)
