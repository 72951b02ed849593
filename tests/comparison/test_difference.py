import numpy as np
import pytest

from lore_core import Dataset, LoRe, NoRecalibration, PlattScaling, embed
from lore_core.comparison import confidence_difference


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    c = random.uniform(0.5, 1, 400)
    labels = np.where(random.random(400) < c - 0.1, 0, 1)
    return Dataset(np.column_stack([c, 1 - c]), labels, features=random.normal(size=(400, 3)))


def test_by_hand(rows):
    exact, shipped = NoRecalibration().fit(rows), PlattScaling().fit(rows)
    found = confidence_difference(exact, shipped, rows)
    after = shipped.recalibrate(rows)
    off = np.abs(after.confidence - rows.confidence)
    assert (found.n_rows, found.mean, found.greatest) == pytest.approx((400, off.mean(), off.max()))
    assert found.above == pytest.approx({0.01: (off > 0.01).mean(), 0.05: (off > 0.05).mean()})
    nll = -np.log(after.probabilities[np.arange(400), after.labels]).mean()
    assert found.table.loc["shipped", "NLL"] == pytest.approx(nll)
    assert list(found.table) == ["NLL", "Brier"]
    sentence = found.sentence()
    assert f"400 evaluation rows differ by {off.mean() * 100:.1f} points on average" in sentence
    assert f"and {off.max() * 100:.1f} at most" in sentence
    assert f"NLL {nll:.3f} instead of" in sentence


def test_nothing_changed(rows):
    method = PlattScaling().fit(rows)
    found = confidence_difference(method, method.without_rows(), rows)
    assert found.greatest == 0
    assert found.sentence("calibration") == (
        "Without single rows, the confidences of 400 calibration rows are exactly the same."
    )


def test_local_metrics_where_there_is_a_map(rows):
    made = embed(rows.features)
    method = LoRe(0.3, 5).fit(rows, made)
    found = confidence_difference(
        method, method.without_rows(), rows, made, gamma=0.3, n_bins=5, binning="equal-width"
    )
    assert list(found.table) == ["NLL", "Brier", "ALCE"]
    assert 0 < found.mean < found.greatest < 0.5
    assert found.sentence().endswith("points.")
