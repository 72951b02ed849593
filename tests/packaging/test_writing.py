import dataclasses

import numpy as np
import pandas as pd
import pytest

import lore_core.data.dataset_files
from lore_core.data.dataset import Dataset
from lore_core.data.dataset_files import save_npz
from lore_core.data.validation import InputError
from lore_core.reading import load

N = 40


@pytest.fixture
def dataset():
    rng = np.random.default_rng(0)
    return Dataset(
        rng.dirichlet(np.ones(3), N),
        rng.integers(0, 3, N),
        rng.normal(size=(N, 4)).astype(np.float32),
        groups=pd.DataFrame(
            {"race": rng.choice(["Bückler", "Ó"], N), "age": rng.choice(["<25", "≥25"], N)}
        ),
        metadata=pd.DataFrame(
            {
                "row_id": np.arange(N),
                "file": [f"f{i}.png" for i in range(N)],
                "rotated": rng.random(N) < 0.2,
                "weight": np.where(np.arange(N) == 3, np.nan, rng.random(N)),
            }
        ),
        images=rng.integers(0, 256, (N, 5, 5)).astype(np.uint8),
        split=np.where(np.arange(N) < 10, "calibration", "evaluation"),
        class_names=["cat", "dog", "fish"],
        name="pets",
    )


def saved(dataset, folder):
    path = folder / f"{dataset.name}.npz"
    save_npz(dataset, path)
    return load(path)


def test_round_trip(dataset, tmp_path):
    back = saved(dataset, tmp_path)
    np.testing.assert_allclose(back.probabilities, dataset.probabilities, rtol=0, atol=1e-15)
    for name in ("labels", "predictions", "features", "images", "split"):
        np.testing.assert_array_equal(getattr(back, name), getattr(dataset, name))
    assert back.features.dtype == np.float32
    assert back.class_names == dataset.class_names
    assert back.name == "pets"
    assert list(back.groups) == ["race", "age"]
    assert back.groups.astype(str).equals(dataset.groups.astype(str))
    assert set(back.metadata) == {*dataset.metadata, *dataset.groups}
    np.testing.assert_array_equal(back.metadata["row_id"], np.arange(N))
    np.testing.assert_array_equal(back.metadata["weight"], dataset.metadata["weight"])
    assert list(back.metadata["file"].astype(str)) == list(dataset.metadata["file"])


@pytest.mark.parametrize("complete", [True, False])
def test_predictions_that_are_no_longer_the_most_probable_class(dataset, tmp_path, complete):
    changed = dataset.with_confidence(np.full(N, 0.2 if complete else 0.7))
    changed = dataclasses.replace(changed, complete=complete)
    back = saved(changed, tmp_path)
    assert back.complete == complete
    np.testing.assert_allclose(back.confidence, changed.confidence)
    np.testing.assert_array_equal(back.predictions, dataset.predictions)
    assert "predictions" not in (back.metadata if back.metadata is not None else [])
    assert back.n_classes == 3


def test_nothing_is_pickled_and_clashing_names_are_kept_apart(dataset, tmp_path):
    metadata = pd.DataFrame(
        {
            "labels": ["x"] * N,
            "allow_pickle": range(N),
            "mixed": [1, "one"] * (N // 2),
            "when": pd.date_range("2024-01-01", periods=N),
            "gaps": pd.array([1, None] * (N // 2), dtype="Int64"),
        }
    )
    path = tmp_path / "data.npz"
    save_npz(dataclasses.replace(dataset, metadata=metadata), path)
    with np.load(path, allow_pickle=False) as archive:
        arrays = dict(archive)
    np.testing.assert_array_equal(arrays["labels"], dataset.labels)
    assert list(arrays["metadata_labels"]) == ["x"] * N
    np.testing.assert_array_equal(arrays["allow_pickle"], np.arange(N))
    assert list(arrays["mixed"][:2]) == ["1", "one"]
    assert arrays["when"][0].startswith("2024-01-01")
    assert arrays["gaps"][0] == 1
    assert np.isnan(arrays["gaps"][1])


def test_texts_too_long_for_an_array_are_refused(dataset, tmp_path, monkeypatch):
    monkeypatch.setattr(lore_core.data.dataset_files, "_MAX_TEXT_BYTES", 1000)
    long = pd.DataFrame({"note": ["x" * 100] * N})
    message = "column 'note' must hold shorter texts; its longest has 100"
    with pytest.raises(InputError, match=message):
        save_npz(dataclasses.replace(dataset, metadata=long, groups=None), tmp_path / "data.npz")
