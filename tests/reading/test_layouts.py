"""Layouts that tools write open as they are."""

import bz2
import gzip
import io
import json
import lzma
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lore_core as lore
from lore_core.reading.raw_file import RawFile
from tests.refusals import refused

N, NAMES = 800, ["cat", "dog", "fox"]
RNG = np.random.default_rng(5)
P, F = RNG.dirichlet([1.5, 1, 1], N), RNG.normal(size=(N, 2))
Y = np.array([RNG.choice(3, p=p) for p in P])
WORDS = np.array(NAMES)[Y]
TABLE = pd.DataFrame({"label": WORDS, **dict(zip([f"p_{n}" for n in NAMES], P.T, strict=True))})
TABLE = TABLE.assign(f_0=F[:, 0], f_1=F[:, 1])


def assert_is(data, *, features=True):
    np.testing.assert_allclose(data.probabilities, P, atol=2e-6)
    np.testing.assert_array_equal(data.labels, Y)
    assert not features or data.features.shape == F.shape


PACKED = {"gz": gzip.compress, "bz2": bz2.compress}
PACKED["xz"] = lambda content: lzma.compress(content, preset=0)
PACKED["zst"] = lambda content: pa.compress(content, codec="zstd", asbytes=True)


def zipped(content, names=("rows.csv",)):
    with zipfile.ZipFile(stream := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, content)
    return stream.getvalue()


PACKED["zip"] = zipped


@pytest.mark.parametrize("isolate", [False, True])
@pytest.mark.parametrize("suffix", PACKED)
def test_compressed(suffix, isolate):
    pack, name = PACKED[suffix], f"rows.csv.{suffix}"
    csv, lines = TABLE.to_csv(index=False), TABLE.to_json(orient="records", lines=True)
    assert_is(lore.load(RawFile(name, pack(csv.encode())), isolate=isolate))
    assert_is(lore.load(RawFile(f"rows.jsonl.{suffix}", pack(lines.encode())), isolate=isolate))
    cut = RawFile(name, pack(csv.encode())[:-9])
    refused(cut, rf"'{name}' is damaged or no compressed file", isolate=isolate)
    bomb = RawFile(name, pack(b"label,p\n" + bytes(10**6) * 300))
    refused(bomb, "holds more than|memory|process", isolate=isolate)


