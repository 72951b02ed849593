"""Some files of rows: two classes, three features, an error where the first feature is large."""

import dataclasses
import os
import signal

import numpy as np
import pandas as pd
import pytest

from lore_core.mergeable import Partition


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


@pytest.fixture
def spoil():
    def overwrite(path):
        content = bytearray(path.read_bytes())
        content[4 : len(content) // 2] = b"\0" * (len(content) // 2 - 4)
        path.write_bytes(bytes(content))

    return overwrite


@pytest.fixture
def watched_part():
    """A part that ends its reader: once, where there is a flag."""

    def of(part, *, flag=None):
        # (A class within a function is sent to other processes as it is, not by its name.)
        class Watched(Partition):
            def extracts(self, n_rows, columns=None):
                if flag is None or not flag.exists():
                    if flag is not None:
                        flag.touch()
                    os.kill(os.getpid(), signal.SIGKILL)
                return Partition.extracts(self, n_rows, columns)

        return Watched(**dataclasses.asdict(part))

    return of
