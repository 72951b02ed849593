import dataclasses
import itertools

import numpy as np
import pytest

from lore_core import InputError, reliability_table
from lore_core.data.binning import confidence_bins
from lore_core.inference.simulation import null_errors
from lore_core.kernel_sums import laplacian_sums
from lore_core.mergeable import (
    LocalErrorSums,
    bandwidth_curve_of_sums,
    metrics_of_sums,
    null_errors_of_sums,
)
from lore_core.metrics import local_errors


def _rows(n, d=2, seed=5, spread=1.0):
    rng = np.random.default_rng(seed)
    c = rng.uniform(0, 1, n)
    return c, (rng.random(n) < c**1.3).astype(float), rng.normal(size=(n, d)) * spread


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("max_cells", [200, 2**20])
def test_parts_in_any_order_are_the_whole_to_the_last_bit(d, max_cells):
    c, a, z = _rows(600, d)
    z[::7] *= 30  # so that parts reach different levels
    score = np.linspace(0, 1, 600) / 3

    def of(rows):
        return LocalErrorSums.of(
            c[rows], a[rows], z[rows], max_cells=max_cells, scores={"NLL": score[rows]}
        )

    whole = of(np.arange(600))
    rng = np.random.default_rng(1)
    for _ in range(4):
        order = rng.permutation(600)
        parts = [of(part) for part in np.split(order, sorted(rng.choice(600, 3, replace=False)))]
        for one, two, three, four in itertools.islice(itertools.permutations(parts), 0, 24, 5):
            joined = one + (two + three) + four
            assert joined.digest == whole.digest
        assert LocalErrorSums.joined(parts).digest == whole.digest
    assert len(whole.cells) <= max_cells
    assert whole.n_rows == 600
    assert whole.mean_score("NLL") == pytest.approx(score.mean(), abs=1e-10)


def test_global_metrics_are_exact():
    c, a, z = _rows(5000)
    sums = LocalErrorSums.of(c, a, z)
    table = reliability_table(c, a)
    np.testing.assert_array_equal(sums.reliability.count, table.count)
    np.testing.assert_allclose(sums.reliability.confidence, table.confidence, atol=1e-9)
    np.testing.assert_array_equal(sums.reliability.accuracy, table.accuracy)
    numbers = metrics_of_sums(sums).set_index("metric")
    assert numbers.loc["ECE", "value"] == pytest.approx(table.expected_calibration_error, abs=1e-9)
    assert numbers.loc["ALCE", "at_least"] <= numbers.loc["ALCE", "value"]
    assert "NLL" not in numbers.index
    sums = LocalErrorSums.of([0.95], [1], [[0.0, 0.0]])
    values = sums.local_values([0.2], [[0.0, 0.0]])
    assert np.isnan(values.signed.value).all()


def test_a_file_holds_the_sums_to_the_last_bit(tmp_path):
    c, a, z = _rows(300, 3)
    sums = LocalErrorSums.of(c, a, z, map_digest="a map", max_cells=200, scores={"Brier": c**2})
    path = tmp_path / "day.npz"
    sums.save(path)
    again = LocalErrorSums.load(path)
    assert again.digest == sums.digest
    assert again.map_digest == "a map"
    assert again + sums


