import dataclasses

import numpy as np
import pytest

from lore_core.data.dataset import Dataset
from lore_core.reading import read


def test_facts_by_hand(npz, csv):
    report = read(npz()).report
    assert report.files == report.facts[:1]
    assert list(report.facts) == [
        "Read 6 rows from 'runs.npz' (NPZ).",
        "6 rows without a split: choose which share fits the recalibrators.",
        "3 classes: 0 (2), 1 (2), 2 (2).",
        "Accuracy 83.3 %.",
        "2 feature columns.",
        "Groups: region (2).",
        "Metadata: region, age.",
    ]
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.facts = ()
    for sentence in read([npz("a_cal.npz"), npz("a_test.npz")]).report.sentences:
        assert sentence.endswith(".")
        assert "\n" not in sentence
    report = read(csv(split=["cal"] * 3 + ["test"] * 3)).report
    assert "Accuracy 100.0 % on calibration rows, 66.7 % on evaluation rows." in report.facts
    assert "6 rows: 3 calibration and 3 evaluation." in report.facts


CERTAIN = np.tile([0.9, 0.1], (6, 1))


@pytest.mark.parametrize(
    ("changes", "warning"),
    [
        (
            {"probs": CERTAIN, "labels": [1, 1, 1, 1, 0, 0]},
            "Accuracy 33.3 % is no better than that of always answering '1', 66.7 %.",
        ),
        ({"labels": np.zeros(6, int)}, "All labels of the rows are '0'"),
        ({"labels": [0, 1] * 3}, "No row is labelled '2'."),
        ({"split": ["test"] * 6}, "There are no calibration rows to fit recalibrators on."),
    ],
)
def test_warnings(npz, changes, warning):
    assert sum(warning in found for found in read(npz(**changes)).report.warnings) == 1


def dataset(**changes):
    images = np.zeros((3, 2, 2), np.uint8)
    return Dataset(np.full((3, 2), 0.5), [0, 1, 1], images=images, **changes)


def test_has_image_follows_the_rows():
    data = dataset(has_image=[True, False, True])
    assert data.rows(slice(0, 2)).has_image.tolist() == [True, False]
    assert data.rows([0, 2]).has_image is None
    assert data.rows([0, 2]).images is not None
    assert data.rows([1]).images is None
    assert data.digest != dataset().digest
    assert dataset(has_image=[True] * 3).has_image is None
