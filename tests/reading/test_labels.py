import numpy as np
import pandas as pd
import pytest

import lore_core as lore
from lore_core.data.validation import InputError
from lore_core.reading import load, read

P2 = ".75,.25"


def labelled(text, labels, columns="p_0,p_1"):
    rows = "".join(f"{label},{P2}\n" for label in labels)
    return read(text(f"label,{columns}\n{rows}"))


@pytest.mark.parametrize(
    ("labels", "columns", "expected"),
    [
        (["0", "1", "1"], "p_0,p_1", [0, 1, 1]),
        (["0.0", "1.0", "1.0"], "p_0,p_1", [0, 1, 1]),
        (["True", "False", "True"], "p_0,p_1", [1, 0, 1]),
        (["Cat", "DOG ", "cat"], "p_cat,p_dog", [0, 1, 0]),
        (["True", "False"], "p_True,p_False", [0, 1]),
        (["None", "dog"], "p_None,p_dog", [0, 1]),
        ([0, 1, 1], "p_1,p_2", [0, 1, 1]),
    ],
)
def test_spellings(text, labels, columns, expected):
    assert labelled(text, labels, columns).dataset.labels.tolist() == expected


@pytest.mark.parametrize(
    ("labels", "said"),
    [(["no", "yes", "no"], "'yes' was taken as class 1"), ([-1, 1, -1], "−1 and 1")],
)
def test_what_was_taken_as_class_1_is_said(text, labels, said):
    reading = labelled(text, labels)
    assert reading.dataset.labels.tolist() == [0, 1, 0]
    assert reading.dataset.class_names in (("no", "yes"), ("0", "1"))
    assert any(said in note for note in reading.report.notes)


def test_one_based_labels_are_shifted_and_said(npz):
    labels = np.array([1, 2, 3, 1, 2, 3])
    reading = read(npz(labels=labels, predictions=labels))
    for found in (reading.dataset.labels, reading.dataset.predictions):
        assert found.tolist() == [0, 1, 2, 0, 1, 2]
    assert any("from 1 to 3: they were shifted" in note for note in reading.report.notes)
    data = load(npz(probs=np.full((6, 2), 0.5), labels=np.array([True, False] * 3)))
    assert data.labels.tolist() == [1, 0] * 3


def test_numbered_columns_name_the_classes(text):
    reading = labelled(text, [1, 2, 2], "p_1,p_2")
    assert reading.dataset.labels.tolist() == [0, 1, 1]
    assert reading.dataset.class_names == ("1", "2")
    assert not reading.report.notes
    path = text("label,p_a,p_b,prediction\na,.5,.5,a\nb,.5,.5,c\n")
    with pytest.raises(InputError, match=r"column 'prediction' of 'runs.csv'.*'c' at row 1"):
        load(path)


@pytest.mark.parametrize(
    ("labels", "class_names", "expected"),
    [
        (["z", "x", "y"], ["x", "y", "z"], [2, 0, 1]),
        ([b"z", b"x", b"y"], ["x", "y", "z"], [2, 0, 1]),
        ([0, 1, 2], ["1", "2", "3"], [0, 1, 2]),  # indices come before numbers for names
        ([30, 10, 20], ["10", "20", "30"], [2, 0, 1]),
    ],
)
def test_labels_of_an_npz_with_class_names(npz, labels, class_names, expected):
    data = load(npz(labels=np.array(labels * 2), class_names=np.array(class_names)))
    assert data.labels.tolist() == expected * 2


def test_rows_without_a_label_are_dropped_and_said(csv):
    reading = read(csv(label=[0, None, 2, 0, None, 2]))
    assert reading.dataset.labels.tolist() == [0, 2, 0, 2]
    assert reading.dataset.features[:, 0].tolist() == [0.0, 2.0, 3.0, 5.0]
    (dropped,) = reading.report.dropped
    assert dropped == "2 rows of 'runs.csv' without a label (first: row 1 (line 3))"
    reading = read(csv(prediction=[1, 1, 2, 0, 1, 2]))
    assert reading.dataset.predictions.tolist() == [1, 1, 2, 0, 1, 2]
    assert any("In 2 of 6 rows the prediction is not the most" in n for n in reading.report.notes)


