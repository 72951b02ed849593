from dataclasses import replace

import numpy as np
import pytest

from lore_core import InputError, error_field, local_errors
from lore_core.mergeable import LocalErrorSums
from lore_core.mergeable.cell_sums.summaries import LocalDistribution
from lore_core.regions import SumsLandscape, rows_outline, smoothed_field


def test_nodes_are_the_definition(sample):
    c, a, z = sample
    field = error_field(c, a, z, gamma=0.3, resolution=21, min_effective_size=0)
    rows, columns = np.nonzero(np.isfinite(field.signed))
    assert len(rows) > 20
    for row, column in list(zip(rows, columns, strict=True))[::17]:
        node = np.array([field.x[column], field.y[row]])
        k = np.exp(-np.abs(z - node).sum(axis=1) / 0.6)
        assert field.signed[row, column] == pytest.approx((k * (c - a)).sum() / k.sum())
        assert field.effective_size[row, column] == pytest.approx(k.sum() ** 2 / (k**2).sum())


@pytest.mark.parametrize("resolution", [9, 60])
def test_smoothed_nodes_and_outlines_are_kernel_means(sample, resolution):
    c, a, z = sample
    support, counts = np.where(z[:, 0] < 0.3, 50.0, 1.0), np.arange(1, len(z) + 1)
    good, inside = support > 10, z[:, 1] > 0
    extent = np.ptp(z, axis=0).max()

    def definition(of, rows, values, weights):
        nodes = np.stack(np.meshgrid(of.x, of.y), axis=-1)
        k = np.exp(-np.abs(nodes[:, :, None] - z[rows]).sum(axis=-1) / (0.012 * extent))
        return (k * (weights * values)[rows]).sum(axis=-1) / (k * weights[rows]).sum(axis=-1)

    for weights in (None, counts):
        field = smoothed_field(c - a, support, z, resolution=resolution, weights=weights)
        shown = np.isfinite(field.signed)
        expected = definition(field, good, c - a, np.ones(len(z)) if weights is None else weights)
        assert shown.any()
        np.testing.assert_allclose(field.signed[shown], expected[shown], rtol=1e-9, atol=1e-13)
        np.testing.assert_allclose(field.effective_size[shown], 50.0)
    outline = rows_outline(z, inside)
    near = outline.inside > 0
    expected = definition(outline, np.ones(len(z), dtype=bool), inside, np.ones(len(z)))
    np.testing.assert_allclose(outline.inside[near], expected[near])


def test_what_has_no_support_is_empty(sample):
    c, a, z = sample
    field = error_field(c, a, z, gamma=0.02, min_effective_size=10)
    assert np.isnan(field.signed).any()
    assert 0 < field.masked_share <= 1
    corner = field.signed[0, 0]
    assert np.isnan(corner)  # far from every row
    values, support = np.full(len(z), 0.25), np.full(len(z), 50.0)
    support[z[:, 0] < 0] = 1.0
    field = smoothed_field(values, support, z, resolution=60)
    left = field.x < -0.5
    assert np.isnan(field.signed[:, left]).all()
    assert np.isfinite(field.signed).any()
    field = smoothed_field(np.zeros(len(z)), np.zeros(len(z)), z, resolution=30)
    assert np.isnan(field.signed).all()
    assert field.masked_share == 1.0
    field = smoothed_field(np.full(len(z), 0.25), np.full(len(z), 50.0), z, resolution=40)
    assert np.nanmin(field.signed) == pytest.approx(0.25)
    assert np.nanmax(field.signed) == pytest.approx(0.25)
    assert not field.exact
    with pytest.raises(InputError, match="a map must have 2 dimensions; got 3"):
        error_field(c, a, np.column_stack([z, z[:, 0]]))


@pytest.mark.parametrize("exact", [True, False])
def test_only_some_rows_are_shown(sample, exact):
    c, a, z = sample

    def drawn(only):
        if exact:
            return error_field(c, a, z, gamma=0.3, resolution=25, only=only)
        return smoothed_field(c - a, np.full(len(c), 50.0), z, resolution=25, only=only)

    everything = drawn(None)
    assert everything.outside_share is None
    left = z[:, 0] < 0
    some = drawn(left)
    shown, known = np.isfinite(some.signed), np.isfinite(everything.signed)
    np.testing.assert_array_equal(some.signed[shown], everything.signed[shown])
    nodes = np.stack(np.meshgrid(some.x, some.y), axis=-1)
    nearest = np.abs(nodes[:, :, None] - z).sum(axis=-1).argmin(axis=-1)
    np.testing.assert_array_equal(shown, known & left[nearest])
    assert some.outside_share == pytest.approx(1 - shown.sum() / known.sum())
    nothing = drawn(np.zeros(len(z), dtype=bool))
    assert np.isnan(nothing.signed).all()
    assert nothing.outside_share == 1.0


def test_outline_of_a_set(sample):
    _, _, z = sample
    left = z[:, 0] < 0
    outline = rows_outline(z, left)
    column = np.nonzero(outline.inside > 0.5)[1]
    assert outline.x[column].max() < 0.15
    assert not (rows_outline(z, np.zeros(400, dtype=bool)).inside > 0).any()
    z = np.random.default_rng(0).normal(size=(6000, 2))
    left, any_row = z[:, 0] < 0, np.arange(len(z)) % 5 == 0
    outline = rows_outline(z, left)
    assert outline.encloses(z)[left].mean() > 0.9
    assert outline.encloses(z)[z[:, 0] > 0.3].mean() < 0.1
    assert outline.holds_most(z[left])
    assert not rows_outline(z, any_row).holds_most(z[any_row])


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
    seen = SumsLandscape.of(sums, gamma=_GAMMA, bin_index=3)
    field, bounds = seen.field, seen.field.bounds
    row, column = (axis[::9] for axis in np.nonzero(np.isfinite(field.signed)))
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
    seen = SumsLandscape.of(sums, gamma=_GAMMA)
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


def test_less_of_a_change_is_certain_of_rows_of_units():
    rng = np.random.default_rng(3)
    c, z, unit = rng.uniform(0.5, 0.95, 4000), rng.normal(size=(4000, 2)), np.repeat(range(400), 10)
    a = [(rng.random(400)[unit] < c - shift * (z[:, 0] > 0)).astype(float) for shift in (0.0, 0.3)]
    before, now = (
        SumsLandscape.of(LocalErrorSums.of(c, of, z, groups=unit % 64), gamma=_GAMMA) for of in a
    )
    alone = [replace(of, sums=replace(of.sums, of_units=None)) for of in (before, now)]
    assert now.sums.error_ratio > 1.5
    assert alone[1].sums.error_ratio == 1.0
    (change, certain), (same, by_rows) = now.change_since(before), alone[1].change_since(alone[0])
    np.testing.assert_array_equal(change.signed, same.signed)
    assert by_rows[certain].all()
    assert 0 < certain.sum() < 0.8 * by_rows.sum()


def test_maps_of_other_dimensions_have_no_field(rows, sums):
    c, a, z = rows
    line = SumsLandscape.of(LocalErrorSums.of(c, a, z[:, :1], n_bins=2), gamma=_GAMMA)
    assert line.field is None
    assert "too few neighbours" not in line.sentence
    empty = LocalErrorSums.of(c / 2, a, z, n_bins=2)
    with pytest.raises(InputError, match="with rows"):
        SumsLandscape.of(empty, gamma=_GAMMA, bin_index=1)
