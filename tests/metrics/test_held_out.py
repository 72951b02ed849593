import numpy as np
import pytest

import lore_core as lore
from lore_core.kernel_sums import laplacian_sums
from lore_core.metrics.measured import Measured


def _measured(c, a, z=None, **options):
    data = lore.Dataset(np.column_stack([c, 1 - c]), 1 - a.astype(int))
    return Measured(data, z, **options)


def test_directions_are_those_of_the_other_half():
    rng = np.random.default_rng(0)
    c, z = rng.uniform(0.5, 1.0, 60), rng.normal(size=(60, 2))
    a = (rng.random(60) < 0.7).astype(float)
    rows = _measured(c, a, z, gamma=0.3, n_bins=4)
    held, bins = rows.held_out, rows.bin_index
    assert held.sum() == 30
    for local in (False, True):
        found = rows.held_out_gap(local=local)
        assert np.isnan(found[~held]).all()
        for i in np.flatnonzero(held):
            told = np.flatnonzero(~held & (bins == bins[i]))
            near = (
                np.exp(-np.abs(z[told] - z[i]).sum(axis=1) / 0.6) if local else np.ones(len(told))
            )
            direction = np.sign(near @ (c - a)[told])
            assert found[i] == pytest.approx(direction * (c - a)[i])


def test_a_row_alone_in_its_bin_has_no_direction():
    rows = _measured(np.array([0.55, 0.95]), np.array([1.0, 0.0]), np.zeros((2, 1)))
    for local in (False, True):
        assert np.nansum(np.abs(rows.held_out_gap(local=local))) == 0


def test_calibrated_rows_have_about_none_where_the_alce_has_much():
    rng = np.random.default_rng(1)
    held, usual = [], []
    for _ in range(40):
        c, z = rng.uniform(0.5, 1.0, 300), rng.normal(size=(300, 2))
        a = (rng.random(300) < c).astype(float)
        found = lore.summarize(_measured(c, a).dataset, z).values
        held.append(found["ALCE held out"])
        usual.append(found["ALCE"])
    assert abs(np.mean(held)) < 3 * np.std(held) / np.sqrt(40)
    assert np.mean(usual) > 0.15


def test_a_place_wrong_by_twenty_points_is_all_there():
    """Two bins as far apart as can be; the gap of the one is +0.2, of the other −0.2."""
    c = np.repeat([0.7, 0.9], 2000)
    a = np.concatenate([np.tile([1, 0], 1000), np.ones(1400), np.zeros(600)])
    z = np.repeat([0.0, 1.0], 2000)[:, None]
    # By halves the gaps are 0.2 ± a little: their direction is sure.
    rows = _measured(c, a, z)
    held = rows.held_out
    expected = np.mean((c - a)[held])
    assert np.nanmean(rows.held_out_gap(local=True)) == pytest.approx(expected)
    assert laplacian_sums(z, None, c - a, bandwidth=0.2).min() > 0
