import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def table():
    """Six rows, three classes, two features, a group, a note; accuracy 5/6 by hand."""
    return pd.DataFrame(
        {
            "label": [0, 1, 2, 0, 1, 2],
            "p_0": [0.5, 0.25, 0.125, 0.75, 0.5, 0.0],
            "p_1": [0.25, 0.5, 0.125, 0.125, 0.25, 0.25],
            "p_2": [0.25, 0.25, 0.75, 0.125, 0.25, 0.75],
            "f_0": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
            "f_1": [0.5, -1.5, 2.25, 3.125, 4.0, 5.0],
            "region": ["north", "south", "north", "south", "north", "south"],
            "age": [30.5, 41.0, 27.25, 66.0, 18.0, 52.0],
        }
    )


@pytest.fixture
def arrays(table):
    return {
        "probs": table[["p_0", "p_1", "p_2"]].to_numpy(),
        "labels": table["label"].to_numpy(),
        "features": table[["f_0", "f_1"]].to_numpy(),
        "region": table["region"].to_numpy().astype(str),
        "age": table["age"].to_numpy(),
    }


@pytest.fixture
def npz(tmp_path, arrays):
    def write(name="runs.npz", **changes):
        path = tmp_path / name
        kept = {key: value for key, value in {**arrays, **changes}.items() if value is not None}
        np.savez(path, **kept)
        return path

    return write


@pytest.fixture
def csv(tmp_path, table):
    def write(name="runs.csv", *, sep=",", decimal=".", **changes):
        frame = table.copy()
        for column, values in changes.items():
            if values is None:
                del frame[column]
            else:
                frame[column] = values
        path = tmp_path / name
        frame.to_csv(path, index=False, sep=sep, decimal=decimal)
        return path

    return write


@pytest.fixture
def text(tmp_path):
    def write(content, name="runs.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(content.encode(encoding))
        return path

    return write
