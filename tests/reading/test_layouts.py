"""Layouts that tools write open as they are; what a half alone gets wrong is refused."""

import bz2
import gzip
import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lore_core as lore
from lore_core.reading import DoubtfulDataError
from lore_core.reading.raw_file import RawFile
from tests.refusals import refused

N, NAMES = 800, ["cat", "dog", "fox"]
RNG = np.random.default_rng(5)
P = RNG.dirichlet([1.5, 1, 1], N).round(6)
P[:, 2] = 1 - P[:, 0] - P[:, 1]
Y = np.array([RNG.choice(3, p=p.clip(0) / p.clip(0).sum()) for p in P])
F = RNG.normal(size=(N, 4)) * [1, 3, 10, 30] + [0, 5, 0, 100]
WORDS, BEST = [NAMES[y] for y in Y], P.argmax(axis=1)
TABLE = pd.DataFrame({"label": WORDS, **{f"p_{n}": P[:, k] for k, n in enumerate(NAMES)}})
TABLE = TABLE.assign(**{f"f_{k}": F[:, k] for k in range(4)})
CSV, LINES = TABLE.to_csv(index=False).encode(), TABLE.to_json(orient="records", lines=True)


def assert_is(data, *, features=True):
    order = [data.class_names.index(name) for name in NAMES if name in data.class_names] or [
        0,
        1,
        2,
    ]
    np.testing.assert_allclose(data.probabilities[:, order], P, atol=2e-6)
    np.testing.assert_array_equal(np.argsort(order)[Y], data.labels) if len(order) == 3 else None
    assert not features or data.features.shape == F.shape


def zstandard(content):
    return pa.compress(content, codec="zstd", asbytes=True)


@pytest.mark.parametrize("isolate", [False, True])
@pytest.mark.parametrize(
    ("suffix", "pack"), {".gz": gzip.compress, ".bz2": bz2.compress, ".zst": zstandard}.items()
)
def test_compressed(suffix, pack, isolate):
    assert_is(lore.load(RawFile(f"rows.csv{suffix}", pack(CSV)), isolate=isolate))
    assert_is(lore.load(RawFile(f"rows.jsonl{suffix}", pack(LINES.encode())), isolate=isolate))
    cut = RawFile(f"rows.csv{suffix}", pack(CSV)[:-9])
    refused(cut, rf"'rows\.csv\{suffix}' is damaged or no compressed file", isolate=isolate)
    bomb = RawFile(f"rows.csv{suffix}", pack(b"label,p\n" + bytes(10**6) * 300))
    refused(bomb, "holds more than|memory|process", isolate=isolate)


def test_parts_by_folder_pattern_and_partition(tmp_path):
    for k in range(10):
        part = TABLE.iloc[k * N // 10 : (k + 1) * N // 10]
        (tmp_path / f"place=a%20{k}").mkdir()
        part.to_parquet(tmp_path / f"place=a%20{k}" / "0.parquet")
        (tmp_path / "parts").mkdir(exist_ok=True)
        part.to_csv(tmp_path / "parts" / f"part.{k}.csv.gz", index=False)
    assert_is(lore.load(tmp_path / "parts"))
    assert_is(lore.load(str(tmp_path / "parts" / "*.csv.gz"), isolate=True))
    (tmp_path / "parts" / "part.4.csv.gz").unlink()
    found = lore.reading.read(tmp_path / "parts")
    assert len(found.dataset) == N - N // 10
    assert found.report.notes[0] == "9 files were read as parts of one table, 'parts'."
    found = lore.load(str(tmp_path / "place=*" / "*.parquet"))
    assert found.metadata["place"].unique().tolist() == [f"a {k}" for k in range(10)]
    for name in ("seed1", "seed2", "seed3"):
        TABLE.to_csv(tmp_path / "parts" / f"{name}.csv")
    refused(
        tmp_path / "parts",
        r"read parts of one table by a pattern, 'parts/\*\.csv'; or runs by load_runs",
    )


def test_frames_of_other_libraries():
    dask = pytest.importorskip("dask.dataframe")
    assert_is(lore.load(dask.from_pandas(TABLE, npartitions=3)))
    assert_is(lore.load(SimpleNamespace(collect=lambda: TABLE)))
    assert_is(lore.load({"probs": P, "labels": WORDS, "features": F, "class_names": NAMES}))


@pytest.mark.parametrize("orient", ["columns", "index", "table", "split", "records"])
def test_json_as_pandas_writes_it(tmp_path, orient):
    TABLE.to_json(tmp_path / "rows.json", orient=orient)
    assert_is(lore.load(tmp_path / "rows.json"))


def vectors(rows):
    kind = pa.struct(
        [("type", pa.int8()), ("size", pa.int32()), ("values", pa.list_(pa.float64()))]
    )
    return pa.array([{"type": 1, "size": None, "values": row.tolist()} for row in rows], kind)


BY_RANK = [[{"label": NAMES[k], "prob": p[k]} for k in np.argsort(-p)] for p in P]
LIKELIHOODS = (np.log(P.clip(1e-9)) - 3).tolist()
NESTED = {
    "spark": {"label": Y, "probability": vectors(P), "prediction": BEST, "features": vectors(F)},
    "pairs": {"label": WORDS, "prediction": [NAMES[k] for k in BEST], "probs": pa.array(BY_RANK)},
    "struct": {"label": WORDS, "probs": [dict(zip(NAMES, p, strict=True)) for p in P.tolist()]},
    "lighteval": {
        "doc": [{"query": "q", "choices": NAMES, "gold_index": int(y)} for y in Y],
        "model_response": [{"logprobs": row} for row in LIKELIHOODS],
        "metric": [{"acc": 1.0}] * N,
    },
}


@pytest.mark.parametrize("name", NESTED)
def test_nested_columns(tmp_path, name):
    pq.write_table(table := pa.table(NESTED[name]), tmp_path / "rows.parquet")
    assert_is(lore.load(tmp_path / "rows.parquet"), features=name == "spark")
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, table.to_pylist())))
    assert_is(lore.load(tmp_path / "rows.jsonl"), features=name == "spark")


