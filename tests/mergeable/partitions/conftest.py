"""Some files of rows: two classes, three features, an error where the first feature is large."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(3)
    paths = []
    for k, n in enumerate((400, 300, 500)):
        features = rng.normal(size=(n, 3)) * [3, 2, 1]
        p = rng.uniform(0.02, 0.98, n)
        label = rng.random(n) < np.where(features[:, 0] > 2, p * 0.6, p)
        frame = pd.DataFrame(features, columns=["f_a", "f_b", "f_c"])
        frame["p_no"], frame["p_yes"] = 1 - p, p
        frame["label"] = np.where(label, "yes", "no")
        path = tmp_path / f"part-{k}.parquet"
        frame.to_parquet(path, row_group_size=150)
        paths.append(path)
    return paths
