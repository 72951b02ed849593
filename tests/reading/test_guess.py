import dataclasses

import numpy as np
import pandas as pd
import pytest

from lore_core.data.validation import InputError
from lore_core.reading import ColumnMapping, inspect, load, read

LABELS = ["label", "Labels", "y", "y_true", "target", "True Label", "label_ids", "gold", "Actual"]
FAMILIES = ["p_0,p_1", "prob_0,prob_1", "proba_0,proba_1", "p0,p1", "P_0,P_1", ".pred_0,.pred_1"]
FAMILIES += ["y_pred_proba_0,y_pred_proba_1", "prediction_score_0,prediction_score_1"]
FAMILIES += ["Probability of 0,Probability of 1", "0,1"]
FEATURES = ["f_0,f_1", "feature_0,feature_1", "emb_0,emb_1", "x0,x1", "x_0,x_1", "f_age,f_pay"]


@pytest.mark.parametrize(
    ("label", "family", "features"),
    [
        *((label, "p_0,p_1", "f_0,f_1") for label in LABELS),
        *(("label", family, "f_0,f_1") for family in FAMILIES),
        *(("label", "p_0,p_1", features) for features in FEATURES),
    ],
)
def test_usual_names(text, label, family, features):
    mapping = inspect(text(f"{label},{family},{features}\n0,.5,.5,1,2\n1,.5,.5,3,4\n")).mapping
    assert mapping.label == label
    assert mapping.probabilities == tuple(family.split(","))
    assert mapping.probability_kind == "probabilities"
    assert mapping.features == tuple(features.split(","))


@pytest.mark.parametrize(
    ("content", "names", "labels"),
    [
        # Numbers in their order, and another suffix is none of them.
        ("label,p_10,p_2,p_value\n2,.25,.75,9\n10,.5,.5,9\n", ("2", "10"), [0, 1]),
        ("label,p_dog,p_cat\ncat,.25,.75\ndog,.5,.5\n", ("dog", "cat"), [1, 0]),
        ("label,p_sick\nwell,.25\nsick,.75\n", ("well", "sick"), [0, 1]),
    ],
)
def test_columns_name_their_classes(text, content, names, labels):
    data = load(text(content))
    assert (data.class_names, data.labels.tolist()) == (names, labels)


def test_logit_columns_become_probabilities(text, npz, arrays):
    reading = read(text("label,logit_0,logit_1\n0,1000,1000\n1,0,1.0986122886681098\n"))
    np.testing.assert_allclose(reading.dataset.probabilities, [[0.5, 0.5], [0.25, 0.75]])
    assert any("softmax" in note for note in reading.report.notes)
    reading = read(npz(logits=np.zeros((6, 3))))
    np.testing.assert_array_equal(reading.dataset.probabilities, arrays["probs"])
    assert any("logits were not used" in note for note in reading.report.notes)
    assert "logits" not in (reading.mapping.metadata or ())


@pytest.mark.parametrize("name", ["p", "prob", "p_1", "score", "y_score", "probability", "y_proba"])
def test_single_positive_column(text, name):
    data = load(text(f"label,{name}\n0,.25\n1,.75\n"))
    assert data.probabilities.tolist() == [[0.75, 0.25], [0.25, 0.75]]


@pytest.mark.parametrize("key", ["probs", "p", "probabilities", "logits"])
@pytest.mark.parametrize("shape", [(6, 1), (6,)])
def test_one_number_is_that_of_class_1(npz, key, shape):
    given = np.full(shape, -np.log(3.0) if key == "logits" else 0.25)
    data = load(npz(**{"probs": None, key: given, "labels": np.array([0, 1] * 3)}))
    np.testing.assert_allclose(data.probabilities, [[0.75, 0.25]] * 6)


def test_a_lone_p_0_is_not_the_positive_class(text):
    assert inspect(text("label,p_0\n0,.25\n1,.75\n")).mapping.probabilities is None
    data = load(text("label,p_0,p_1,fold\n0,.5,.5,1\n1,.5,.5,2\n"))
    assert data.split is None
    assert data.metadata["fold"].tolist() == [1, 2]