@pytest.mark.parametrize(
    ("rows", "labels", "names"),
    [
        ("0,.5,0\n1,.5,2\n", [0, 1], ("0", "1", "2")),
        ("1,.5,1\n2,.5,3\n", [0, 1], ("0", "1", "2")),
        ("1000,.5,1000\n2000,.5,1000\n", [0, 1], ("1000", "2000")),
    ],
)
def test_confidence_only_counts_classes_from_labels_and_predictions(text, rows, labels, names):
    data = load(text(f"label,confidence,prediction\n{rows}"))
    assert (data.labels.tolist(), data.class_names) == (labels, names)


@pytest.mark.parametrize(
    ("labels", "columns", "message"),
    [
        ([0, 1, 7], "p_0,p_1", r"'label' of 'runs.csv'.*0 to 1; got 7 at row 2 \(line 4\)"),
        ([0, -1, 1], "p_0,p_1", r"got -1 at row 1"),
        ([0, 0.5, 1], "p_0,p_1", r"class indices or class names; got 0.5 at row 1 \(line 3\)"),
        (["cat", "cow", "dog"], "p_cat,p_dog", r"one of the classes cat, dog; got 'cow' at row 1"),
        (["a", "b", "c"], "p_0,p_1", r"3 distinct names \(a, b, c\).*2 classes.*class_names"),
        ([0, 2, 1], "p_cat,p_dog", r"0 to 1, or one of cat, dog; got 2 at row 1"),
    ],
)
def test_labels_outside_the_classes(text, labels, columns, message):
    with pytest.raises(InputError, match=message):
        labelled(text, labels, columns)


def classifier(n, k, strength, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(k, size=n)
    scores = 2 * rng.normal(size=(n, k))
    scores[np.arange(n), labels] += 2 * strength
    powers = np.exp(scores)
    return powers / powers.sum(axis=1, keepdims=True), labels


def file_of(path, probabilities, labels):
    np.savez(path, probs=probabilities, labels=labels)
    return path


@pytest.mark.parametrize("seed", range(2))
def test_an_order_of_classes_must_fit_other_rows_too(tmp_path, seed):
    for strength in (0, 2, 4):
        p, labels = classifier(300, 1000, strength, seed)
        assert len(lore.load(file_of(tmp_path / "a.npz", p, labels))) == 300
    p, labels = classifier(300, 1000, 5, seed)
    order = np.random.default_rng(100 + seed).permutation(1000)
    for wrong in (order[labels], (labels + 1) % 1000):
        with pytest.raises(lore.InputError, match="stood for other classes"):
            lore.load(file_of(tmp_path / "a.npz", p, wrong))


@pytest.mark.parametrize("k", [3, 10, 200])
@pytest.mark.parametrize("decimals", [2, 3, 4])
@pytest.mark.parametrize("kind", ["float64", "float32", "float16"])
def test_rounded_probabilities(tmp_path, k, decimals, kind):
    rng = np.random.default_rng(k)
    p = rng.dirichlet(np.full(k, 0.5), 200)
    given = p.round(decimals).astype(kind)
    labels = np.array([rng.choice(k, p=row) for row in p])
    frame = pd.DataFrame(given, columns=[f"p_{j}" for j in range(k)]).assign(label=labels)
    frame.to_parquet(tmp_path / "a.parquet")
    read = lore.load(tmp_path / "a.parquet").probabilities
    np.testing.assert_allclose(read.sum(axis=1), 1, atol=1e-12)
    # Half a unit by the rounding and as much by what undoes it, or what float16 and 1e-3 miss.
    assert np.abs(read - p).max() <= max(1.0 * 10.0**-decimals, 1e-3)
    np.testing.assert_allclose(lore.Dataset(given, labels).probabilities, read, atol=1e-12)


@pytest.mark.parametrize(
    "p",
    [
        [[0.5, 0.2], [0.5, 0.5]],  # a third class is missing
        [[0.51, 0.42, 0.05], [0.3, 0.3, 0.4]],  # two hundredths are more than three roundings
        [[0.123456789, 0.8, 0.1], [0.3, 0.3, 0.4]],  # not rounded
        [[0.0] * 200, [0.005] * 200],  # nothing is left
    ],
)
def test_sums_that_rounding_does_not_explain(p):
    with pytest.raises(lore.InputError, match="must sum to 1"):
        lore.Dataset(p, [0, 1])
