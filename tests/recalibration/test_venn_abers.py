"""Venn–Abers: scikit-learn's isotonic regression with the new row in it, once as each outcome."""

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from synthetic import overconfident

from lore_core import Dataset
from lore_core.recalibration import VennAbers


def test_by_fitting_anew_with_each_row_as_each_outcome():
    rng = np.random.default_rng(0)
    # Ties among calibration rows, and with new ones; new ones beyond both ends.
    c = rng.integers(55, 96, 120) / 100
    outcome = (rng.random(120) < c - 0.2).astype(float)
    data = Dataset(np.column_stack([c, 1 - c]), np.where(outcome == 1, 0, 1))
    method = VennAbers().fit(data)
    new = np.concatenate([np.arange(51, 100) / 100, [0.7003, 0.8811]])
    found = method.recalibrate(Dataset(np.column_stack([new, 1 - new]), np.zeros(len(new), int)))
    for confidence, said in zip(new, found.confidence, strict=True):
        p = []
        for added in (0.0, 1.0):
            fit = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
            fit.fit(np.append(c, confidence), np.append(outcome, added))
            p.append(float(fit.predict([confidence])[0]))
        assert said == pytest.approx(p[1] / (1 - p[0] + p[1]), abs=1e-9)


def test_without_rows_it_is_that_of_joined_confidences():
    data, _ = overconfident(400, seed=1)
    method = VennAbers().fit(data)
    kept = method.without_rows()
    assert kept.count_.sum() == 400
    assert kept.count_.min() >= 10
    after, exact = (item.recalibrate(data).confidence for item in (kept, method))
    assert 0 < exact.min() < exact.max() < 1
    assert np.abs(after - exact).mean() < 0.03