def test_confidence_and_prediction(text):
    reading = read(text("label,confidence,prediction\na,.75,a\nb,.5,c\nc,1,c\n"))
    data = reading.dataset
    assert data.probabilities.tolist() == [[0.75, 0.125, 0.125], [0.25, 0.25, 0.5], [0, 0, 1]]
    assert data.predictions.tolist() == [0, 2, 2]
    assert data.class_names == ("a", "b", "c")
    assert not data.complete
    assert any("spread evenly" in warning for warning in reading.report.warnings)
    data = load(text("label,conf,pred\n0,.75,0\n1,.25,1\n"))
    assert data.complete
    assert data.probabilities.tolist() == [[0.75, 0.25], [0.75, 0.25]]
    assert data.predictions.tolist() == [0, 1]  # as given, though 0.75 is more


@pytest.mark.parametrize(
    ("name", "rows", "kind"),
    [
        ("prob", "0,0,.75\n1,1,.75\n", None),  # never below one half: either
        ("y_prob", "0,0,.25\n1,1,.75\n", "positive"),
        ("y_prob", "0,0,.25\n1,1,.3\n", "positive"),  # by another threshold
        ("y_prob", "0,0,.3\n0,0,.9\n1,1,.4\n", None),  # by none
        ("prob", "0,0,.4\n1,1,.75\n2,2,.9\n", None),  # three classes
        ("score", "0,0,.25\n1,1,.75\n", "confidence"),
    ],
)
def test_a_number_beside_a_prediction_is_told_by_its_values(text, name, rows, kind):
    path = text(f"label,prediction,{name}\n{rows}")
    assert inspect(path).mapping.probability_kind == kind
    if kind is None:
        with pytest.raises(InputError, match=f"may be P.*={name} --column .*kind=confidence"):
            load(path)


@pytest.mark.parametrize("word", ["cal", "calib", "Calibration", "val", "valid", "dev"])
@pytest.mark.parametrize("column", ["split", "subset", "fold"])
def test_split_words(text, word, column):
    path = text(f"label,p_0,p_1,{column}\n0,.5,.5,{word}\n1,.5,.5,test\n1,.5,.5,eval\n")
    assert load(path).split.tolist() == ["calibration", "evaluation", "evaluation"]


def test_training_rows_are_dropped_and_said(csv, npz):
    reading = read(csv(split=["train", "cal", "test", "training", "test", "test"]))
    assert reading.dataset.labels.tolist() == [1, 2, 1, 2]
    assert reading.dataset.split.tolist() == ["calibration"] + ["evaluation"] * 3
    assert reading.report.dropped == ("2 training rows of 'runs.csv'",)
    names = ("x", "y", "z")
    assert inspect(npz(class_names=np.array(names))).mapping.class_names == names
    assert load(npz(), mapping={"class_names": names}).class_names == names
    mapping = ColumnMapping(features=["a", "b"])
    assert mapping.features == ("a", "b")
    with pytest.raises(dataclasses.FrozenInstanceError):
        mapping.label = "y"


def test_saved_pandas_index_is_the_row_id(tmp_path, table):
    table.index = [f"r{i}" for i in range(6)]
    table.to_csv(tmp_path / "runs.csv")
    assert inspect(tmp_path / "runs.csv").mapping.row_id == "Unnamed: 0"
    table.to_parquet(tmp_path / "runs.parquet")
    assert inspect(tmp_path / "runs.parquet").mapping.row_id == "__index_level_0__"
    table = table.iloc[np.repeat(np.arange(6), 5)].reset_index(drop=True)
    table["person"] = [f"person {i}" for i in range(30)]
    table["constant"] = "same"
    table["visits"] = np.arange(30) % 3
    table["member"] = np.arange(30) % 2 == 0
    table.to_parquet(tmp_path / "runs.parquet")
    mapping = inspect(tmp_path / "runs.parquet").mapping
    assert mapping.groups == ("region",)
    assert mapping.metadata == ("region", "age", "person", "constant", "visits", "member")


def test_what_was_asked_and_answered_is_no_group():
    frame = pd.DataFrame({"correct": [0, 1] * 20, "confidence": [0.4, 0.8] * 20})
    frame = frame.assign(answer=["It is Rome.", "Paris"] * 20, topic=["city", "river"] * 20)
    data = load(frame)
    assert list(data.groups.columns) == ["topic"]
    assert "answer" in data.metadata
    chosen = load(frame, mapping={"groups": ["answer"]})
    assert list(chosen.groups.columns) == ["answer"]


