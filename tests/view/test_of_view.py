import dataclasses

import numpy as np
import pytest

import lore_core as lore
from lore_core.regions import Field
from lore_core.view import View, where
from lore_core.view.inference import chance_band_of, chance_errors_of
from lore_core.view.methods import (
    Grouping,
    comparison_of,
    grouping_of,
    interval_options,
    recalibrators_of,
)
from lore_core.view.scene import RESOLUTION, preview_rows
from lore_core.view.where import errors_of, field_of


@pytest.fixture(scope="module")
def view():
    dataset = lore.demo.synthetic(600, n_features=4).dataset
    maps = {"PCA 2-D": lore.embed(dataset.features, "pca", 2)}
    return View(dataset, gamma=0.5, n_bins=3, maps=maps, seed=1)


def test_a_field_is_exact_for_a_bin_on_the_kernels_own_map(view):
    errors = errors_of(view)
    own = field_of(view, errors, bin_index=2, resolution=8)
    assert own.exact
    known = view.target_rows.confidence, view.target_rows.outcome, view.points()
    options = {"gamma": 0.5, "resolution": 8, "min_effective_size": 10}
    expected = lore.error_field(*known, rows=errors.bin_index == 2, **options)
    np.testing.assert_array_equal(own.signed, expected.signed)
    other = lore.embed(view.dataset.features, "pca", 2)
    assert not field_of(view, errors, bin_index=2, on=other, resolution=8).exact
    assert not field_of(view, errors, resolution=8).exact


def test_simulations_are_left_out_or_those_of_the_library(view):
    assert chance_errors_of(view, n_draws=0) is None
    assert chance_band_of(view, n_draws=0) is None
    found = chance_errors_of(view, n_draws=40)
    assert found is not None
    options = {"gamma": 0.5, "n_bins": 3, "n_draws": 40, "random_state": 1}
    drawn = lore.null_errors(view.target_rows.confidence, view.points(), **options)
    np.testing.assert_array_equal(found.mlce, drawn.mlce)


def test_no_suggestion_without_pairs_of_calibration_rows(view, monkeypatch):
    whole = where.suggestion_of(view, (1, 5))
    assert whole is not None
    assert whole.n_rows == len(view.calibration)
    monkeypatch.setattr(where, "MOST_TRIED_ON", 50)
    assert where.suggestion_of(view, (1, 5)).n_rows == 50
    assert where.suggestion_of(view.with_(dataset=view.evaluation, maps={}), (1, 5)) is None
    one = view.dataset.rows(np.append(np.flatnonzero(view.dataset.in_split("evaluation")), 0))
    split = np.where(np.arange(len(one)) == len(one) - 1, "calibration", "evaluation")
    lonely = dataclasses.replace(one, split=split)
    assert where.suggestion_of(View(lonely), (1, 5)) is None


def test_methods_of_a_view(view):
    assert "LoRe" in recalibrators_of(view)
    assert all(item.is_global for item in recalibrators_of(view.with_(maps={})).values())
    methods = [recalibrators_of(view)["LoRe"]]
    result = comparison_of(view, methods, {"n_draws": 0})
    rows = view.evaluation
    placed = result.recalibrators["LoRe"].recalibrate(rows, view.points())
    np.testing.assert_array_equal(result.datasets["LoRe"].confidence, placed.confidence)
    assert methods[0].to_bytes()
    alone = view.with_(dataset=view.evaluation, maps={})
    alone = alone.with_(dataset=dataclasses.replace(alone.dataset, split=None))
    with pytest.raises(lore.InputError, match="must have calibration rows to fit on"):
        comparison_of(alone, [], {})


def test_simulating_is_for_the_map_that_is_measured_on(view):
    on = lore.embed(view.dataset.features, "identity")
    n = len(view.evaluation)
    assert interval_options(view) == lore.inference.affordable_intervals(n, 2)
    assert interval_options(view, on=on) == lore.inference.affordable_intervals(n, 4)
    assert interval_options(view.with_(maps={})) == lore.inference.affordable_intervals(n, None)
    groups = np.array([["a", "x"], ["b", "x"]])[np.arange(len(view.dataset)) % 2]
    dataset = dataclasses.replace(view.dataset, groups=groups)
    assert grouping_of(dataset) == Grouping("group_0", 30)
    few = dataset.rows(np.arange(8))
    few = dataclasses.replace(few, split=None)
    assert grouping_of(few, "group_1") == Grouping("group_1", 8)
    assert grouping_of(few, min_group_size=3) == Grouping("group_0", 3)
    assert grouping_of(view.dataset) is None or view.dataset.groups is not None


def test_chance_is_drawn_in_cells_where_single_rows_would_take_too_long(view, monkeypatch):
    assert chance_errors_of(view).n_cells is None
    monkeypatch.setattr("lore_core.inference.simulation.SWEEP_BUDGET", 1e5)
    drawn = chance_errors_of(view)
    assert drawn.n_cells < len(view.evaluation)
    assert f"of rows in {drawn.n_cells:,} cells of like rows" in lore.describe_maximum(
        errors_of(view), drawn
    )
    assert chance_errors_of(view, n_draws=30).n_draws == 30  # as many as were asked for
    # Rows with weights are not summed in cells.
    weighted = dataclasses.replace(view.dataset, weights=1.0 + np.arange(len(view.dataset)) % 3)
    assert chance_errors_of(view.with_(dataset=weighted), n_draws=30).n_cells is None


@pytest.fixture(scope="module")
def large():
    dataset = lore.demo.synthetic(12_000).dataset
    return View(dataset, gamma=0.3, maps={"map": lore.embed(dataset.features, "identity")})


@pytest.mark.parametrize("bin_index", [None, 12])
def test_of_few_rows_it_is_the_field_itself(large, bin_index):
    moving = preview_rows(large, bin_index=bin_index, on=large.embedding)
    field, found = moving.at_gamma(large.gamma)
    errors = errors_of(large)
    exact = field_of(large, errors, bin_index=bin_index, resolution=RESOLUTION)
    assert isinstance(field, Field)
    np.testing.assert_array_equal(field.signed, exact.signed)
    lce = errors.absolute[(errors.bin_index == bin_index) | (bin_index is None)]
    assert found is not None
    np.testing.assert_allclose(found[[0, -1]], [lce.min(), lce.max()])
    np.testing.assert_allclose(found[21], np.quantile(lce, 1 / 3))


def test_of_many_rows_a_sample_shows_nearly_the_same_in_the_same_place(large):
    rows = (preview_rows(large, on=large.embedding, max_rows=n) for n in (4_000, 12_000))
    few, all_ = (of.at_gamma(large.gamma)[0] for of in rows)
    np.testing.assert_array_equal([few.x, few.y], [all_.x, all_.y])
    both = np.isfinite(few.signed) & np.isfinite(all_.signed)
    assert both.sum() > 0.6 * np.isfinite(all_.signed).sum()
    assert np.quantile(np.abs(few.signed - all_.signed)[both], 0.9) < 0.08
    space = lore.embed(np.random.default_rng(0).normal(size=(12_000, 3)), "identity")
    few, all_ = (preview_rows(large, on=space, max_rows=n) for n in (4_000, 12_000))
    errors = errors_of(large)
    expected = np.where(errors.effective_size >= 10, errors.signed, np.nan)
    np.testing.assert_array_equal(all_.at_gamma(large.gamma)[0], expected)
    assert all_.rows is None
    assert few.rows is not None
    np.testing.assert_array_equal(few.view.points(on=few.on), large.points(on=space)[few.rows])
    assert np.shape(few.at_gamma(large.gamma)[0]) == few.rows.shape
