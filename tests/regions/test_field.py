import numpy as np
import pytest

from lore_core import InputError, error_field
from lore_core.regions import rows_outline, smoothed_field


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


def test_places_without_support_are_empty(sample):
    c, a, z = sample
    field = error_field(c, a, z, gamma=0.02, min_effective_size=10)
    assert np.isnan(field.signed).any()
    assert 0 < field.masked_share <= 1
    corner = field.signed[0, 0]
    assert np.isnan(corner)  # far from every row


def test_smoothing_constant_values_changes_nothing(sample):
    _, _, z = sample
    field = smoothed_field(np.full(len(z), 0.25), np.full(len(z), 50.0), z, resolution=40)
    assert np.nanmin(field.signed) == pytest.approx(0.25)
    assert np.nanmax(field.signed) == pytest.approx(0.25)
    assert not field.exact


def test_rows_without_support_do_not_colour_the_map(sample):
    _, _, z = sample
    values, support = np.full(len(z), 0.25), np.full(len(z), 50.0)
    support[z[:, 0] < 0] = 1.0
    field = smoothed_field(values, support, z, resolution=60)
    left = field.x < -0.5
    assert np.isnan(field.signed[:, left]).all()
    assert np.isfinite(field.signed).any()


def test_nothing_supported_is_an_empty_picture(sample):
    _, _, z = sample
    field = smoothed_field(np.zeros(len(z)), np.zeros(len(z)), z, resolution=30)
    assert np.isnan(field.signed).all()
    assert field.masked_share == 1.0


def test_a_map_has_two_dimensions(sample):
    c, a, z = sample
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


def test_a_set_that_lies_together_and_one_that_is_scattered():
    z = np.random.default_rng(0).normal(size=(6000, 2))
    left, any_row = z[:, 0] < 0, np.arange(len(z)) % 5 == 0
    outline = rows_outline(z, left)
    assert outline.encloses(z)[left].mean() > 0.9
    assert outline.encloses(z)[z[:, 0] > 0.3].mean() < 0.1
    assert outline.holds_most(z[left])
    assert not rows_outline(z, any_row).holds_most(z[any_row])
