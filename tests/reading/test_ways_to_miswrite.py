"""Ways to write a log wrongly, one or two at once: none changes what is read without a word.

Each is compared with the sound log; the sentences of single ways are in test_doubts.
"""

import io
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from lore_core.data.validation import InputError
from lore_core.reading import Reading, read
from lore_core.reading.reading_report import NO_FEATURES

N = 240
Way = Callable[[pd.DataFrame], "pd.DataFrame | str"]


def sound() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(N, 3))
    scores = np.exp(3 * z + rng.normal(size=(N, 3)))
    p = (scores / scores.sum(axis=1, keepdims=True)).round(6)
    p[:, 2] = (1 - p[:, :2].sum(axis=1)).round(6)
    p = np.clip(p, 0, 1)
    label = np.array([rng.choice(3, p=row / row.sum()) for row in p])
    return pd.DataFrame(
        {
            "row_id": [f"case-{k:03d}" for k in range(N)],
            "label": np.array(["ash", "elm", "oak"])[label],
            **{f"p_{name}": p[:, k] for k, name in enumerate(("ash", "elm", "oak"))},
            "f_0": z[:, 0].round(4),
            "f_1": z[:, 1].round(4),
            "site": np.where(rng.random(N) < 0.5, "north", "south"),
            "split": np.where(np.arange(N) % 2, "calibration", "evaluation"),
        }
    )


P = ["p_ash", "p_elm", "p_oak"]


def cell(column: str, value: object, row: int = 7) -> Way:
    def way(rows: pd.DataFrame) -> pd.DataFrame:
        rows[column] = rows[column].astype(object)
        rows.loc[row, column] = value
        return rows

    return way


def column(name: str, made: Callable[[pd.Series], object]) -> Way:
    return lambda rows: rows.assign(**{name: made(rows[name])})


def every(made: Callable[[pd.Series], object]) -> Way:
    return lambda rows: rows.assign(
        **{name: made(rows[name]) for name in rows if name in (*P, "p")}
    )


def named(names: dict[str, str]) -> Way:
    return lambda rows: rows.rename(columns=names)


def text(edit: Callable[[str], str]) -> Way:
    return lambda rows: edit(rows.to_csv(index=False))


def moved_by_a_field(content: str) -> str:
    head, *lines = content.splitlines()
    return "\n".join([head, *(f"{line},1" for line in lines)])


