"""Rows that several recalibrators are fitted on and applied to."""

import pytest
from synthetic import overconfident


@pytest.fixture(scope="session")
def rows():
    """Calibration rows and evaluation rows, each with coordinates."""
    return *overconfident(250, seed=1), *overconfident(150, seed=2)