def test_npz_groups_inputs_and_names(npz):
    groups = np.array([["a", "x"], ["b", "x"]] * 3)
    names = {"group_names": ["letter", "age"], "input_names": ["height", "weight"]}
    names |= {"class_names": ["red", "green", "blue"], "note": "free text"}
    inputs = np.arange(12.0).reshape(6, 2)
    reading = read(npz(region=None, groups=groups, inputs=inputs, **names))
    data = reading.dataset
    assert data.class_names == ("red", "green", "blue")
    assert list(data.groups.columns) == ["letter", "groups.age"]
    assert data.groups["letter"].tolist() == ["a", "b"] * 3
    assert data.metadata["weight"].tolist() == [1.0, 3.0, 5.0, 7.0, 9.0, 11.0]
    assert any("'note'" in note for note in reading.report.notes)
    one, two = np.array(["a", "b"] * 3), np.array([["a", "x"]] * 6)
    data = load(npz(groups=one, row_id=np.arange(6)))
    assert list(data.groups.columns) == ["region", "group"]
    assert data.metadata.columns[0] == "row_id"
    assert list(load(npz(region=None, groups=two)).groups.columns) == ["group_0", "group_1"]
    reading = read(npz(inputs=np.zeros((6, 101)), gradients=np.zeros((6, 4)), loss=np.zeros(5)))
    told = " ".join(reading.report.notes)
    assert "'inputs' of 'runs.npz' is not used: it has shape (6, 101)" in told
    assert "'gradients' of 'runs.npz' is not used: it has shape (6, 4)" in told
    assert "'loss' of 'runs.npz' is not used: it has shape (5,)" in told


def test_mapping_overrules_the_guess(csv, table):
    path = csv(truth=[2, 2, 2, 2, 2, 2])
    mapping = ColumnMapping(label="truth", features="age", groups=(), metadata=("region",))
    reading = read(path, mapping=mapping)
    data = reading.dataset
    assert data.labels.tolist() == [2] * 6
    assert data.features.ravel().tolist() == table["age"].tolist()
    assert data.groups is None
    assert list(data.metadata.columns) == ["region"]
    assert reading.mapping.probabilities == ("p_0", "p_1", "p_2")
    assert read(path, mapping={"label": "truth"}).dataset.labels.tolist() == [2] * 6
    path = csv(split=["cal"] * 3 + ["test"] * 3)
    first = read(path)
    again = read(path, mapping=first.mapping)
    assert again.mapping == first.mapping
    assert again.dataset.digest == first.dataset.digest
    data = load(path, mapping=ColumnMapping(split="", features=()))
    assert data.split is None
    assert data.features is None
    assert "split" in data.metadata
    data = load(csv(region=["north", None, "north", "south", None, "south"]))
    assert data.groups["region"].tolist()[1] == "(missing)"
    assert data.metadata["region"].isna().sum() == 2


def test_prefix_stands_for_columns_which_name_their_classes(text):
    path = text("label,m_a,m_b,g1,g2\n0,.75,.25,1,2\n1,.5,.5,3,4\n")
    data = load(path, mapping={"probabilities": "m_*", "features": ["g*"]})
    assert data.class_names == ("m_a", "m_b")
    assert data.features.tolist() == [[1, 2], [3, 4]]
    path = text("label,cat,dog\ndog,.75,.25\ncat,.5,.5\n")
    data = load(path, mapping={"probabilities": ["cat", "dog"]})
    assert (data.class_names, data.labels.tolist()) == (("cat", "dog"), [1, 0])


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"label": "lable"}, "'runs.csv' has no column 'lable'.*label.*Did you mean 'label'.*p_0"),
        ({"features": "g_*"}, r"has no column 'g_\*'.*features"),
        ({"label": "p_0", "probabilities": ["p_0", "p_1"]}, "mapped to both"),
        ({"label": "p_*"}, "only one column can be"),
        ({"labels": "label"}, "no role 'labels'. Did you mean 'label'"),
        ({"probability_kind": "odds"}, "must be one of probabilities, logits"),
        ({"probabilities": ["p_0"], "probability_kind": "confidence"}, "no column of predicted"),
        ({"probability_kind": "positive"}, "must hold one number a row, to be mapped as positive"),
        ({"class_names": ["x", "y"]}, "one class name a class is needed; got 2 names"),
        ({"class_names": ["a", "b", "a"]}, "two classes are named 'a'"),
        ({"label": "age"}, r"'age'.*class indices or class names; got 30.5 at row 0 \(line 2\)"),
    ],
)
def test_wrong_mapping(csv, mapping, message):
    with pytest.raises(InputError, match=message):
        load(csv(), mapping=mapping)
