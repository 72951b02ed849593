import numpy as np
import pandas as pd
import pytest

import lore_core as lore
from lore_core import reading

N = 200
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, N)
P = np.clip(0.3 + 0.4 * Y + RNG.normal(0, 0.2, N), 0.01, 0.99)
F = RNG.normal(size=(N, 2))
Y3 = RNG.integers(0, 3, N)
P3 = RNG.dirichlet([1, 1, 1], N) * 0.5
P3[np.arange(N), Y3] += 0.5
SPLIT = np.where(np.arange(N) < N // 2, "calibration", "evaluation")
FIRST, SECOND = slice(0, N // 2), slice(N // 2, N)


def two(**changed):
    columns = {"label": Y, "p_0": 1 - P, "p_1": P, "f_0": F[:, 0], "f_1": F[:, 1], "split": SPLIT}
    columns |= changed
    return pd.DataFrame({name: v for name, v in columns.items() if v is not None})


def three(names, labels=Y3):
    family = {f"p_{name}": P3[:, k] for k, name in enumerate(names)}
    return pd.DataFrame({"label": labels, **family, "split": SPLIT})


def halves(first, second, names=("m_cal.csv", "m_test.csv")):
    return dict(zip(names, (first, second), strict=True))


def npz(rows, **more):
    return {"probs": np.c_[1 - P, P][rows], "labels": Y[rows], "features": F[rows], **more}


PLAIN = two(split=None)
REFUSED = {
    "percent signs in part": (
        two(p_0=[f"{100 * p:.1f}%" if p > 0.5 else p for p in 1 - P]), r"'p_0'.*'\d+\.\d%'.*line",
    ),
    "divided by 100 twice": (two(p_0=None, p_1=None, p=P / 100), "divided by 100"),
    "P(y = 0) as p": (two(p_0=None, p_1=None, p=1 - P), "other way round"),
    "a lone p_no": (two(p_0=None, p_1=None, p_no=1 - P), "other way round"),
    "positive name first in the alphabet": (
        two(label=np.where(Y == 1, "churn", "stay"), p_0=None, p_1=None, p=P),
        "other way round.*class_names",
    ),
    "columns exchanged": (two(p_0=P, p_1=1 - P), "other way round"),
    "p_value for a probability": (two(p_0=None, p_1=None, p_value=P), "no column of probabilities"),
    "a class left out": (three("abc", np.array(list("abc"))[Y3]).drop(columns="p_c"), "sum to 1"),
    "labels off by one, in a circle": (three("012", (Y3 + 1) % 3), "other classes.*instead of"),
    "class_names in another order": (
        {"m.npz": {"probs": P3, "labels": np.array(list("abc"))[Y3], "class_names": list("bca")}},
        "stood for other classes",
    ),
    "a class called NA": (
        three(("NA", "EU", "AS"), np.array(["NA", "EU", "AS"])[Y3]), "'NA'.*told apart",
    ),
    "labels of 17 digits": (
        three([10**16 + k for k in (1, 2, 3)], 10**16 + 1 + Y3), "numbers of 15 digits or fewer",
    ),
    "halves that overlap": (halves(PLAIN[:150], PLAIN[100:]), "50 calibration rows.*equal"),
    "copies on either side of 0": (
        halves(*(PLAIN.assign(f_0=F[:, 0].clip(0) + tiny) for tiny in (1e-9, -1e-9))),
        "200 calibration rows.*nearly equal",
    ),
    "copies across a split": (
        pd.concat([two(), two()[:40].assign(split="evaluation")]), "40 calibration rows.*equal",
    ),
    "the same names of rows": (
        halves(PLAIN.assign(id=np.arange(N)), PLAIN.assign(id=np.arange(N), f_0=F[:, 0] + 1e-3)),
        "200 calibration rows.*same 'id'",
    ),
    "classes in another order in one half": (
        {"m_cal.npz": npz(FIRST), "m_test.npz": npz(SECOND, probs=np.c_[P, 1 - P][SECOND])},
        "of the evaluation rows, the probabilities fit the labels better the other way round",
    ),
    "sorted rows": ({"m.npz": {"probs": -np.sort(-P3), "labels": Y3}}, "fall from '0' to '2'"),
    "features scaled in one half": (
        {"m_cal.npz": npz(FIRST), "m_test.npz": npz(SECOND, features=1000 * F[SECOND])},
        "feature columns are distributed alike in both halves, but on another scale",
    ),
    "features reversed in one half": (
        {"m_cal.npz": npz(FIRST, features=F[FIRST] + [0, 4]),
         "m_test.npz": npz(SECOND, features=(F[SECOND] + [0, 4])[:, ::-1])},
        "2 feature columns of the evaluation rows are distributed as others",
    ),
    "nearly the same rows": (
        halves(PLAIN, PLAIN.assign(f_0=F[:, 0] + 1e-4, f_1=F[:, 1] - 1e-4)), "are nearly equal",
    ),
    "a small half with exchanged columns": (
        halves(PLAIN[:160], two(p_0=P, p_1=1 - P, split=None)[160:]), "of the evaluation rows",
    ),
    "classes that differ in zeros": (
        two(label=np.array(["7", "007"])[Y], p_0=None, p_1=None, p=P), "'007' at row . .line",
    ),
    "a number with thousands": (
        two(f_0=[f"{1000 * abs(v) + 1000:,.1f}" for v in F[:, 0]]), r"'f_0'.*numbers only.*line 2",
    ),
    "features of other names": (
        {"m_cal.npz": npz(FIRST, feature_names=["age", "pay"]),
         "m_test.npz": npz(SECOND, feature_names=["age", "sex"])},
        "'pay' is in the first only",
    ),
}  # fmt: skip
SAID = {
    "a score": (two(p_0=None, p_1=None, score=P), "'score'.*probability of class 1"),
    "two models": (
        halves(PLAIN[:100], PLAIN[100:], ("resnet_cal.csv", "vgg_test.csv")), "resnet.*vgg",
    ),
    "a split within _cal": ({"m_cal.csv": two()}, "tells the split"),
    "names in one file only": (
        {"m_cal.npz": npz(FIRST, class_names=["neg", "pos"]), "m_test.npz": npz(SECOND)},
        "Only 'm_cal.npz' names the classes",
    ),
    "a feature that never varies": (two(f_2=np.full(N, 7.0)), "same in every row: feature 2"),
    "a feature that numbers the rows": (two(f_2=np.arange(N)), "numbers the rows: feature 2"),
    "calibration rows of the training": (
        two(p_1=np.where(SPLIT == "calibration", np.where(Y == 1, 0.999, 0.001), P),
            p_0=np.where(SPLIT == "calibration", np.where(Y == 1, 0.001, 0.999), 1 - P)),
        "Calibration rows are better predicted",
    ),
    "features in another order": (
        {"m_cal.npz": npz(FIRST, feature_names=["a", "b"]),
         "m_test.npz": npz(SECOND, features=F[SECOND][:, ::-1], feature_names=["b", "a"])},
        "put in one order",
    ),
    "yes and no for 1 and 0": (
        two(p_0=None, p_1=None, p_yes=P, p_no=1 - P), "label 1 was read as 'yes'",
    ),
}  # fmt: skip
RIGHT = {
    "numbered from 1, the last absent": three(("01", "02", "03"), np.minimum(Y3 + 1, 2)),
    "names that differ in zeros": three(("7", "07", "007"), np.array(["7", "07", "007"])[Y3]),
    "floats for names": three(("1.0", "2.0", "3.0"), Y3 + 1),
}


def write(tables, folder):
    tables = tables if isinstance(tables, dict) else {"table.csv": tables}
    for name, table in tables.items():
        if isinstance(table, dict):
            np.savez(folder / name, **table)
        else:
            table.to_csv(folder / name, index=False)
    return [folder / name for name in tables]


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case, tmp_path):
    tables, said = REFUSED[case]
    with pytest.raises(lore.InputError, match=f"(?s){said}") as error:
        reading.read(write(tables, tmp_path))
    assert str(error.value).endswith(".")
    if isinstance(error.value, reading.DoubtfulDataError):
        accepted = reading.read(write(tables, tmp_path), mapping={"accept": error.value.check})
        flagged = [check.name for check in accepted.report.checks if check.level == "refuse"]
        assert flagged == [error.value.check]


@pytest.mark.parametrize("case", SAID)
def test_said(case, tmp_path):
    tables, said = SAID[case]
    report = reading.read(write(tables, tmp_path)).report
    assert pd.Series(report.sentences).str.contains(said).sum() == 1


@pytest.mark.parametrize("case", RIGHT)
def test_read_as_meant(case, tmp_path):
    data = lore.load(write(RIGHT[case], tmp_path))
    assert data.outcome.mean() > 0.6


@pytest.mark.parametrize("n", [25, 300, 3000])
@pytest.mark.parametrize("k", [2, 3, 10])
def test_honest_data_are_never_refused(n, k):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        skill = rng.choice([0.0, 0.1, 0.5])
        rare = rng.dirichlet(np.full(k, rng.choice([0.3, 5.0])))
        labels = rng.choice(k, n, p=rare)
        probabilities = (1 - skill) * rng.dirichlet(30 * rare + 0.01, n)
        probabilities[np.arange(n), labels] += skill
        if seed % 3 == 0:
            probabilities = np.round(probabilities, 1) + 0.01
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        split = rng.permutation(np.where(np.arange(n) < n // 2, "calibration", "evaluation"))
        features = rng.integers(0, 3, (n, 2)) if seed % 2 else None
        data = lore.Dataset(probabilities, labels, features=features, split=split)
        levels = {check.name: check.level for check in reading.checks.check_data(data)}
        assert levels["class order"] == levels.get("features", "fine") == "fine"
        assert levels.get("fit of the halves", "fine") == "fine"


def test_an_unknown_check_cannot_be_accepted(tmp_path):
    with pytest.raises(lore.InputError, match="'accept' must be one of class order"):
        reading.read(write(two(), tmp_path), mapping={"accept": "everything"})
