import numpy as np
import pytest
from synthetic import found_in

from lore_core import (
    Dataset,
    HistogramBinning,
    InputError,
    IsotonicRegression,
    LoRe,
    PlattScaling,
    SmoothLoRe,
    TemperatureScaling,
    embed,
)
from lore_core.recalibration.cells import cells_of, means_of, rounded, sizes_of


@pytest.mark.parametrize("size", [3, 10])
def test_cells(size):
    random = np.random.default_rng(0)
    points, apart = random.normal(size=(500, 3)), random.choice(4, 500, p=[0.6, 0.37, 0.02, 0.01])
    cell = cells_of(points, apart, size)
    count = sizes_of(cell)
    assert count.min() >= size
    assert count.max() < 2 * size
    for one in range(4):
        here = apart == one
        # All rows are in a cell, unless too few are alike; and no cell mixes unlike ones.
        assert (cell[here] >= 0).all() == (here.sum() >= size)
        assert not np.isin(cell[here & (cell >= 0)], cell[~here]).any()
    for number in range(len(count)):
        rows = cell == number
        np.testing.assert_allclose(means_of(points, cell)[number], points[rows].mean(axis=0))
    # Near rows share a cell: within cells the spread is far below that of all.
    of_row = means_of(points, cell)[cell[cell >= 0]]
    assert np.abs(points[cell >= 0] - of_row).mean() < 0.6 * np.abs(points).mean()


def test_rounded_confidences():
    exact = np.array([0.0, 0.3, 0.9, 0.99999, 1.0])
    found = rounded(exact)
    assert found[[0, 4]].tolist() == [0.0, 1.0]
    inner = slice(1, 4)
    assert (found[inner] != exact[inner]).all()
    odds = found[inner] / (1 - found[inner]) * (1 - exact[inner]) / exact[inner]
    np.testing.assert_allclose(odds, 1.0, atol=0.0051)
    assert sizes_of(cells_of(np.zeros((25, 2)), np.zeros(25, np.int64), 10)).tolist() == [13, 12]
    with pytest.raises(InputError, match="at least 10 calibration rows must share a confidence"):
        cells_of(np.zeros((9, 2)), np.zeros(9, np.int64), 10)


def made(n, seed):
    random = np.random.default_rng(seed)
    z = random.normal(size=(n, 4))
    c = random.beta(5, 2, n) / 2 + 0.5
    right = random.random(n) < c - 0.2 * (z[:, 0] > 1)
    return Dataset(
        np.column_stack([c, 1 - c]),
        np.where(right, 0, 1),
        features=z,
        groups={"g": np.where(z[:, 1] > 0, "a", "b")},
    )


@pytest.fixture(scope="module")
def calibration():
    return made(600, 1)


@pytest.fixture(scope="module")
def new():
    return made(300, 2)


LOCAL = {"LoRe": LoRe(0.3, 5), "equal mass": LoRe(0.3, 5, "equal-mass"), "smooth": SmoothLoRe()}


def held(value):
    if hasattr(value, "state"):
        value = value.state()
    if isinstance(value, dict):
        return [number for item in value.values() for number in held(item)]
    if isinstance(value, (list, tuple)):
        return [number for item in value for number in held(item)]
    array = np.asarray(value)
    return array.ravel().tolist() if array.dtype.kind == "f" else []


@pytest.mark.parametrize("name", LOCAL)
def test_it_is_the_method_itself_where_all_rows_of_a_cell_are_alike(name, calibration, new):
    """Sixteen rows at each of 32 places, of one confidence: a mean over them is each of them."""
    places = np.repeat(calibration.features[:32], 16, axis=0)
    right = np.random.default_rng(3).random(512) < 0.7
    rows = Dataset(np.full((512, 2), [0.8, 0.2]), np.where(right, 0, 1), features=places)
    method = LOCAL[name].clone()
    if isinstance(method, SmoothLoRe):
        # Its confidences, each from a fit without the row, are not quite alike.
        method = SmoothLoRe(n_bins=[1])
    method.fit(rows, rows.features)
    exact = method.recalibrate(new, new.features).confidence
    kept = method.without_rows().recalibrate(new, new.features).confidence
    np.testing.assert_allclose(kept, exact, atol=1e-9)


