import numpy as np
import pytest

from lore_core import InputError
from lore_core.data.number_text import gap_words
from lore_core.mergeable import LocalErrorSums, change_between


def _rows(seed, n, planted=0.0):
    rng = np.random.default_rng(seed)
    z, c = rng.normal(size=(n, 2)), rng.uniform(0.5, 1, n)
    wrong = 0.1 + planted * (z[:, 0] > 1)
    return c, (rng.random(n) < c - wrong).astype(float), z


def test_the_statistic_is_that_of_cochran_mantel_and_haenszel():
    # Two strata of one bin: 40 of 50 rows right before and 30 of 50 after; 45 of 60, and 33 of 40.
    counts = [((40, 50), (30, 50), 0.1), ((45, 60), (33, 40), 0.6)]
    sums = []
    for when in (0, 1):
        right = np.concatenate([np.arange(of[when][1]) < of[when][0] for of in counts])
        place = np.repeat([of[2] for of in counts], [of[when][1] for of in counts])
        c = np.full(len(right), 0.75 if when == 0 else 0.77)
        z = np.column_stack([place, place])
        sums.append(LocalErrorSums.of(c, right.astype(float), z, n_bins=1))
    moved = spread = weight = 0.0
    for (right_a, n_a), (right_b, n_b), _ in counts:
        n, k = n_a + n_b, right_a + right_b
        moved += n_a * n_b / n * (0.02 - (right_b / n_b - right_a / n_a))
        spread += n_a * n_b * k * (n - k) / (n**2 * (n - 1))
        weight += n_a * n_b / n
    found = change_between(*sums, n_draws=99)
    whole = found.places[(found.places["bin"] < 0) & found.places["from_1"].isna()].iloc[0]
    assert whole["z"] == pytest.approx(moved / np.sqrt(spread), abs=1e-6)
    assert whole["change"] == pytest.approx(moved / weight, abs=1e-6)
    assert (whole["rows_before"], whole["rows_after"]) == (110, 90)
    assert found.unseen == 0


def test_a_planted_change_is_found_where_it_is():
    before = LocalErrorSums.of(*_rows(0, 8000))
    assert change_between(before, LocalErrorSums.of(*_rows(1, 3000)), n_draws=199).p_value > 0.05
    found = change_between(before, LocalErrorSums.of(*_rows(2, 3000, planted=0.3)), n_draws=199)
    assert found.p_value == 1 / 200
    most = found.places.iloc[0]
    assert most["z"] > 0
    assert most["from_1"] >= 0 or np.isnan(most["from_1"])
    parts = [LocalErrorSums.of(*(v[k::2] for v in _rows(2, 3000, planted=0.3))) for k in (0, 1)]
    again = change_between(before, parts[1] + parts[0], n_draws=199)
    np.testing.assert_array_equal(again.places["z"], found.places["z"])
    rows = _rows(0, 100)
    with pytest.raises(InputError, match="share map"):
        change_between(LocalErrorSums.of(*rows), LocalErrorSums.of(*rows, map_digest="other"))


def test_more_rows_in_a_bad_place_are_no_change():
    # Places and confidences move a long way; what is right at each of them does not.
    p = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        sums = []
        for middle, n in ((0.0, 1500), (0.7, 800)):
            z = rng.normal(middle, 1, size=(n, 2))
            c = rng.beta(4 + 3 * middle, 2, n)
            a = rng.random(n) < np.clip(c - 0.25 * (z[:, 0] > 1), 0, 1)
            sums.append(LocalErrorSums.of(c, a.astype(float), z, max_cells=2**14))
        p.append(change_between(*sums, n_draws=99, random_state=seed).p_value)
    # 40 draws from a share of 10 %: more than 9 in one of a hundred cases.
    assert np.sum(np.array(p) <= 0.1) <= 9


def test_rows_of_units_go_by_groups_of_whole_units():
    rng = np.random.default_rng(5)
    unit = np.repeat(np.arange(90), rng.integers(1, 20, 90))
    n, group = len(unit), unit * 7 % 64
    c, later = rng.uniform(0.5, 0.99, n), rng.random(n) < 0.4  # all in the upper of two bins
    a, z = (rng.random(90)[unit] < c).astype(float), np.full((n, 2), 0.1)

    def summed(of):
        return LocalErrorSums.of(c[of], a[of], z[of], n_bins=2, groups=group[of])

    def squares(values):
        return sum(values[group == g].sum() ** 2 for g in range(64))

    whole, parts = summed(slice(None)), np.array_split(rng.permutation(n), 3)
    assert (summed(parts[2]) + summed(parts[0]) + summed(parts[1])).digest == whole.digest
    gap, p, t = (c - a).mean(), a.mean(), 1.99834054  # of 63 degrees of freedom
    half, of_a = (t * np.sqrt(64 / 63 * squares(v - v.mean())) / n for v in (c - a, a))
    assert gap_words(gap, gap - half, gap + half) in whole.units_sentence
    by_rows = 1.959964 * np.sqrt((c * (1 - c)).sum()) / n
    assert whole.error_ratio == pytest.approx(half / by_rows, rel=1e-4)
    assert half > 1.2 * by_rows
    assert whole.reliability.effective_size[1] == pytest.approx(
        p * (1 - p) * (1.959964 / of_a) ** 2
    )
    added = np.where(later, np.mean(~later), -np.mean(later)) * (c - a - gap)
    alone = n * p * (1 - p) * n / (n - 1) * np.mean(later) * np.mean(~later)
    found = change_between(summed(~later), summed(later), n_draws=19).places.iloc[0]
    assert found["z"] == pytest.approx(added.sum() / max(squares(added), alone) ** 0.5, rel=1e-6)
