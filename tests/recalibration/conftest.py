import pytest
from synthetic import overconfident


@pytest.fixture(scope="session")
def rows():
    return *overconfident(250, seed=1), *overconfident(150, seed=2)
