"""Labels as people write them."""

from __future__ import annotations

import numpy as np
import pytest

from lore_core.data.validation import InputError
from lore_core.reading import load, read

P2 = ".75,.25"


def labelled(text, labels, columns="p_0,p_1"):
    rows = "".join(f"{label},{P2}\n" for label in labels)
    return read(text(f"label,{columns}\n{rows}"))


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["0", "1", "1"], [0, 1, 1]),
        (["0.0", "1.0", "1.0"], [0, 1, 1]),
        (["True", "False", "True"], [1, 0, 1]),
        (["no", "yes", "no"], [0, 1, 0]),
    ],
)
def test_spellings(text, labels, expected):
    assert labelled(text, labels).dataset.labels.tolist() == expected


def test_alphabetical_order_is_said(text):
    reading = labelled(text, ["no", "yes", "no"])
    assert reading.dataset.class_names == ("no", "yes")
    assert any("'yes' was taken as class 1" in note for note in reading.report.notes)


def test_one_based_labels_are_shifted_and_said(npz):
    reading = read(npz(labels=np.array([1, 2, 3, 1, 2, 3])))
    assert reading.dataset.labels.tolist() == [0, 1, 2, 0, 1, 2]
    assert any("from 1 to 3: they were shifted" in note for note in reading.report.notes)


def test_one_based_predictions_are_shifted_with_them(npz):
    labels = np.array([1, 2, 3, 1, 2, 3])
    data = load(npz(labels=labels, predictions=labels))
    assert data.predictions.tolist() == [0, 1, 2, 0, 1, 2]


def test_numbered_columns_name_the_classes(text):
    reading = labelled(text, [1, 2, 2], "p_1,p_2")
    assert reading.dataset.labels.tolist() == [0, 1, 1]
    assert reading.dataset.class_names == ("1", "2")
    assert not reading.report.notes


def test_zero_based_labels_beside_columns_counted_from_one(text):
    assert labelled(text, [0, 1, 1], "p_1,p_2").dataset.labels.tolist() == [0, 1, 1]


def test_minus_one_and_one(text):
    reading = labelled(text, [-1, 1, 1])
    assert reading.dataset.labels.tolist() == [0, 1, 1]
    assert any("−1 and 1" in note for note in reading.report.notes)


def test_class_names_match_despite_case_and_spaces(text):
    reading = labelled(text, ["Cat", "DOG ", "cat"], "p_cat,p_dog")
    assert reading.dataset.labels.tolist() == [0, 1, 0]


def test_bool_labels_match_named_columns(text):
    assert labelled(text, ["True", "False"], "p_True,p_False").dataset.labels.tolist() == [0, 1]


def test_a_class_called_none_is_a_class(text):
    assert labelled(text, ["None", "dog"], "p_None,p_dog").dataset.labels.tolist() == [0, 1]


def test_bool_and_text_arrays(npz):
    assert (
        load(npz(probs=np.full((6, 2), 0.5), labels=np.array([True, False] * 3))).labels.sum() == 3
    )
    names = np.array(["x", "y", "z"])
    data = load(npz(labels=np.array(["z", "x", "y"] * 2), class_names=names))
    assert data.labels.tolist() == [2, 0, 1, 2, 0, 1]
    data = load(npz(labels=np.array([b"z", b"x", b"y"] * 2), class_names=names))
    assert data.labels.tolist() == [2, 0, 1, 2, 0, 1]


def test_index_labels_come_before_numeric_class_names_of_an_npz(npz):
    data = load(npz(class_names=np.array(["1", "2", "3"])))
    assert data.labels.tolist() == [0, 1, 2, 0, 1, 2]


def test_numeric_class_names_of_an_npz_are_matched_where_indices_do_not_fit(npz):
    labels = np.array([30, 10, 20] * 2)
    data = load(npz(labels=labels, class_names=np.array(["10", "20", "30"])))
    assert data.labels.tolist() == [2, 0, 1] * 2


def test_rows_without_a_label_are_dropped_and_said(csv):
    reading = read(csv(label=[0, None, 2, 0, None, 2]))
    assert reading.dataset.labels.tolist() == [0, 2, 0, 2]
    assert reading.dataset.features[:, 0].tolist() == [0.0, 2.0, 3.0, 5.0]
    (dropped,) = reading.report.dropped
    assert dropped == "2 rows of 'runs.csv' without a label (first: row 1 (line 3))"


def test_confidence_only_counts_classes_from_labels_and_predictions(text):
    data = load(text("label,confidence,prediction\n0,.5,0\n1,.5,2\n"))
    assert data.n_classes == 3
    data = load(text("label,confidence,prediction\n1,.5,1\n2,.5,3\n"))
    assert data.n_classes == 3
    assert data.labels.tolist() == [0, 1]
    data = load(text("label,confidence,prediction\n1000,.5,1000\n2000,.5,1000\n"))
    assert data.class_names == ("1000", "2000")


def test_predictions_beside_probabilities_are_kept_and_differences_said(csv):
    reading = read(csv(prediction=[1, 1, 2, 0, 1, 2]))
    assert reading.dataset.predictions.tolist() == [1, 1, 2, 0, 1, 2]
    assert any("In 2 of 6 rows the prediction is not the most" in n for n in reading.report.notes)


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


def test_wrong_prediction_is_found_in_its_own_column(text):
    path = text("label,p_a,p_b,prediction\na,.5,.5,a\nb,.5,.5,c\n")
    with pytest.raises(InputError, match=r"column 'prediction' of 'runs.csv'.*'c' at row 1"):
        load(path)
