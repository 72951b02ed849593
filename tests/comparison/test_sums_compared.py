import numpy as np
import pytest

from lore_core import InputError, local_errors
from lore_core.comparison import compare_sums
from lore_core.mergeable import LocalErrorSums


def _rows(seed, wrong):
    rng = np.random.default_rng(seed)
    z, c = rng.normal(size=(2000, 2)), rng.uniform(size=2000)
    right = np.where(z[:, 0] > 0, c * wrong, c)
    return c, (rng.random(2000) < right).astype(float), z


def test_bounds_hold_the_exact_differences():
    rows = [_rows(1, 0.9), _rows(2, 0.3)]
    first, other = (LocalErrorSums.of(*of, n_bins=3) for of in rows)
    found = compare_sums(first, other, gamma=0.3)
    one, two = (local_errors(*of, gamma=0.3, n_bins=3) for of in rows)
    table = found.table.set_index("metric")
    for name, exact in (("ALCE", two.average - one.average), ("MLCE", two.maximum - one.maximum)):
        assert table.at_least[name] <= exact <= table.at_most[name]
        assert table.difference[name] == pytest.approx(exact, abs=0.05)
    # At the rows themselves: what is surely larger is about the half with the planted error.
    subgroups = other.local_values(rows[0][0], rows[0][2], gamma=0.3)
    larger = np.mean(subgroups.absolute.value > one.absolute)
    assert 0.3 < found.larger <= larger + 0.1
    assert found.larger + found.smaller <= 1
    with pytest.raises(InputError, match="share"):
        compare_sums(first, LocalErrorSums.of(*rows[1], n_bins=4))
