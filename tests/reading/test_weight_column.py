import numpy as np
import pandas as pd
import pytest

import lore_core as lore
from lore_core.reading import read
from tests.refusals import refused


def table(n=60, **more):
    rng = np.random.default_rng(0)
    p = rng.uniform(size=n)
    return pd.DataFrame(
        {
            "label": (rng.random(n) < p).astype(int),
            "p": p,
            "split": np.where(np.arange(n) % 2, "calibration", "evaluation"),
            **more,
        }
    )


def write(path, frame):
    frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("isolate", [False, True])
def test_rows_of_weight_0_are_left_out(tmp_path, isolate):
    weights = np.where(np.arange(60) < 6, 0.0, 1.0 + np.arange(60) % 4)
    path = write(tmp_path / "a.csv", table(sample_weight=weights))
    made = read(path, isolate=isolate)
    kept = lore.load(write(tmp_path / "b.csv", table().iloc[6:]))
    said = " ".join((*made.report.notes, *made.report.dropped))
    assert "6 rows of 'a.csv' of weight 0" in said
    assert "count by 'sample_weight' (1 to 4)" in said
    data = made.dataset
    assert np.array_equal(data.probabilities, kept.probabilities)
    np.testing.assert_allclose(data.weights, weights[6:] / weights[6:].mean())
    assert data.evaluation.accuracy == pytest.approx(
        np.average(data.evaluation.outcome, weights=weights[6::2])
    )
    lore.save_npz(data, tmp_path / "c.npz")
    assert np.array_equal(lore.load(tmp_path / "c.npz").weights, data.weights)
    assert data.digest == read(path).dataset.digest
    assert lore.load(path, mapping={"weight": ""}).weights is None


def test_a_weight_in_kilograms_is_none(tmp_path):
    path = write(tmp_path / "a.csv", table(weight=np.linspace(50, 90, 60)))
    made = read(path)
    assert made.dataset.weights is None
    assert any("'weight' of 'a.csv' is not used" in note for note in made.report.notes)
    assert made.dataset.metadata is not None
    assert "weight" in made.dataset.metadata
    meant = lore.load(path, mapping={"weight": "weight"})
    assert meant.weights is not None


def test_what_is_no_weight_is_refused(tmp_path):
    weights = np.ones(60)
    weights[3] = -2
    path = write(tmp_path / "a.csv", table(sample_weight=weights))
    refused(path, r"finite number from 0; got -2 at row 3 \(line 5\)")
    pair = [
        write(
            tmp_path / "m_cal.csv", table(sample_weight=np.arange(60) + 1.0).drop(columns="split")
        ),
        write(tmp_path / "m_test.csv", table().iloc[::-1].drop(columns="split")),
    ]
    refused(pair, "'m_test.csv' must have weights of its rows")
