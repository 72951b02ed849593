import numpy as np
import pandas as pd
import pytest
from PIL import Image

import lore_core as lore
from lore_core.reading import read
from tests.refusals import refused


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "data"
    (place / "more").mkdir(parents=True)
    names = [f"{k}.png" for k in range(5)] + ["more/5.jpg", None, "0.png"]
    for k, name in enumerate(names[:6]):
        Image.new("RGB", (60, 40), (40 * k, 0, 200)).save(place / name)
    Image.new("RGB", (9, 9)).save(tmp_path / "secret.png")
    write_names(place, names)
    return place


@pytest.mark.parametrize("isolate", [False, True])
def test_thumbnails_of_the_files_that_are_named(folder, isolate):
    found = read(folder, isolate=isolate)
    data = found.dataset
    assert data.images.shape == (8, 32, 32, 3)
    assert data.has_image.tolist() == [True] * 6 + [False, True]
    for row, k in enumerate([0, 1, 2, 3, 4, 5, None, 0]):
        colour = (0, 0, 0) if k is None else (40 * k, 0, 200)
        assert np.abs(data.images[row].astype(int) - colour).max() < 4
    assert any("1 row without one" in note for note in found.report.notes)
    assert "Images: 32 × 32 pixels, colour, for 7 of 8 rows." in found.report.facts
    assert data.metadata["file_name"][5] == "more/5.jpg"
    table = pd.read_csv(folder / "metadata.csv").rename(columns={"file_name": "what"})
    table.to_parquet(folder / "other.parquet")
    path = folder / "other.parquet"
    assert lore.load(path, isolate=isolate).images is None
    again = lore.load(path, mapping={"images": "what"}, isolate=isolate)
    assert np.array_equal(again.images, data.images)
    path = folder / "metadata.csv"
    assert lore.load(path, mapping={"images": ""}, isolate=isolate).images is None


def write(path, frame):
    frame.to_csv(path, index=False)
    return path


def write_names(folder, names):
    rows = {"file_name": names, "label": [0, 1] * 4, "p": np.linspace(0.1, 0.9, 8)}
    return write(folder / "metadata.csv", pd.DataFrame(rows))


@pytest.mark.parametrize("isolate", [False, True])
@pytest.mark.parametrize("how", ["above", "absolute", "link"])
def test_nothing_outside_the_folder_is_read(folder, how, isolate):
    secret = folder.parent / "secret.png"
    (folder / "link.png").symlink_to(secret)
    name = {"above": "../secret.png", "absolute": str(secret), "link": "link.png"}[how]
    path = write_names(folder, ["0.png"] * 7 + [name])
    assert lore.load(path, isolate=isolate).has_image.tolist() == [True] * 7 + [False]
    # At the first row it is no reason to take the column for one of images.
    assert lore.load(write_names(folder, [name] + ["0.png"] * 7), isolate=isolate).images is None


def test_what_cannot_be_opened_is_said(folder):
    (folder / "1.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"no image")
    refused(folder / "metadata.csv", "the image '1.png' cannot be opened", isolate=True)
    (folder / "1.png").write_bytes(b"P6 30000 30000 255\n")
    refused(folder / "metadata.csv", r"'1.png' cannot be opened \(it claims more pixels")
    path = write_names(folder, [f"gone{k}.png" for k in range(8)])
    assert lore.load(path).images is None
    refused(path, "must name files below", mapping={"images": "file_name"})
    with path.open("rb") as upload:
        refused(upload, "neither an upload", mapping={"images": "file_name"})


def table(**more):
    rng = np.random.default_rng(0)
    p = rng.uniform(size=60)
    split = np.where(np.arange(60) % 2, "calibration", "evaluation")
    return pd.DataFrame({"label": (rng.random(60) < p).astype(int), "p": p, "split": split, **more})


@pytest.mark.parametrize("isolate", [False, True])
def test_rows_of_weight_0_are_left_out(tmp_path, isolate):
    weights = np.where(np.arange(60) < 6, 0.0, 1.0 + np.arange(60) % 4)
    path = write(tmp_path / "a.csv", table(sample_weight=weights))
    made = read(path, isolate=isolate)
    saved = lore.load(write(tmp_path / "b.csv", table().iloc[6:]))
    text = " ".join((*made.report.notes, *made.report.dropped))
    assert "6 rows of 'a.csv' of weight 0" in text
    assert "count by 'sample_weight' (1 to 4)" in text
    data = made.dataset
    assert np.array_equal(data.probabilities, saved.probabilities)
    np.testing.assert_allclose(data.weights, weights[6:] / weights[6:].mean())
    assert data.evaluation.accuracy == pytest.approx(
        np.average(data.evaluation.outcome, weights=weights[6::2])
    )
    lore.save_npz(data, tmp_path / "c.npz")
    assert np.array_equal(lore.load(tmp_path / "c.npz").weights, data.weights)
    assert data.digest == read(path).dataset.digest
    assert lore.load(path, mapping={"weight": ""}).weights is None


def test_a_weight_in_kilograms_is_none_and_other_numbers_are_refused(tmp_path):
    path = write(tmp_path / "a.csv", table(weight=np.linspace(50, 90, 60)))
    made = read(path)
    assert made.dataset.weights is None
    assert any("'weight' of 'a.csv' is not used" in note for note in made.report.notes)
    assert "weight" in made.dataset.metadata
    assert lore.load(path, mapping={"weight": "weight"}).weights is not None
    weights = np.ones(60)
    weights[3] = -2
    path = write(tmp_path / "a.csv", table(sample_weight=weights))
    refused(path, r"finite number from 0; got -2 at row 3 \(line 5\)")
    weighted, plain = table(sample_weight=np.arange(60) + 1.0), table().iloc[::-1]
    pair = zip(("m_cal.csv", "m_test.csv"), (weighted, plain), strict=True)
    files = [write(tmp_path / name, frame.drop(columns="split")) for name, frame in pair]
    refused(files, "'m_test.csv' must have weights of its rows")
