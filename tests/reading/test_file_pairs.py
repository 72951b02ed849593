import numpy as np
import pytest

from lore_core.data.validation import InputError
from lore_core.reading import load, load_runs, read
from lore_core.reading.formats import half_of


@pytest.mark.parametrize(
    ("run", "split", "names"),
    [
        ("digits", "calibration", "digits_cal digits_calibration digits-val digits.valid"),
        ("digits", "evaluation", "digits_test digits_evaluation test_digits digits_held-out"),
        ("Digits", "evaluation", "Digits_EVAL"),
        ("", "calibration", "cal"),
        *((name, None, name) for name in ("medical", "contest", "fashion_test_images")),
    ],
)
def test_what_names_tell(run, split, names):
    for name in names.split():
        half = half_of(f"{name}.csv")
        assert (half.run, half.split) == (run, split)


@pytest.mark.parametrize("swap", [False, True])
def test_pair_is_one_dataset(npz, swap):
    files = [npz("digits_cal.npz"), npz("digits_test.npz", labels=np.zeros(6, int))]
    reading = read(files[::-1] if swap else files)
    data = reading.dataset
    assert data.name == "digits"
    assert len(data) == 12
    assert data.calibration.labels.tolist() == [0, 1, 2, 0, 1, 2]
    assert data.evaluation.labels.tolist() == [0] * 6
    assert data.split.tolist() == ["calibration"] * 6 + ["evaluation"] * 6
    assert "12 rows: 6 calibration and 6 evaluation." in reading.report.facts
    assert not reading.report.notes


def test_names_that_do_not_tell(npz):
    for name, said in (("a", "'a.npz' was taken for cal"), ("a_test", "'b.npz' (NPZ) as cal")):
        reading = read((npz(f"{name}.npz"), npz("b.npz")))
        assert reading.dataset.split.tolist() == ["calibration"] * 6 + ["evaluation"] * 6
        assert any(said in sentence for sentence in reading.report.sentences)


def test_only_what_is_given_is_read(npz, csv):
    npz("digits_test.npz")
    assert load(npz("digits_cal.npz")).split is None
    files = [csv("a_cal.csv", split=["train", "cal"] * 3), csv("a_test.csv", split=["test"] * 6)]
    assert load(files).split.tolist() == ["calibration"] * 3 + ["evaluation"] * 6
    with pytest.raises(InputError, match=r"3 files with predictions.*a.npz, b.npz, c.npz"):
        load([npz("a.npz"), npz("b.npz"), npz("c.npz")])
    labels = np.array([0, 1, 2, 0, 9, 2])
    with pytest.raises(InputError, match=r"'labels' of 'a_test.npz'.*got 9 at row 4"):
        load([npz("a_cal.npz"), npz("a_test.npz", labels=labels)])


def test_formats_and_the_order_of_columns_may_differ(csv, npz, table, tmp_path, text):
    table[table.columns[::-1]].to_csv(tmp_path / "a_test.csv", index=False)
    for evaluation in (tmp_path / "a_test.csv", npz("a_test.npz")):
        data = load([csv("a_cal.csv"), evaluation])
        for name in ("features", "probabilities"):
            one, two = (getattr(half, name) for half in (data.calibration, data.evaluation))
            np.testing.assert_array_equal(one, two)
    one = text("label,p_a,p_b\na,.75,.25\nb,.5,.5\n", "r_cal.csv")
    two = text("label,p_b,p_a\na,.25,.75\nb,.5,.5\n", "r_test.csv")
    data = load([one, two])
    np.testing.assert_array_equal(data.calibration.probabilities, data.evaluation.probabilities)
    np.testing.assert_array_equal(data.calibration.labels, data.evaluation.labels)


def test_what_differs_between_files_of_a_pair(csv, npz):
    reading = read([csv("a_cal.csv"), csv("a_test.csv", shift=["early", "late"] * 3)])
    assert reading.dataset.metadata["shift"].isna().sum() == 6
    assert list(reading.dataset.groups.columns) == ["region"]
    assert any("missing elsewhere: shift" in note for note in reading.report.notes)
    data = load([csv("a_cal.csv", region=["north"] * 6), csv("a_test.csv")])
    assert data.groups["region"].tolist() == ["north"] * 6 + ["north", "south"] * 3
    labels = np.array([1, 2, 1, 2, 1, 2])
    data = load([npz("a_cal.npz"), npz("a_test.npz", labels=labels)])
    assert data.evaluation.labels.tolist() == labels.tolist()


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ({}, {"probs": np.full((6, 2), 0.5), "labels": [0] * 6}, "3 classes and 2 classes"),
        ({}, {"features": np.zeros((6, 5))}, "got 2 and 5"),
        ({"class_names": list("xyz")}, {"class_names": list("xzy")}, "same order"),
    ],
)
def test_pair_must_agree(npz, first, second, message):
    with pytest.raises(InputError, match=rf"'a_cal.npz' and 'a_test.npz'.*{message}"):
        load([npz("a_cal.npz", **first), npz("a_test.npz", **second)])


IMAGES = np.arange(6 * 2 * 2, dtype=np.uint8).reshape(6, 2, 2)


