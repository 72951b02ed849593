import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import lore_core as lore
from lore_core.reading import frame_like


def rows(n=60):
    rng = np.random.default_rng(0)
    p = rng.uniform(0.5, 1, n)
    return pd.DataFrame({"label": (rng.random(n) < p).astype(int), "p": p, "f_0": p, "site": "a"})


def kinds(frame):
    yield frame
    yield pa.Table.from_pandas(frame)
    for name in ("polars", "duckdb"):
        try:
            library = __import__(name)
        except ModuleNotFoundError:
            continue
        if name == "polars":
            yield library.from_arrow(pa.Table.from_pandas(frame))
        else:
            yield library.sql("SELECT * FROM frame")


def test_what_came_in_goes_out():
    seen = 0
    for given in kinds(rows()):
        data = lore.load(given)
        table = lore.reliability_table(data.confidence, data.outcome).frame()
        values = lore.summarize(data).values.to_frame("value").rename_axis("metric")
        for result in (table, values, pd.DataFrame({"name": pd.Categorical(["a", "b"])})):
            made = frame_like(result, given)
            assert type(made) is type(given)
            back = pa.table(made).to_pandas()
            expected = result
            if not isinstance(given, pd.DataFrame) and result is values:
                expected = result.reset_index()
            back = back.astype({name: expected[name].dtype for name in expected})
            pd.testing.assert_frame_equal(
                back.reset_index(drop=True), expected.reset_index(drop=True)
            )
        seen += 1
    assert seen >= 2


def test_a_lazy_frame_of_polars():
    polars = pytest.importorskip("polars")
    made = frame_like(pd.DataFrame({"a": [1]}), polars.LazyFrame())
    assert isinstance(made, polars.LazyFrame)
    assert made.collect().to_dicts() == [{"a": 1}]


def test_others_are_refused():
    with pytest.raises(lore.InputError, match="'like' must be a pandas, Polars or Arrow"):
        frame_like(rows(), [1])
    mixed = pd.DataFrame({"a": [1, "b"]})
    with pytest.raises(lore.InputError, match="values of one kind a column"):
        frame_like(mixed, pa.table({}))
