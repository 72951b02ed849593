"""Small files of every readable format, from which damaged ones are made."""

import gzip
import io
import json
import lzma
import sqlite3
import tempfile
import zipfile
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
from PIL import Image

_ROWS = 48
#: Rows of a part of a file, where its format has parts.
_PART = 16


def table() -> pd.DataFrame:
    """Return rows with every kind of column."""
    rng = np.random.default_rng(0)
    p = rng.random((_ROWS, 3)) + 0.05
    p /= p.sum(axis=1, keepdims=True)
    return pd.DataFrame(
        {
            "label": rng.choice(["cat", "dog", "emu"], _ROWS),
            **{f"p_{name}": p[:, k] for k, name in enumerate(("cat", "dog", "emu"))},
            **{f"f_{k}": rng.normal(size=_ROWS) for k in range(3)},
            "split": rng.choice(["calibration", "evaluation"], _ROWS),
            "site": rng.choice(["north", "south"], _ROWS),
            "age": rng.integers(18, 90, _ROWS),
            "day": pd.date_range("2024-01-01", periods=_ROWS),
        }
    )


def arrays() -> dict[str, np.ndarray]:
    """Return the rows as the arrays of an ``.npz``, with images and groups."""
    rows = table()
    return {
        "probs": rows[["p_cat", "p_dog", "p_emu"]].to_numpy(),
        "labels": rows["label"].to_numpy().astype(str),
        "class_names": np.array(["cat", "dog", "emu"]),
        "features": rows[["f_0", "f_1", "f_2"]].to_numpy(np.float32),
        "split": rows["split"].to_numpy().astype(str),
        "groups": rows[["site"]].to_numpy().astype(str),
        "group_names": np.array(["site"]),
        "age": rows["age"].to_numpy(),
        "day": rows["day"].to_numpy(),
        "images": np.zeros((_ROWS, 4, 4), np.uint8),
    }


