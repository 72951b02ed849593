"""Orders of rows: sorting leaves, merging halves from both ends."""

from __future__ import annotations

import numpy as np
import pytest

from lore_core.kernel_sums.pairs import insertion_order, merge_order, reorder, tree_levels


@pytest.mark.parametrize("n_left", [0, 1, 2, 5, 16, 33])
@pytest.mark.parametrize("n_right", [0, 1, 2, 6, 16, 32])
@pytest.mark.parametrize("levels", [1, 3, 1000])
def test_merge_is_the_stable_order(n_left, n_right, levels, rng):
    lo, mid, hi = 4, 4 + n_left, 4 + n_left + n_right
    v = rng.integers(0, levels, size=hi + 3).astype(np.float64)
    v[lo:mid].sort()
    v[mid:hi].sort()
    order, code = np.empty(hi - lo, dtype=np.int32), np.empty(hi - lo, dtype=np.uint8)
    merge_order(lo, mid, hi, v, order, code)
    np.testing.assert_array_equal(order, lo + np.argsort(v[lo:hi], kind="stable"))
    np.testing.assert_array_equal(code, order >= mid)
    before = v.copy()
    reorder(lo, hi, v, order, np.empty(hi - lo))
    np.testing.assert_array_equal(v[lo:hi], np.sort(before[lo:hi]))
    np.testing.assert_array_equal(v[:lo], before[:lo])


@pytest.mark.parametrize("levels", [1, 3, 1000])
def test_insertion_is_the_stable_order(levels, rng):
    v = rng.integers(0, levels, size=40).astype(np.float64)
    order = np.empty(33, dtype=np.int32)
    insertion_order(3, 36, v, order)
    np.testing.assert_array_equal(order, 3 + np.argsort(v[3:36], kind="stable"))


def test_levels_leave_no_part_larger_than_a_leaf():
    assert [tree_levels(n, 32) for n in (1, 32, 33, 64, 65)] == [0, 0, 1, 1, 2]
