import numpy as np
import pytest
from pandas.testing import assert_frame_equal

from lore_core.reading import load, load_runs, read


def test_compas_is_the_same_in_every_format(real_data):
    read_as = {
        suffix: load(
            [real_data / "compas" / f"compas_seed0_{half}.{suffix}" for half in ("cal", "test")]
        )
        for suffix in ("npz", "csv", "parquet")
    }
    npz = read_as["npz"]
    assert len(npz) == 2000
    assert npz.features.shape == (2000, 100)
    assert npz.evaluation.accuracy == pytest.approx(0.844)
    assert list(npz.groups.columns) == ["race", "sex", "age_cat"]
    for other in (read_as["csv"], read_as["parquet"]):
        np.testing.assert_allclose(other.probabilities, npz.probabilities, atol=1e-6)
        np.testing.assert_allclose(other.features, npz.features, atol=1e-5)
        np.testing.assert_array_equal(other.labels, npz.labels)
        np.testing.assert_array_equal(other.predictions, npz.predictions)
        np.testing.assert_array_equal(other.split, npz.split)
        assert_frame_equal(other.groups, npz.groups)
        assert_frame_equal(other.metadata[["race", "sex", "age_cat"]], npz.groups)


def test_compas_traps_are_told(real_data):
    files = [real_data / "compas" / f"compas_seed0_{half}.npz" for half in ("cal", "test")]
    warnings = " ".join(read(files).report.warnings)
    assert "equals the majority class" in warnings
    assert "Asian (8)" in warnings
    assert "Native American (1)" in warnings


def test_fashion_pair_with_its_images(real_data):
    reading = read(real_data / "fashion_mnist")
    data = reading.dataset
    assert data.name == "fashion_cnn"
    assert reading.report.split_rows == {"calibration": 30_000, "evaluation": 10_000}
    assert data.n_classes == 10
    assert data.features.dtype == np.float32
    assert data.class_names[6] == "Shirt"
    assert data.calibration.images is None
    assert data.evaluation.images.shape == (10_000, 28, 28)
    shirts = data.evaluation.rows(data.evaluation.labels == 6)
    assert shirts.accuracy < 0.8


def test_communities_pair(real_data):
    data = load(real_data / "communities")
    assert (len(data.calibration), len(data.evaluation)) == (500, 500)
    assert data.class_names == ("low violent crime", "high violent crime")
    assert list(data.groups.columns) == [
        "plurality_race",
        "argmax_normalised_race",
        "census_region",
    ]
    assert "population" in data.metadata  # from inputs and input_names
    assert data.metadata.columns[0] == "row_id"


def test_communities_runs(real_data):
    runs = load_runs(real_data / "communities_runs")
    assert len(runs) == 60
    assert [data.name for data in runs] == sorted(data.name for data in runs)
    assert np.mean([data.evaluation.accuracy for data in runs]) == pytest.approx(0.807, abs=5e-4)
    assert runs[0].features.dtype == np.float32  # float16 in the file
