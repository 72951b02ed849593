import dataclasses

import numpy as np
import pandas as pd
import pytest

from lore_core import Dataset, InputError, from_estimator, load, save_npz

P = np.full((4, 2), 0.5)
Y = np.array([0, 1, 0, 1])
TABLE = pd.DataFrame({"age": [1.0, 2, 3, 4], "income": [5.0, 6, 7, 8]})


def test_a_table_brings_its_names():
    data = Dataset(P, Y, TABLE)
    assert data.feature_names == data.feature_labels == ("age", "income")
    assert data.features.tolist() == TABLE.to_numpy().tolist()
    assert data.rows([0, 2]).feature_names == ("age", "income")
    assert Dataset(P, Y).feature_labels == ()


def test_features_without_names_are_numbered():
    data = Dataset(P, Y, TABLE.to_numpy())
    assert data.feature_names is None
    assert data.feature_labels == ("f_0", "f_1")
    # Numbered names are no names, so that a CSV and an array of the same numbers are the same data.
    numbered = Dataset(P, Y, TABLE.to_numpy(), feature_names=["f_0", "f_1"])
    assert numbered.digest == data.digest
    assert Dataset(P, Y, TABLE).digest != data.digest
    assert dataclasses.replace(data, features=None).feature_labels == ()


def test_errors():
    with pytest.raises(InputError, match="one name a feature; got 1 names for 2 features"):
        Dataset(P, Y, TABLE, feature_names=["age"])
    with pytest.raises(InputError, match="must differ; got 'a' twice"):
        Dataset(P, Y, TABLE, feature_names=["a", "a"])


def test_columns_of_a_csv_keep_their_names(tmp_path):
    frame = pd.DataFrame({"label": Y, "p_0": 0.5, "p_1": 0.5})
    frame["f_age"], frame["f_income"] = TABLE["age"], TABLE["income"]
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert load(tmp_path / "a.csv").feature_names == ("f_age", "f_income")
    mapped = load(tmp_path / "a.csv", mapping={"features": ["f_income"]})
    assert mapped.feature_names == ("f_income",)


@pytest.mark.parametrize(
    ("names", "read"), [(["age", "income"], ("age", "income")), (["one"], None)]
)
def test_names_beside_an_array_and_back(tmp_path, names, read):
    features = TABLE.to_numpy()
    np.savez(tmp_path / "a.npz", probs=P, labels=Y, features=features, feature_names=names)
    save_npz(load(tmp_path / "a.npz"), tmp_path / "b.npz")
    for name in ("a.npz", "b.npz"):
        data = load(tmp_path / name)
        assert data.feature_names == read
        np.testing.assert_array_equal(data.features, features)


def test_an_estimator_of_a_table():
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression().fit(TABLE, Y)
    assert from_estimator(model, TABLE, Y).feature_names == ("age", "income")
    plain = LogisticRegression().fit(TABLE.to_numpy(), Y)
    assert from_estimator(plain, TABLE.to_numpy(), Y).feature_names is None