@pytest.mark.parametrize("harm", ["cut", "byte", "other", "missing"])
def test_a_bad_file_is_said_in_one_sentence(tmp_path, harm):
    path = tmp_path / "day.npz"
    LocalErrorSums.of(*_rows(50)).save(path)
    content = bytearray(path.read_bytes())
    if harm == "cut":
        content = content[: len(content) // 2]
    if harm == "byte":
        content[len(content) // 2] ^= 0xFF
    path.write_bytes(bytes(content))
    if harm == "other":
        np.savez(path, features=np.zeros(3))
    if harm == "missing":
        path.unlink()
    with pytest.raises(InputError, match="day.npz") as raised:
        LocalErrorSums.load(path)
    assert "\n" not in str(raised.value)


def test_only_like_sums_are_added():
    c, a, z = _rows(30)
    others = {"n_bins": 10, "max_cells": 99, "map_digest": "elsewhere", "groups": np.arange(30)}
    for name, other in others.items():
        with pytest.raises(InputError, match="share"):
            LocalErrorSums.of(c, a, z) + LocalErrorSums.of(c, a, z, **{name: other})
    with pytest.raises(InputError, match="dimensions"):
        LocalErrorSums.of(c, a, z) + LocalErrorSums.of(c, a, z[:, :1])


def test_what_cannot_be_summed_is_refused():
    c, a, z = _rows(30)
    with pytest.raises(InputError, match="1 to 3 dimensions"):
        LocalErrorSums.of(c, a, np.zeros((30, 4)))
    with pytest.raises(InputError, match="within"):
        LocalErrorSums.of(c, a, z * 1e15)
    sums = LocalErrorSums.of(c, a, z)
    with pytest.raises(InputError, match="at least"):
        sums.local_values(c, z, gamma=sums.width / 2)
    with pytest.raises(InputError, match="n_bins|bins"):
        LocalErrorSums.of(c, a, z, bins=confidence_bins(c, 20_000 // 2 + 1))
    full = dataclasses.replace(sums, of_bins=sums.of_bins * 2**27)
    with pytest.raises(InputError, match="rows at most"):
        full + full


def test_numbers_of_sums_are_near_the_exact_ones():
    c, a, z = _rows(3000)
    values = LocalErrorSums.of(c, a, z).local_values(c, z, gamma=0.5)
    exact = local_errors(c, a, z, gamma=0.5)
    bin_index = exact.bin_index
    square = laplacian_sums(z, None, c * (1 - c), bandwidth=0.5, target_groups=bin_index)
    np.testing.assert_allclose(values.standard_error, np.sqrt(square) / exact.mass, rtol=2e-3)
    sums = LocalErrorSums.of(c, a, z)
    curve = bandwidth_curve_of_sums(sums, [0.1, 0.5, 100.0])
    table = curve.frame()
    assert (table["alce_at_least"] <= table["alce"]).all()
    assert (table["alce"] <= table["alce_at_most"]).all()
    for gamma, alce in zip(table["gamma"], table["alce"], strict=True):
        assert alce == pytest.approx(local_errors(c, a, z, gamma=gamma).average, abs=2e-4)
    assert curve.alce[-1] == pytest.approx(curve.alce_infinity, rel=0.05)
    c, a, z = _rows(4000)
    bins = confidence_bins(c, 6, "equal-mass")
    sums = LocalErrorSums.of(c, a, z, bins=bins)
    exact = local_errors(c, a, z, gamma=3.0, n_bins=6, binning="equal-mass")
    wide = sums.at_least_as_fine(3.0)
    assert len(wide.cells) < len(sums.cells)
    values = wide.local_values(c, z, gamma=3.0)
    np.testing.assert_allclose(values.signed.value, exact.signed, atol=5e-5)


def test_chance_is_what_simulated_rows_make_of_it():
    c, a, z = _rows(3000)
    drawn = null_errors_of_sums(LocalErrorSums.of(c, a, z), gamma=0.5, n_draws=150)
    rows = null_errors(c, z, gamma=0.5, n_draws=150)
    assert rows.n_cells is None
    assert drawn.n_cells < len(c)
    for name in ("alce", "ece", "mce", "mlce", "mlce_supported"):
        one, two = getattr(drawn, name), getattr(rows, name)
        assert one.mean() == pytest.approx(two.mean(), abs=4 * two.std() / np.sqrt(75))
        assert one.std() == pytest.approx(two.std(), rel=0.3)
    low, high = drawn.band()
    assert (low <= high).all()
    # Rows that are alone are drawn as they are: their gap comes again, but for its rounding.
    observed = float(rows.mlce[0])
    assert drawn.p_value("mlce", observed) == drawn.p_value("mlce", observed + 1e-9)
    within = confidence_bins(c).assign(c) == 12
    drawn = null_errors_of_sums(LocalErrorSums.of(c, a, z), gamma=0.5, n_draws=150, bin_index=12)
    rows = null_errors(c, z, gamma=0.5, n_draws=150, within=within, n_shares=101)
    middle, two = drawn.lce.mean(axis=0)[50], rows.lce.mean(axis=0)[50]
    assert middle == pytest.approx(two, abs=4 * rows.lce[:, 50].std() / np.sqrt(75))
    assert drawn.ece.mean() == pytest.approx(rows.ece.mean(), rel=0.1)