THREE: dict[str, Way] = {
    "a probability is text": cell("p_elm", "about a half"),
    "a probability is missing": cell("p_elm", None),
    "a probability is n/a": cell("p_elm", "n/a"),
    "a probability is infinite": cell("p_elm", "inf"),
    "a probability is negative": cell("p_elm", -0.2),
    "a probability has a comma": cell("p_elm", "0,25"),
    "a probability has a percent sign": cell("p_elm", "25%"),
    "a probability is in hundredths": cell("p_elm", 25.0),
    "a probability is a date": cell("p_elm", "2024-01-01"),
    "a probability is an error of a spreadsheet": cell("p_elm", "#DIV/0!"),
    "all probabilities in hundredths": every(lambda x: (100 * x).round(4)),
    "all probabilities with a percent sign": every(lambda x: (100 * x).map("{:.2f}%".format)),
    "all probabilities as text with a comma": every(
        lambda x: x.map(lambda value: f"{value:.4f}".replace(".", ","))
    ),
    "one column of probabilities in hundredths": column("p_elm", lambda x: 100 * x),
    "one column of probabilities is text": column("p_elm", lambda x: x.map("{:.3f}?".format)),
    "one column of probabilities left out": lambda rows: rows.drop(columns="p_elm"),
    "two columns of probabilities left out": lambda rows: rows.drop(columns=["p_elm", "p_oak"]),
    "a column of probabilities twice": lambda rows: pd.concat([rows, rows[["p_elm"]]], axis=1),
    "probabilities in logs": every(lambda x: np.log(np.maximum(x, 1e-9))),
    "probabilities from 0 to 255": every(lambda x: (255 * x).round()),
    "probabilities that sum to 2": every(lambda x: 2 * x),
    "probabilities exchanged between two classes": named({"p_ash": "p_elm", "p_elm": "p_ash"}),
    "probabilities in a circle": named({"p_ash": "p_elm", "p_elm": "p_oak", "p_oak": "p_ash"}),
    "labels from 1": column("label", lambda x: x.map({"ash": 1, "elm": 2, "oak": 3})),
    "labels from 0": column("label", lambda x: x.map({"ash": 0, "elm": 1, "oak": 2})),
    "labels from 0, backwards": column("label", lambda x: x.map({"ash": 2, "elm": 1, "oak": 0})),
    "labels with blanks": column("label", lambda x: " " + x + " "),
    "labels in capitals": column("label", lambda x: x.str.upper()),
    "labels as fractions": column("label", lambda x: x.map({"ash": 0.5, "elm": 1.5, "oak": 2})),
    "a label of no class": cell("label", "fir"),
    "a label left out": cell("label", None),
    "half of the labels left out": column("label", lambda x: x.where(x.index % 2 == 0)),
    "all labels left out": column("label", lambda x: None),
    "all labels alike": column("label", lambda x: "elm"),
    "the label column left out": lambda rows: rows.drop(columns="label"),
    "the label column called otherwise": named({"label": "species"}),
    "two columns of labels": lambda rows: rows.assign(y_true=rows["label"].to_numpy()[::-1]),
    "labels in another order of rows": column("label", lambda x: np.roll(x, 1)),
    "a feature is text": cell("f_1", "unknown"),
    "a feature is missing": cell("f_1", None),
    "a feature with thousands separators": column(
        "f_1", lambda x: x.abs().map("1,{:07.3f}".format)
    ),
    "a feature that never varies": column("f_1", lambda x: 1.0),
    "a feature that numbers the rows": lambda rows: rows.assign(f_1=np.arange(N)),
    "a feature of enormous size": column("f_1", lambda x: x * 1e300),
    "the features left out": lambda rows: rows.drop(columns=["f_0", "f_1"]),
    "a word for no split": cell("split", "later"),
    "no split in one row": cell("split", None),
    "all rows for calibration": column("split", lambda x: "calibration"),
    "the first half copied into the second": lambda rows: pd.concat(
        [rows.iloc[: N // 2].assign(split=name) for name in ("calibration", "evaluation")]
    ),
    "every row twice, in both halves": lambda rows: pd.concat(
        [rows.assign(split=name) for name in ("calibration", "evaluation")]
    ),
    "row names twice": lambda rows: pd.concat(
        [
            rows.iloc[: N // 2].assign(split="calibration"),
            rows.iloc[: N // 2].assign(split="evaluation", f_0=lambda r: r["f_0"] + 1e-3),
        ]
    ),
    "weights of rows": lambda rows: rows.assign(sample_weight=1.0 + np.arange(N) % 3),
    "one value more than the header names": text(moved_by_a_field),
    "one value more in one line": text(lambda s: s.replace("case-007,", "case-007,x,")),
    "no header": text(lambda s: s.split("\n", 1)[1]),
    "the header twice": text(lambda s: s.split("\n", 1)[0] + "\n" + s),
    "the header again in the middle": text(
        lambda s: s.replace("case-100", s.split("\n", 1)[0] + "\ncase-100")
    ),
    "a quote that does not end": text(lambda s: s.replace("case-007", '"case-007')),
    "cut in the middle of a line": text(lambda s: s[: len(s) // 2]),
    "a line of totals at the end": text(lambda s: s + "total,,80,80,80,,,,\n"),
    "empty lines": text(lambda s: s.replace("\n", "\n\n")),
    "semicolons": text(lambda s: s.replace(",", ";")),
}


def written(rows: pd.DataFrame, *ways: Way) -> io.BytesIO | None:
    """Return the file, written in these ways one after the other; None where they do not go."""
    made: pd.DataFrame | str = rows
    for way in ways:
        if isinstance(made, str):
            return None
        try:
            made = way(made)
        except (KeyError, TypeError, ValueError, AttributeError):
            return None
    content = made if isinstance(made, str) else made.to_csv(index=False)
    file = io.BytesIO(content.encode())
    file.name = "log.csv"
    return file


def is_as_meant(found: Reading, meant: Reading) -> bool:
    one, other = found.dataset, meant.dataset
    same = len(one) == len(other) and one.n_classes == other.n_classes
    same = same and (one.features is None) == (other.features is None)
    return bool(
        same
        and np.allclose(one.probabilities, other.probabilities, atol=1e-3)
        and np.array_equal(one.labels, other.labels)
        and (one.features is None or np.allclose(one.features, other.features))
        and np.array_equal(one.split, other.split)
    )


def outcome(rows: pd.DataFrame, *ways: Way) -> str:
    """Refused, said, read as meant, or silent; impossible where two ways do not go together."""
    file, meant = written(rows.copy(), *ways), read(written(rows.copy()))
    if file is None:
        return "impossible"
    try:
        found = read(file)
    except InputError as error:
        return f"refused: {error}"
    told, known = found.report, meant.report
    news = {*told.notes, *told.warnings, *told.dropped} - {*known.notes, *known.warnings}
    if NO_FEATURES in told.facts:
        news.add(NO_FEATURES)
    if news:
        return f"said: {sorted(news)}"
    return "as meant" if is_as_meant(found, meant) else "silent"


HARMLESS = {
    "labels from 1", "labels from 0", "labels with blanks", "labels in capitals", "empty lines",
    "semicolons",
}  # fmt: skip


@pytest.mark.parametrize("name", THREE)
def test_none_is_silent(name):
    found = outcome(sound(), THREE[name])
    assert "\n" not in found
    assert found.partition(":")[0] in (
        ("as meant", "said") if name in HARMLESS else ("refused", "said")
    )


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.sampled_from(sorted(THREE)), st.sampled_from(sorted(THREE)))
def test_two_at_once(one, other):
    assert outcome(sound(), THREE[one], THREE[other]) != "silent", (one, other)


def test_labels_written_twice_alike_need_no_word():
    rows = sound().assign(class_label=lambda r: r["label"].map({"ash": 0, "elm": 1, "oak": 2}))
    assert outcome(rows) == "as meant"
    assert not [note for note in read(written(rows)).report.notes if "class_label" in note]
