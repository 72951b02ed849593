import numpy as np
import pytest

from lore_core import InputError, local_errors
from lore_core.mergeable import LocalErrorSums
from lore_core.mergeable.cell_sums.summaries import LocalDistribution
from lore_core.regions import SumsLandscape

_GAMMA, _BINS = 0.4, 4


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    z = rng.normal(size=(3000, 2))
    c = rng.uniform(size=3000)
    a = (rng.random(3000) < np.where(z[:, 0] > 0.5, c * 0.5, c)).astype(float)
    return c, a, z


@pytest.fixture(scope="module")
def sums(rows):
    return LocalErrorSums.of(*rows, n_bins=_BINS)


def test_nodes_of_one_bin_hold_the_kernel_means(rows, sums):
    c, a, z = rows
    seen = SumsLandscape.of(sums, gamma=_GAMMA, bin_index=3, resolution=40)
    field, bounds = seen.field, seen.field.bounds
    row, column = np.nonzero(np.isfinite(field.signed))
    nodes = np.column_stack([field.x[column], field.y[row]])
    of_bin = np.minimum(c * _BINS, _BINS - 1).astype(int) == 3
    distance = np.abs(nodes[:, None] - z[None, of_bin]).sum(axis=2)
    kernel = np.exp(-distance / (2 * _GAMMA))
    exact = kernel @ (c - a)[of_bin] / kernel.sum(axis=1)
    assert len(nodes) > 300
    assert (bounds[0][row, column] <= exact).all()
    assert (exact <= bounds[1][row, column]).all()
    assert np.abs(exact - field.signed[row, column]).max() <= seen.uncertainty.max()
    assert seen.counts[seen.chosen].sum() == of_bin.sum()
    assert f"{of_bin.sum():,} rows" in seen.sentence


def test_cells_hold_the_mean_errors_of_their_rows(rows, sums):
    seen = SumsLandscape.of(sums, gamma=_GAMMA, resolution=40)
    assert seen.field.bounds is None
    exact = local_errors(*rows, gamma=_GAMMA, n_bins=_BINS)
    # Nodes average what is near: on the whole that is what the rows' own field shows.
    on_the_right = seen.field.signed[:, seen.field.x > 1]
    right = rows[2][:, 0] > 1
    assert np.nanmean(on_the_right) == pytest.approx(exact.signed[right].mean(), abs=0.03)
    spread = LocalDistribution.of(sums, gamma=_GAMMA)
    for share in (0.5, 0.9, 1.0):
        of = spread.quantile(share)
        truth = np.sort(exact.absolute)[int(np.ceil(share * 3000)) - 1]
        assert of.low <= truth <= of.high


def test_maps_of_other_dimensions_have_no_field(rows, sums):
    c, a, z = rows
    line = SumsLandscape.of(LocalErrorSums.of(c, a, z[:, :1], n_bins=2), gamma=_GAMMA)
    assert line.field is None
    assert "too few neighbours" not in line.sentence
    empty = LocalErrorSums.of(c / 2, a, z, n_bins=2)
    with pytest.raises(InputError, match="with rows"):
        SumsLandscape.of(empty, gamma=_GAMMA, bin_index=1)
