import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st, target

from lore_core.kernel_sums import laplacian_means
from lore_core.mergeable import LocalDistribution, LocalErrorSums
from lore_core.mergeable.cell_sums.cells import Boxes
from lore_core.metrics import local_errors

#: Near the edges of cells and in their middle, where interpolation is worst.
_WITHIN = st.sampled_from([0.0, 1e-5, 0.25, 0.5, 0.75, 1 - 1e-5]) | st.floats(0, 0.999)
_CONFIDENCE = st.sampled_from([0.0, 0.2, 0.5, 2 / 3, 0.9999, 1.0]) | st.floats(0, 1)


@st.composite
def rows_in_few_cells(draw):
    d = draw(st.integers(1, 3))
    n = draw(st.integers(1, 12))
    reach = draw(st.sampled_from([1, 2, 6]))
    cells = draw(
        st.lists(
            st.lists(st.integers(-reach, reach), min_size=d, max_size=d), min_size=n, max_size=n
        )
    )
    within = draw(st.lists(st.lists(_WITHIN, min_size=d, max_size=d), min_size=n, max_size=n))
    c = draw(st.lists(_CONFIDENCE, min_size=n, max_size=n))
    a = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    weight = draw(st.lists(st.sampled_from([1, 1, 5, 50]), min_size=n, max_size=n))
    # Rows of far cells make the sums use wider ones: all must fit into 16.
    z = np.repeat(np.add(cells, within), weight, axis=0).reshape(-1, d)
    return np.repeat(c, weight), np.repeat(a, weight).astype(float), z


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
@given(
    rows=rows_in_few_cells(),
    gamma_of_width=st.sampled_from([1.0, 1.2, 2.0, 5.0, 30.0]),
    n_bins=st.sampled_from([1, 2, 15]),
)
def test_no_row_is_outside_its_bounds(rows, gamma_of_width, n_bins):
    c, a, z = rows
    sums = LocalErrorSums.of(c, a, z, n_bins=n_bins, max_cells=16)
    gamma = gamma_of_width * sums.width
    exact = local_errors(c, a, z, gamma=gamma, n_bins=n_bins)
    values, how = sums.local_values(c, z, gamma=gamma), {"bandwidth": gamma * z.shape[1]}
    for bounded, truth in (
        (values.signed, exact.signed),
        (values.accuracy, laplacian_means(z, None, a, target_groups=exact.bin_index, **how).mean),
        (values.effective_size, exact.effective_size),
    ):
        slack = 1e-9 * (1 + np.abs(truth))
        assert (bounded.low <= truth + slack).all()
        assert (truth <= bounded.high + slack).all()
        assert (bounded.low <= bounded.value + slack).all()
        assert (bounded.value <= bounded.high + slack).all()
    room = np.maximum(values.signed.high - values.signed.low, 1e-9)
    target(float(np.max(np.abs(values.signed.value - exact.signed) / room)))
    _summaries_hold(sums, exact, gamma)


def _summaries_hold(sums, exact, gamma):
    """MLCE, ALCE and CDF of the rows, from cells in which rows have no place of their own."""
    found = LocalDistribution.of(sums, gamma=gamma)
    for bounded, truth in (
        (found.average, exact.average),
        (found.maximum, exact.maximum),
        (found.supported_maximum(), exact.supported_maximum()),
    ):
        # (NaN, where no row surely has the support, bounds nothing.)
        assert not bounded.low > truth + 1e-9
        assert not truth > bounded.high + 1e-9
    for share in (0.25, 0.5, 1.0):
        bounded = found.quantile(share)
        truth = np.quantile(exact.absolute, share, method="inverted_cdf")
        assert bounded.low - 1e-9 <= truth <= bounded.high + 1e-9


@pytest.mark.parametrize("d", [1, 2, 3])
def test_many_rows_are_near_the_exact_sums(d):
    rng = np.random.default_rng(d)
    n = 20_000 if d < 3 else 8_000
    z = rng.normal(size=(n, d))
    c = 1 - 0.6 * rng.random(n) ** 2
    a = (rng.random(n) < c - 0.2 * np.exp(-((z - 0.5) ** 2).sum(axis=1))).astype(float)
    sums = LocalErrorSums.of(c, a, z, n_bins=5)
    exact = local_errors(c, a, z, gamma=0.5, n_bins=5)
    values = sums.local_values(c, z, gamma=0.5)
    assert np.abs(values.signed.value - exact.signed).max() < 5e-5
    found = LocalDistribution.of(sums, gamma=0.5)
    assert found.average.value == pytest.approx(exact.average, abs=1e-4)
    assert found.supported_maximum().value == pytest.approx(exact.supported_maximum(), abs=2e-3)
    assert found.average.high - found.average.low < 2e-3


@pytest.mark.parametrize("d", [1, 2, 3])
def test_boxes_give_what_the_exact_sums_over_cells_give(d, monkeypatch):
    rng = np.random.default_rng(d)
    z = rng.normal(size=(3000, d))
    c = rng.uniform(0, 1, 3000)
    sums = LocalErrorSums.of(c, rng.integers(0, 2, 3000), z, n_bins=4, max_cells=900)
    in_boxes = sums.cell_values(gamma=1.5 * sums.width)
    monkeypatch.setattr(Boxes, "are_small", False)
    apart = sums.cell_values(gamma=1.5 * sums.width)
    for one, two in ((in_boxes.signed, apart.signed), (in_boxes.mean_signed, apart.mean_signed)):
        np.testing.assert_allclose(one.value, two.value, atol=1e-9)
        np.testing.assert_allclose(one.low, two.low, atol=1e-9)
        np.testing.assert_allclose(one.high, two.high, atol=1e-9)