def seeds() -> dict[str, bytes]:
    """Return name to content of one sound file a format; Excel and DuckDB where they are there."""
    rows = table()
    dated = rows.assign(day=rows["day"].astype(str))
    lists = rows.drop(columns=["p_cat", "p_dog", "p_emu"])
    lists["probs"] = [list(row) for row in arrays()["probs"]]
    written: dict[str, io.BytesIO] = {}

    def into(name: str) -> io.BytesIO:
        return written.setdefault(name, io.BytesIO())

    np.savez(into("plain.npz"), **arrays())  # type: ignore[arg-type]
    np.savez_compressed(into("packed.npz"), **arrays())  # type: ignore[arg-type]
    rows.to_parquet(into("rows.parquet"), row_group_size=_PART)
    pa.parquet.write_table(
        pa.Table.from_pandas(lists), into("lists.parquet"), compression="zstd", version="1.0"
    )
    pa.feather.write_feather(pa.Table.from_pandas(rows), into("rows.feather"), chunksize=_PART)
    whole = pa.Table.from_pandas(lists)
    with pa.ipc.new_stream(into("rows.arrow"), whole.schema) as stream:
        stream.write_table(whole, _PART)
    made = {name: stream.getvalue() for name, stream in written.items()}
    made["rows.csv"] = dated.to_csv(index=False).encode()
    heads = "".join(f"@attribute '{name}' string\n" for name in dated)
    made["rows.arff"] = f"@relation x\n{heads}@data\n".encode() + b"\n".join(
        dated.to_csv(index=False).encode().split(b"\n")[1:]
    )
    rows.to_stata(stata := io.BytesIO(), write_index=False)
    made["rows.dta"] = stata.getvalue()
    made["rows.tsv"] = dated.to_csv(index=False, sep="\t", decimal=",").encode()
    made["rows.json"] = dated.to_json(orient="records").encode()
    made["rows.jsonl"] = dated.to_json(orient="records", lines=True).encode()
    made["columns.json"] = dated.to_json(orient="split", index=False).encode()
    made["rows.csv.gz"] = gzip.compress(made["rows.csv"])
    made["rows.jsonl.zst"] = pa.compress(made["rows.jsonl"], codec="zstd", asbytes=True)
    made["rows.tsv.xz"] = lzma.compress(made["rows.tsv"])
    with zipfile.ZipFile(packed := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("rows.csv", made["rows.csv"])
    made["rows.csv.zip"] = packed.getvalue()
    made["nested.parquet"] = _nested(lists)
    made["lists.jsonl"], made["stats.json"], made["chat.jsonl"] = _logs(lists)
    made["rows.sqlite"] = _database(dated)
    made["log.eval"] = _log(dated)
    made["log.json"] = json.dumps(
        {"eval": {"task": "x"}, **_header(dated), "samples": _samples(dated)}
    ).encode()
    made["choices.jsonl"] = _choices(dated)
    made["answers.csv"] = _answers(dated)
    made["images.parquet"] = _with_images(rows)
    if find_spec("openpyxl"):
        rows.to_excel(book := io.BytesIO(), index=False)
        made["rows.xlsx"] = book.getvalue()
    if find_spec("duckdb"):
        made["rows.duckdb"] = _duckdb(rows)
    return made


def _logs(lists: pd.DataFrame) -> tuple[bytes, bytes, bytes]:
    """Return the rows as lists of classes, as statistics of HELM and as chat completions."""
    names, shares, stats, chats = ("cat", "dog", "emu"), [], [], []
    for k, (label, p) in enumerate(zip(lists["label"], lists["probs"], strict=True)):
        pairs = [{"label": name, "prob": share} for name, share in zip(names, p, strict=True)]
        shares.append({"label": label, "answer": pairs})
        known = {"exact_match": float(k % 3 > 0), "max_prob": max(p)}.items()
        means = [{"name": {"name": name, "split": "test"}, "mean": mean} for name, mean in known]
        stats.append({"instance_id": f"id{k}", "stats": means})
        content = {"content": [{"token": "x", "logprob": float(np.log(max(p)))}]}
        choice = {"message": {"content": names[p.index(max(p))]}, "logprobs": content}
        chats.append({"label": label, "response": {"body": {"choices": [choice]}}})
    lines = ("\n".join(map(json.dumps, rows)).encode() for rows in (shares, chats))
    return next(lines), json.dumps(stats).encode(), next(lines)


def _nested(lists: pd.DataFrame) -> bytes:
    """Return the rows with their probabilities as one struct of the classes."""
    cells = [dict(zip(("cat", "dog", "emu"), row, strict=True)) for row in lists["probs"]]
    whole = pa.Table.from_pandas(lists.drop(columns="probs")).append_column("probs", [cells])
    pa.parquet.write_table(whole, written := io.BytesIO())
    return written.getvalue()


def folders() -> dict[str, dict[str, bytes]]:
    """Return name to the files of one sound folder a kind, each by its path in there.

    Of ``images`` the table is what is read, of the others the folder.
    """
    rows = table()
    parts = {
        half: {f"{half}/{name}": content for name, content in _saved(of_half).items()}
        for half, of_half in rows.groupby("split")
    }
    splits = json.dumps({"splits": ["calibration", "evaluation"]}).encode()
    chance = np.random.default_rng(0)
    images = {}
    for k, kind in enumerate(("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP")):
        pixels = Image.fromarray(chance.integers(0, 256, (9, 9, 3), np.uint8))
        pixels.save(content := io.BytesIO(), kind)
        images[f"pictures/{k}.{kind.lower()}"] = content.getvalue()
    names = list(images)
    named = rows.assign(file_name=[names[k % len(names)] for k in range(len(rows))])
    return {
        "saved": _saved(rows),
        "splits": {"dataset_dict.json": splits, **parts["calibration"], **parts["evaluation"]},
        "images": {"rows.csv": named.to_csv(index=False).encode(), **images},
    }


def _saved(rows: pd.DataFrame) -> dict[str, bytes]:
    """Return the files of a folder as ``save_to_disk`` of Hugging Face writes them."""
    names = sorted(set(table()["label"]))
    numbered = rows.assign(label=[names.index(label) for label in rows["label"]])
    whole = pa.Table.from_pandas(numbered, preserve_index=False)
    kinds = {"info": {"features": {"label": {"names": names, "_type": "ClassLabel"}}}}
    whole = whole.replace_schema_metadata({"huggingface": json.dumps(kinds)})
    half = len(whole) // 2
    parts = {}
    for k, part in enumerate((whole[:half], whole[half:])):
        with pa.ipc.new_stream(content := io.BytesIO(), whole.schema) as stream:
            stream.write_table(part, _PART)
        parts[f"data-{k:05}-of-00002.arrow"] = content.getvalue()
    state = {"_data_files": [{"filename": name} for name in parts]}
    return {"state.json": json.dumps(state).encode(), **parts}


def _database(rows: pd.DataFrame) -> bytes:
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("PRAGMA page_size = 1024")
        rows.to_sql("rows", database, index=False)
        return database.serialize()


def _duckdb(rows: pd.DataFrame) -> bytes:
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "rows.duckdb"
        # (Small blocks, or it would be mostly empty, and so would be what is damaged.)
        with closing(duckdb.connect()) as database:
            database.execute(f"ATTACH '{place}' AS small (BLOCK_SIZE 16384)")
            database.from_df(rows).create("small.rows")
        return place.read_bytes()


def _samples(rows: pd.DataFrame) -> list[dict[str, object]]:
    """Return the samples of a log of answers, as Inspect writes them."""
    return [
        {
            "id": k,
            "epoch": 1,
            "input": [{"content": f"question {k}"}],
            "target": "x",
            "scores": {
                "match": {
                    "value": "CI"[k % 2],
                    "answer": "x",
                    "metadata": {"confidence": confidence},
                }
            },
            "metadata": {"site": site},
        }
        for k, (confidence, site) in enumerate(zip(rows["p_cat"], rows["site"], strict=True))
    ]


def _header(rows: pd.DataFrame) -> dict[str, object]:
    """Return what the header of such a log says of its samples."""
    return {
        "status": "success",
        "results": {"total_samples": len(rows), "completed_samples": len(rows)},
    }


def _log(rows: pd.DataFrame) -> bytes:
    """Return a log of answers as Inspect packs it."""
    with zipfile.ZipFile(content := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        for k, sample in enumerate(samples := _samples(rows)):
            archive.writestr(f"samples/{k}_epoch_1.json", json.dumps(sample))
        archive.writestr("summaries.json", json.dumps(samples))
        archive.writestr("header.json", json.dumps(_header(rows)))
    return content.getvalue()


def _choices(rows: pd.DataFrame) -> bytes:
    """Return a sample log of lm-evaluation-harness: log-likelihoods of choices."""
    likelihoods = np.log(rows[["p_cat", "p_dog", "p_emu"]]).to_numpy().tolist()
    lines = [
        {
            "doc_id": k,
            "doc": {"query": f"question {k}", "site": site},
            "target": str(k % 3),
            "arguments": [["question", "answer"]] * 3,
            "resps": [[[x, False]] for x in row],
            "filtered_resps": [[x, False] for x in row],
        }
        for k, (row, site) in enumerate(zip(likelihoods, rows["site"], strict=True))
    ]
    return "\n".join(map(json.dumps, lines)).encode()


def _answers(rows: pd.DataFrame) -> bytes:
    """Return answers with confidences in words and per cent, texts and weights of rows."""
    said = ["almost certain", "85%", "likely", "40%"]
    answers = pd.DataFrame(
        {
            "question": [f"what is {site} of {k}?" for k, site in enumerate(rows["site"])],
            "confidence": [said[k % 4] for k in range(len(rows))],
            "correct": [int(k % 3 > 0) for k in range(len(rows))],
            "sample_weight": rows["age"] / 10,
            "f_0": rows["f_0"],
        }
    )
    return answers.to_csv(index=False).encode()


def _with_images(rows: pd.DataFrame) -> bytes:
    """Return rows with a column of encoded images, as datasets of Hugging Face have it."""
    Image.fromarray(np.zeros((4, 4, 3), np.uint8)).save(picture := io.BytesIO(), "PNG")
    images = [{"bytes": picture.getvalue(), "path": None}] * len(rows)
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    whole = pa.Table.from_pandas(rows).append_column("image", pa.array(images, kind))
    pa.parquet.write_table(whole, content := io.BytesIO())
    return content.getvalue()
