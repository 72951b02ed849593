import numpy as np
import pytest

import lore_core as lore
from lore_core.regions import Field
from lore_core.view import View
from lore_core.view.preview import RESOLUTION, preview_rows
from lore_core.view.where import errors_of, field_of


@pytest.fixture(scope="module")
def view():
    dataset = lore.demo.synthetic(12_000).dataset
    return View(dataset, gamma=0.3, maps={"map": lore.embed(dataset.features, "identity")})


@pytest.mark.parametrize("bin_index", [None, 12])
def test_of_few_rows_it_is_the_field_itself(view, bin_index):
    moving = preview_rows(view, bin_index=bin_index, on=view.embedding)
    found = moving.at_gamma(view.gamma)
    errors = errors_of(view)
    exact = field_of(view, errors, bin_index=bin_index, resolution=RESOLUTION)
    np.testing.assert_array_equal(moving.field(view.gamma).signed, exact.signed)
    assert isinstance(found.field, Field)
    np.testing.assert_array_equal(found.field.signed, exact.signed)
    lce = errors.absolute[(errors.bin_index == bin_index) | (bin_index is None)]
    assert found.lce is not None
    np.testing.assert_allclose(found.lce[[0, -1]], [lce.min(), lce.max()])
    np.testing.assert_allclose(found.lce[21], np.quantile(lce, 1 / 3))


def test_of_many_rows_a_sample_shows_nearly_the_same_in_the_same_place(view):
    rows = (preview_rows(view, on=view.embedding, max_rows=n) for n in (4_000, 12_000))
    few, all_ = (of.field(view.gamma) for of in rows)
    np.testing.assert_array_equal([few.x, few.y], [all_.x, all_.y])
    both = np.isfinite(few.signed) & np.isfinite(all_.signed)
    assert both.sum() > 0.6 * np.isfinite(all_.signed).sum()
    assert np.quantile(np.abs(few.signed - all_.signed)[both], 0.9) < 0.08


def test_in_space_rows_have_their_own_errors(view):
    space = lore.embed(np.random.default_rng(0).normal(size=(12_000, 3)), "identity")
    few, all_ = (preview_rows(view, on=space, max_rows=n) for n in (4_000, 12_000))
    errors = errors_of(view)
    expected = np.where(errors.effective_size >= 10, errors.signed, np.nan)
    np.testing.assert_array_equal(all_.at_gamma(view.gamma).field, expected)
    assert all_.rows is None
    assert few.rows is not None
    np.testing.assert_array_equal(few.view.points(on=few.on), view.points(on=space)[few.rows])
    assert np.shape(few.at_gamma(view.gamma).field) == few.rows.shape