def test_images_of_one_file(npz):
    data = load(npz(images=IMAGES))
    np.testing.assert_array_equal(data.images, IMAGES)
    assert data.has_image is None
    assert load(npz(images=IMAGES[..., None])).images.shape == (6, 2, 2)
    assert load(npz(pictures=np.zeros((6, 2, 2, 3), np.uint8))).images.shape == (6, 2, 2, 3)
    np.testing.assert_array_equal(load([images_only(npz), npz()]).images, IMAGES)
    split = np.array(["train", "cal", "test"] * 2)
    data = load([npz(split=split), images_only(npz)])
    np.testing.assert_array_equal(data.images, IMAGES[[1, 2, 4, 5]])


def images_only(npz, name="images.npz", images=IMAGES, **others):
    gone = dict.fromkeys(("probs", "labels", "features", "region", "age"))
    return npz(name, **{**gone, "images": images, **others})


def test_image_file_is_attached_by_its_rows(npz, arrays):
    short = {name: values[:5] for name, values in arrays.items()}
    reading = read([npz("a_cal.npz", **short), npz("a_test.npz"), images_only(npz)])
    data = reading.dataset
    assert data.images.shape == (11, 2, 2)
    assert data.has_image.tolist() == [False] * 5 + [True] * 6
    np.testing.assert_array_equal(data.evaluation.images, IMAGES)
    assert data.evaluation.has_image is None
    assert data.calibration.images is None
    assert "for 6 of 11 rows" in reading.report.facts[-1]
    assert any("attached to 'a_test.npz'" in note for note in reading.report.notes)
    pair = [npz("a_cal.npz"), npz("a_test.npz")]
    data = load([*pair, images_only(npz, "a_test_images.npz")])
    assert data.has_image.tolist() == [False] * 6 + [True] * 6
    with pytest.raises(InputError, match=r"'images.npz' holds 6 images.*exactly one file"):
        load([*pair, images_only(npz)])


def test_image_file_in_another_order(npz, arrays):
    wrong = images_only(npz, labels=arrays["labels"][::-1])
    with pytest.raises(InputError, match=r"not in the row order of 'runs.npz'.*row 0 is 2, not 0"):
        load([npz(), wrong])
    right = images_only(npz, labels=arrays["labels"])
    np.testing.assert_array_equal(load([npz(), right]).images, IMAGES)
    with pytest.raises(InputError, match="holds images but no predictions"):
        load(images_only(npz))
    with pytest.raises(InputError, match=r"holds 5 images.*'runs.npz' 6"):
        load([npz(), images_only(npz, images=IMAGES[:5])])


def test_directory_with_one_pair_or_one_file(npz, tmp_path):
    npz("a_cal.npz")
    assert load(tmp_path).name == "a_cal"
    npz("a_test.npz")
    (tmp_path / "notes.txt").write_text("not data")
    (tmp_path / ".hidden.csv").write_text("not data")
    assert len(load(tmp_path)) == 12
    images_only(npz, "a_test_images.npz")
    assert load(str(tmp_path)).has_image.sum() == 6
    assert load(npz(), name="my model").name == "my model"


def test_directory_of_runs(npz, tmp_path):
    for run in ("b", "a", "c"):
        npz(f"{run}_cal.npz")
        npz(f"{run}_test.npz")
    with pytest.raises(InputError, match=r"holds 6 files.*load_runs"):
        load(tmp_path)
    runs = load_runs(tmp_path)
    assert [data.name for data in runs] == ["a", "b", "c"]
    assert all(data.calibration is not None and len(data) == 12 for data in runs)
    alone = tmp_path / "alone"
    alone.mkdir()
    for name in ("seed1", "seed0"):
        npz(f"alone/{name}.npz", split=np.array(["calibration", "evaluation"] * 3))
    assert [data.name for data in load_runs(alone)] == ["seed0", "seed1"]
    npz("alone/seed0_cal.npz")
    npz("alone/seed0_test.npz")
    assert len(load_runs(alone)) == 1


def test_no_runs(npz, tmp_path):
    with pytest.raises(InputError, match="no run to read in .* no pair such as"):
        load_runs(tmp_path)
    with pytest.raises(InputError, match="holds no readable file"):
        load(tmp_path)
    with pytest.raises(InputError, match="is not a directory"):
        load_runs(npz("a_cal.npz"))
    npz("a_test.npz")
    npz("b_cal.npz")
    with pytest.raises(InputError, match=r"'b_cal.npz' has no test file"):
        load_runs(tmp_path)


def test_runs_given_file_by_file(npz, tmp_path):
    names = ("b_test", "a_cal", "b_cal", "a_test")
    files = [npz(f"{name}.npz") for name in names]
    split = ["calibration", "evaluation"] * 3
    files.append(npz("whole.npz", split=np.array(split)))
    seen = []
    runs = load_runs(files, progress=lambda share, message: seen.append((share, message)))
    assert [data.name for data in runs] == ["a", "b", "whole"]
    assert [len(data.calibration) for data in runs] == [6, 6, 3]
    assert seen[-1] == (1.0, "reading run 3 of 3: whole")
    with pytest.raises(InputError, match=r"'b_test.npz' has no calibration file.*files given"):
        load_runs(files[:1])
    with pytest.raises(InputError, match="no run to read in the files given"):
        load_runs([])