def test_parts_by_folder_pattern_and_partition(tmp_path):
    (parts := tmp_path / "parts").mkdir()
    for k in range(10):
        part = TABLE.iloc[k * N // 10 : (k + 1) * N // 10]
        (tmp_path / f"place=a%20{k}").mkdir()
        part.to_parquet(tmp_path / f"place=a%20{k}" / "0.parquet")
        part.to_csv(parts / f"part.{k}.csv.gz", index=False)
    assert_is(lore.load(parts))
    assert_is(lore.load(str(parts / "*.csv.gz"), isolate=True))
    (parts / "part.4.csv.gz").unlink()
    found = lore.reading.read(parts)
    assert len(found.dataset) == N - N // 10
    assert found.report.notes[0] == "9 files were read as parts of one table, 'parts'."
    found = lore.load(str(tmp_path / "place=*" / "*.parquet"))
    assert found.metadata["place"].unique().tolist() == [f"a {k}" for k in range(10)]
    (parts / "seed1.csv").write_text("label,p\n")
    refused(parts, r"one table by a pattern, 'parts/\*\.csv'; runs by load_runs")


@pytest.mark.parametrize("orient", ["columns", "index", "table", "split", "records"])
def test_json_as_pandas_writes_it(tmp_path, orient):
    TABLE.to_json(tmp_path / "rows.json", orient=orient)
    assert_is(lore.load(tmp_path / "rows.json"))


def test_a_zip_of_two_files_and_arrays_by_name():
    refused(RawFile("a.csv", zipped(b"", "ab")), r"'a\.csv' holds 2 files \(a, b\), not one")
    refused({"label": Y, "p": np.ma.masked_less(P[:, 0], 0.1)}, "must be finite; got a missing")
    assert_is(lore.load({"label": Y.astype(">i4"), "probs": P.astype(">f8"), "features": F}))
    assert_is(lore.load(TABLE.astype({"p_cat": pd.SparseDtype(float)})))
    refused(RawFile("a.json", b'{"columns": ["label"], "data": [["cat"], 1]}'), "no column of true")
    texts = pd.DataFrame({"y": Y, "probs": map(str, P.tolist())}).to_csv(index=False)
    assert_is(lore.load(RawFile("a.csv", f"# a comment\n{texts}".encode())), features=False)


def test_archives_by_what_they_hold_and_bytes_that_are_texts(tmp_path):
    np.savez(tmp_path / "a.npz", labels=Y, probs=P, features=F)
    TABLE.to_excel(tmp_path / "a.xlsx", index=False)
    for content in ((tmp_path / "a.npz").read_bytes(), (tmp_path / "a.xlsx").read_bytes()):
        for name in ("a.csv", "a.zip", "a"):
            assert_is(lore.load(RawFile(name, content)))
    rows = TABLE.assign(label=[*map(str.encode, WORDS)], blob=[b"\xff"] * N)
    rows.to_parquet(path := tmp_path / "a.parquet")
    assert_is(data := lore.load(path))
    assert (data.class_names, data.metadata) == (tuple(NAMES), None)


def test_rows_of_each_class_and_of_the_predicted_one():
    p, label = P[:, 0], Y == 0
    long = {"label": np.repeat(label, 2), "p": np.column_stack([1 - p, p]).ravel()}
    refused(long, "each row is there twice, with P and 1 - P")
    blocks = {"label": np.tile(label, 2), "p": np.concatenate([1 - p, p])}
    refused(blocks, "each row is there twice, with P and 1 - P")
    found = lore.reading.read({"label": label, "p": np.maximum(p, 1 - p)})
    assert "No row has a P(1) below 0.5." in " ".join(found.report.warnings)


GUESS, RIGHT = np.array(NAMES)[P.argmax(axis=1)], P.argmax(axis=1) == Y


def helm(k):
    stats = {"exact_match": float(RIGHT[k]), "max_prob": P[k].max()}
    return [{"name": {"name": name, "split": "test"}, "mean": stats[name]} for name in stats]


def openai(k):
    logs = {"content": [{"logprob": np.log(P[k].max())}]}
    return {"body": {"choices": [{"message": {"content": f" {GUESS[k]}"}, "logprobs": logs}]}}


LOGS = {
    "BigQuery": lambda k: {"kind": WORDS[k], "predicted_kind": GUESS[k], "predicted_kind_probs": [
        {"label": NAMES[c], "prob": P[k, c]} for c in np.argsort(-P[k])]},
    "lighteval": lambda k: {
        "doc": {"gold_index": [int(Y[k])]}, "model_response": {"logprobs": [*np.log(P[k]) - 1]}},
    "HELM": lambda k: {"instance_id": f"id{k}", "stats": helm(k)},
    "OpenAI": lambda k: {"label": WORDS[k], "response": openai(k)},
    "evals": lambda k: [
        {"run_id": "1", "sample_id": f"s.{k}", "type": kind, "data": data} for kind, data in
        {"match": {"correct": bool(RIGHT[k])}, "metrics": {"confidence": P[k].max()}}.items()],
    "Vertex AI": lambda k: {
        "label": WORDS[k], "got": {"classes": NAMES[::-1], "scores": P[k, ::-1].tolist()}},
    "Comprehend": lambda k: {
        "label": WORDS[k], "Classes": [{"Name": NAMES[c], "Score": P[k, c]} for c in (2, 0, 1)]},
    "lm-evaluation-harness": lambda k: {
        "target": WORDS[k], "filtered_resps": [[str(v), "False"] for v in np.log(P[k])],
        "arguments": {str(c): {"arg_1": f" {name}"} for c, name in enumerate(NAMES)}},
    "MediaPipe": lambda k: {"label": WORDS[k], "categories": [
        {"index": 1, "score": P[k, c], "category_name": NAMES[c]} for c in np.argsort(-P[k])]},
    "pipeline": lambda k: {"label": GUESS[k], "score": P[k].max(), "true_label": WORDS[k]},
    "KNIME": lambda k: {"y": WORDS[k], **{f"P (y={NAMES[c]})": P[k, c] for c in range(3)}},
}  # fmt: skip


@pytest.mark.parametrize("tool", LOGS)
def test_lists_of_classes_and_logs_of_tools(tmp_path, tool):
    records = list(np.hstack([LOGS[tool](k) for k in range(N)]))
    (path := tmp_path / "log.json").write_text(json.dumps(records))
    if tool in ("BigQuery", "lighteval"):  # (The others write JSON only.)
        pq.write_table(pa.Table.from_pylist(records), path := tmp_path / "log.parquet")
    data = lore.load(path, isolate=True)
    np.testing.assert_allclose(data.confidence, P.max(axis=1))
    found = data.labels if data.class_names == ("wrong", "right") else data.outcome
    np.testing.assert_array_equal(found, RIGHT)


def vectors(rows):
    sparse = {"type": 0, "size": len(rows[0]), "indices": range(len(rows[0]))}
    kinds = ({"type": 1, "size": None, "indices": None}, sparse | {"indices": [*sparse["indices"]]})
    return [kinds[k % 2] | {"values": row} for k, row in enumerate(rows.tolist())]


LINES = TABLE.round(6).to_csv(index=False).splitlines()
SPACED = [" ".join(f'"{cell}"' for cell in line.split(",")) for line in LINES]
BARS = [f"| {line.replace(',', ' | ')} |" for line in LINES]
DRAWN = {
    "R's write.table": [SPACED[0], *(f'"{k}" {line}' for k, line in enumerate(SPACED[1:]))],
    "pandas' to_string": TABLE.to_string(index=False).splitlines(),
    "Markdown": [BARS[0], "|---|:--|--:|---|---|---|", *BARS[1:]],
    "a database's": ["+-----+-----+", BARS[0], "+-----+-----+", *BARS[1:], "+-----+-----+"],
    "single quotes": [f"'{line.replace(',', chr(39) + ',' + chr(39))}'" for line in LINES],
}


@pytest.mark.parametrize("kind", DRAWN)
def test_tables_that_no_delimiter_parts(kind):
    lines = [line.encode() for line in DRAWN[kind]]
    content = gzip.compress(b"\n".join(lines))  # (Its name does not say so.)
    np.testing.assert_allclose(lore.load(RawFile("a.txt", content)).probabilities, P, atol=2e-6)
    short = RawFile("a.txt", b"\n".join([*lines[:9], lines[9].rsplit(None, 2)[0], *lines[10:]]))
    if kind != "single quotes":
        refused(short, r"values in line 10 for \d names")


@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
def test_texts_of_lists_and_marks_of_classes(tmp_path, kind):
    texts = [str([*row]) if k % 2 else f"tensor({[*map(float, row)]})" for k, row in enumerate(P)]
    marks = {f"y_{name}": (k == Y).astype(int) for k, name in enumerate(NAMES)}
    frame = pd.DataFrame({**marks, "probs": texts, "note": "x"})
    options = {"orient": "records"} if kind == "json" else {"index": False}
    getattr(frame, f"to_{kind}")(path := tmp_path / f"a.{kind}", **options)
    data = lore.load(path, mapping={"class_names": NAMES})
    assert_is(data, features=False)
    assert [*data.metadata] == ["note"]
    frame["y_cat"] = 1
    refused(frame, "no column of true classes")


def test_classes_of_another_file_and_one_that_no_row_is_of(tmp_path):
    shares = TABLE.rename(columns=lambda name: name.removeprefix("p_"))
    ids = shares.drop(columns="label").assign(id=range(N))
    assert_is(lore.load([ids, TABLE[["label"]].assign(id=range(N))[::-1]]))
    (cal := shares[:400][WORDS[:400] != "cat"]).to_csv(tmp_path / "m_cal.csv", index=False)
    shares[400:].to_csv(tmp_path / "m_test.csv", index=False)
    data = lore.load(tmp_path)
    np.testing.assert_allclose(data.evaluation.probabilities, P[400:])
    np.testing.assert_allclose(data.calibration.probabilities, cal[NAMES])
    assert data.class_names == tuple(NAMES)
    (tmp_path / "_delta_log").mkdir()
    refused(tmp_path, "by its log some files may be outdated")


NESTED = {
    "spark": {"label": Y, "probability": vectors(P), "features": vectors(F)},
    "struct": {"label": WORDS, "probs": [dict(zip(NAMES, p, strict=True)) for p in P.tolist()]},
}


@pytest.mark.parametrize("name", NESTED)
def test_nested_columns(tmp_path, name):
    pq.write_table(table := pa.table(NESTED[name]), tmp_path / "rows.parquet")
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, table.to_pylist())))
    for suffix in ("parquet", "jsonl"):
        assert_is(lore.load(tmp_path / f"rows.{suffix}"), features=name == "spark")


def test_percent_signs_in_columns_called_as_the_classes():
    shares = {name: [f"{100 * p:.4f} %" for p in P[:, k]] for k, name in enumerate(NAMES)}
    found = lore.reading.read(pd.DataFrame({"label": WORDS, **shares}))
    assert_is(found.dataset, features=False)
    assert any("were read as shares" in note for note in found.report.notes)


@pytest.mark.parametrize("isolate", [False, True])
def test_errors_say_what_was_found_and_the_option(tmp_path, isolate):
    rows = {"question": ["q"] * N, "correct": P.argmax(axis=1) == Y, "token_prob": P.max(axis=1)}
    pd.DataFrame(rows).to_csv(tmp_path / "a.csv", index=False)
    found = r"found 'correct', but no column of probabilities \(.*--column probabilities=token_p"
    refused(tmp_path / "a.csv", found, isolate=isolate)
    data = lore.load(tmp_path / "a.csv", mapping={"probabilities": "token_prob"})
    assert data.class_names == ("wrong", "right")