SURE, RIGHT = P.max(axis=1), BEST == Y


@pytest.mark.parametrize(
    ("label", "column"),
    [
        *(("label_id", "p_{}"), ("label_ids", "y_pred_proba_{}"), ("gold", "prob_{}")),
        *(("truth", ".pred_{}"), ("target", "prediction_score_{}"), ("label", "{}")),
        ("Actual", "Probability of {}"),
    ],
)
@pytest.mark.parametrize("percent", [False, True])
def test_names_and_percent_signs(tmp_path, label, column, percent):
    names = {"label": label} | {f"p_{name}": column.format(name) for name in NAMES}
    table = TABLE.rename(columns=names)
    if percent:
        for name in list(names.values())[1:]:
            table[name] = [f"{100 * p:.4f} %" for p in table[name]]
    table.to_csv(tmp_path / "rows.csv", index=False)
    found = lore.reading.read(tmp_path / "rows.csv")
    assert_is(found.dataset)
    assert any("were read as shares" in note for note in found.report.notes) == percent


def test_a_prediction_with_the_largest_probability_is_a_confidence(tmp_path):
    pd.DataFrame({"label": Y, "y_pred": BEST, "y_prob": SURE}).to_csv(tmp_path / "a.csv")
    np.testing.assert_allclose(lore.load(tmp_path / "a.csv").confidence, SURE)


def test_errors_say_what_was_found_and_the_option(tmp_path):
    rows = {"question": ["q"] * N, "correct": RIGHT, "token_prob": SURE}
    pd.DataFrame(rows).to_csv(tmp_path / "a.csv", index=False)
    found = r"found 'correct', but no column of probabilities \(.*--column probabilities=token_p"
    for isolate in (False, True):
        refused(tmp_path / "a.csv", found, isolate=isolate)
    data = lore.load(tmp_path / "a.csv", mapping={"probabilities": "token_prob"})
    assert data.class_names == ("wrong", "right")


def halves(tmp_path, *, p=P, y=Y, features=F, **mapping):
    h = N // 2
    for name, rows in (("cal", slice(h)), ("test", slice(h, None))):
        np.savez(tmp_path / f"m_{name}.npz", probs=p[rows], labels=y[rows], features=features[rows])
    return lore.load([tmp_path / "m_cal.npz", tmp_path / "m_test.npz"], mapping=mapping)


def test_one_half_alone(tmp_path):
    second = np.arange(N)[:, None] >= N // 2
    assert len(halves(tmp_path)) == N
    for check, changed in (
        ("features", {"features": np.where(second, F * 1000, F)}),
        ("class order", {"p": np.where(second, P[:, [1, 2, 0]], P)}),
    ):
        with pytest.raises(DoubtfulDataError) as error:
            halves(tmp_path, **changed)
        assert error.value.check == check


def test_features_that_do_differ_can_be_accepted(tmp_path):
    second = np.arange(N)[:, None] >= N // 2
    assert len(halves(tmp_path, features=np.where(second, 5 * F + 100, F))) == N
    assert len(halves(tmp_path, features=np.where(second, 1000 * F, F), accept="features")) == N
