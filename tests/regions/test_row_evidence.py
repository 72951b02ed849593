import brute
import numpy as np
import pytest
from synthetic import overconfident

from lore_core import InputError, LoRe, local_errors, row_evidence


@pytest.fixture(scope="module")
def halves():
    (one, z), (two, y) = overconfident(300, seed=1), overconfident(200, seed=2)
    return one, z, two, y


@pytest.mark.parametrize("gamma", [0.05, 0.4, 50.0])
@pytest.mark.parametrize("row", [0, 17, 199])
def test_shares_of_evaluation_rows_by_brute_force(halves, gamma, row):
    _, _, data, z = halves
    found = row_evidence(data, z, row, gamma=gamma, n_bins=5, n=400)
    c = data.confidence
    index = brute.bin_index(c, 5)
    weight = {
        j: np.exp(-sum(abs(z[j, k] - z[row, k]) for k in range(2)) / (2 * gamma))
        for j in range(len(c))
        if index[j] == index[row]
    }
    total = sum(weight.values())
    table = found.neighbours
    assert len(table) == found.n_rows == len(weight)
    assert table["row"].iloc[0] == row, "the row itself counts, as in the paper"
    for neighbour in table.itertuples():
        assert neighbour.share == pytest.approx(weight[neighbour.row] / total, abs=1e-14)
        assert neighbour.confidence == c[neighbour.row]
        assert neighbour.right == bool(data.outcome[neighbour.row])
    np.testing.assert_allclose(table["cumulative"], np.cumsum(table["share"]), atol=1e-12)
    assert table["share"].is_monotonic_decreasing
    errors = local_errors(c, data.outcome, z, gamma=gamma, n_bins=5)
    assert found.gap == pytest.approx(errors.signed[row])
    assert found.effective_size == pytest.approx(errors.effective_size[row])


@pytest.mark.parametrize("binning", ["equal-width", "equal-mass"])
def test_calibration_rows_give_lores_answer(halves, binning):
    cal, cal_z, data, z = halves
    method = LoRe(0.3, 4, binning).fit(cal, cal_z)
    new = method.recalibrate(data, z).confidence
    options = {"gamma": 0.3, "n_bins": 4, "binning": binning}
    for row in (3, 50, 120):
        found = row_evidence(data, z, row, calibration=cal, calibration_embedding=cal_z, **options)
        assert found.accuracy == pytest.approx(new[row])
        assert len(found.neighbours) == 12
        assert f"LoRe would give {new[row] * 100:.1f} %" in found.sentence
        assert "These 12 rows carry" in found.sentence
        first = found.neighbours.iloc[0]
        subgroup = int(first["row"])
        assert first["distance"] == pytest.approx(np.abs(cal_z[subgroup] - z[row]).mean())
        assert first["true"] == cal.class_name(cal.labels[subgroup])


def test_the_ends(halves):
    cal, cal_z, data, z = halves
    found = row_evidence(
        data, z + 1e6, 5, calibration=cal, calibration_embedding=cal_z, gamma=1e-3, n_bins=1
    )
    assert np.isfinite(found.accuracy)
    assert found.neighbours["share"].iloc[0] > 0.4
    assert found.neighbours["distance"].is_monotonic_increasing
    row = int(np.argmax(data.confidence))
    low = cal.confidence < data.confidence[row] - 0.2
    found = row_evidence(
        data, z, row, calibration=cal.rows(low), calibration_embedding=cal_z[low], n_bins=15
    )
    assert found.n_rows == len(found.neighbours) == 0
    assert np.isnan(found.accuracy)
    assert "to compare with" in found.sentence
    found = row_evidence(data, z, 4, target=1, n_bins=3)
    assert found.confidence == data.probabilities[4, 1]
    subgroup = found.neighbours["row"].iloc[1]
    assert found.neighbours["right"].iloc[1] == (data.labels[subgroup] == 1)
    with pytest.raises(InputError, match="'row' must be a whole number in \\[0, 199\\]"):
        row_evidence(data, z, 200)
    with pytest.raises(InputError, match="'calibration_embedding' must be given"):
        row_evidence(data, z, 0, calibration=cal)
    with pytest.raises(InputError, match="dimensions of 'embedding'; got 1 and 2"):
        row_evidence(data, z, 0, calibration=cal, calibration_embedding=cal_z[:, :1])