def test_rows_of_a_sparse_bin_are_left_out(calibration):
    method = LoRe(0.3, 15).fit(calibration, embed(calibration.features))
    index = method.state()["bin_index"]
    sizes = np.bincount(index, minlength=15)
    saved = method.without_rows().state()
    assert 0 < sizes[8] < 10 or (sizes[sizes > 0] < 10).any()
    assert set(saved["bin_index"]) == set(np.flatnonzero(sizes >= 10))
    assert saved["count"].sum() == sizes[sizes >= 10].sum()
    method = HistogramBinning(15).fit(calibration)
    count = method.state()["count"]
    np.testing.assert_array_equal(count, np.histogram(calibration.confidence, 15, (0, 1))[0])
    saved = method.without_rows().state()
    np.testing.assert_array_equal(np.isnan(saved["accuracy"]), count < 10)
    assert saved["count"].tolist() == np.where(count < 10, 0, count).tolist()


def test_a_learned_map_knows_cells_too(calibration, new):
    plane = embed(calibration.features, "tsne", n_iter=20)
    saved = LoRe(0.3, 5).fit(calibration, plane).without_rows()
    (map_,) = (item["map"] for item in saved.fitted_on_.feature_maps)
    assert map_.known_rows == len(saved.state()["count"])
    of_rows, of_cells = (
        np.concatenate([item.projection.points.ravel(), item.projection.places.ravel()])
        for item in (plane, map_)
    )
    assert found_in(np.unique(of_rows), of_cells).tolist() == []
    assert np.isfinite(map_.transform(new.features)).all()


def test_isotonic_steps_of_enough_rows():
    """By hand: steps of 12, 3, 5, 11 and 4 rows; the second and third, and the last two, join."""
    c = np.linspace(0.503, 0.98, 35)
    sizes, right = [12, 3, 5, 11, 4], [3, 1, 2, 8, 4]
    outcome = np.concatenate(
        [np.arange(n)[::-1] >= n - k for n, k in zip(sizes, right, strict=True)]
    )
    rows = Dataset(np.column_stack([c, 1 - c]), np.where(outcome, 0, 1))
    method = IsotonicRegression().fit(rows)
    state = method.state()
    steps, first = np.unique(state["accuracy"], return_index=True)
    np.testing.assert_allclose(steps, [3 / 12, 1 / 3, 2 / 5, 8 / 11, 1.0])
    assert state["count"][first].tolist() == sizes
    kept = method.without_rows(8).state()
    steps, first = np.unique(kept["accuracy"], return_index=True)
    np.testing.assert_allclose(steps, [3 / 12, 3 / 8, 12 / 15])
    assert kept["count"][first].tolist() == [12, 8, 15]
    # Corners of the joined steps, odds rounded.
    np.testing.assert_allclose(kept["confidence"], c[[0, 11, 12, 19, 20, 34]], atol=0.002)
    assert found_in(np.sort(c), held(kept)).tolist() == []
    # Few rows are one step.
    c = np.linspace(0.6, 0.9, 5)
    rows = Dataset(np.column_stack([c, 1 - c]), [1, 0, 0, 0, 0])
    kept = IsotonicRegression().fit(rows).without_rows().state()
    assert set(kept["accuracy"]) == {0.8}


def test_a_few_numbers_stay_as_they_are(calibration, new):
    for method in (TemperatureScaling(), PlattScaling()):
        method.fit(calibration)
        kept = method.without_rows()
        np.testing.assert_array_equal(
            kept.recalibrate(new).probabilities, method.recalibrate(new).probabilities
        )
    inside = {"first": HistogramBinning().fit(calibration)}
    method = PlattScaling.restored({}, inside, label="of two", n_rows=600)
    with pytest.raises(InputError, match="cells of both, subtracted, could tell single rows"):
        method.without_rows()
    with pytest.raises(InputError, match="cell_size"):
        HistogramBinning().fit(calibration).without_rows(2)
