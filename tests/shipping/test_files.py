import signal
import subprocess
import sys
from contextlib import ExitStack

import numpy as np
import pandas as pd
import pytest

import lore_core as lore
from lore_core.cli import main
from lore_core.comparison import confidence_difference
from lore_core.metrics import answer_threshold, risk_curve
from lore_core.shipping import describe
from lore_core.shipping.files import recalibrate_file

CLASSES = ["p_ash", "p_birch", "p_cedar"]
KINDS = ["parquet", "csv"]


def table_of(rows):
    return pd.DataFrame(
        {
            "id": [f"{k:06d}" for k in range(len(rows))],
            "f_0": rows.features[:, 0],
            "p_cedar": rows.probabilities[:, 2],
            "p_ash": rows.probabilities[:, 0],
            "remark": ['says "no, thanks"' if k % 3 else "" for k in range(len(rows))],
            **{f"f_{k}": rows.features[:, k] for k in (4, 3, 2, 1)},
            "p_birch": rows.probabilities[:, 1],
            "region": rows.groups["region"],
        }
    )


def write(frame, path):
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, index=False, row_group_size=70)
    return path


def read(path):
    if path.suffix == ".csv":
        return pd.read_csv(path, dtype={"id": str}, keep_default_na=False)
    return pd.read_parquet(path)


@pytest.fixture(scope="module")
def model(calibration):
    local = lore.embed(calibration.features, "pca", 2)
    return lore.LoRe(0.3, 5).fit(calibration, local)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_below_the_threshold_are_marked(kind, calibration, new, tmp_path):
    method = lore.HistogramBinning(8).fit(calibration)
    before, after = method.recalibrate(calibration), method.recalibrate(new)
    curve = risk_curve(after.confidence, after.outcome, before.confidence)
    method.answer_threshold = answer_threshold(curve, 0.2)
    low = after.confidence < method.answer_threshold.confidence
    assert 0 < low.mean() < 1
    path, source = tmp_path / "m.lore", write(table_of(new), tmp_path / f"new.{kind}")
    method.save(path)
    shipped = lore.Predictor.load(path).answer_threshold
    assert shipped == method.answer_threshold
    np.testing.assert_array_equal(shipped.abstains(after.confidence), low)
    recalibrate_file(path, source, tmp_path / f"out.{kind}", suffix="_new")
    np.testing.assert_array_equal(read(tmp_path / f"out.{kind}")["abstain_new"], low)
    assert any(shipped.sentence in item.what for item in describe(path).held)
    assert method.without_rows().answer_threshold is None  # its confidences may differ
    assert method.fit(calibration).answer_threshold is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("chunk_rows", [1, 250, 10_000])
def test_the_same_as_in_memory(kind, chunk_rows, model, new, tmp_path):
    rows = new.rows(slice(0, 40)) if chunk_rows == 1 else new
    frame = table_of(rows)
    source = write(frame, tmp_path / f"new.{kind}")
    before = source.read_bytes()
    shares = []
    target, options = tmp_path / f"out.{kind}", {"progress": lambda share, _: shares.append(share)}
    assert recalibrate_file(model, source, target, chunk_rows=chunk_rows, **options) == len(rows)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    out = read(target)
    assert list(out) == [*frame, "confidence", "prediction"]
    untouched = [name for name in frame if name not in CLASSES]
    pd.testing.assert_frame_equal(out[untouched], read(source)[untouched])
    expected = lore.Predictor.load(model.to_bytes()).predict(rows.probabilities, rows.features)
    np.testing.assert_allclose(out[CLASSES].to_numpy(), expected, rtol=0, atol=1e-13)
    top = rows.probabilities.argmax(axis=1)
    np.testing.assert_array_equal(out["prediction"], np.array(rows.class_names)[top])
    np.testing.assert_allclose(out["confidence"], expected[np.arange(len(top)), top], atol=1e-13)
    assert source.read_bytes() == before
    assert sorted(item.name for item in tmp_path.iterdir()) == [f"new.{kind}", f"out.{kind}"]
    if chunk_rows == 250:
        recalibrate_file(model, source, target, suffix="_lore")
        out = read(target)
        added = [*(f"{name}_lore" for name in CLASSES), "confidence_lore", "prediction"]
        assert list(out) == [*frame, *added]
        np.testing.assert_array_equal(out["p_ash"], read(source)["p_ash"])


def test_one_column_of_two_classes(new, tmp_path):
    two = lore.Dataset(
        new.probabilities[:, 0], (new.labels == 0).astype(int), class_names=["no", "yes"]
    )
    model = lore.PlattScaling().fit(two)
    expected = model.recalibrate(two).probabilities[:, 1]
    for kind, name in (("csv", "p_yes"), ("parquet", "p_yes"), ("csv", "p")):
        source = write(pd.DataFrame({name: new.probabilities[:, 0]}), tmp_path / f"a.{kind}")
        recalibrate_file(model, source, tmp_path / f"b.{kind}")
        out = read(tmp_path / f"b.{kind}")
        np.testing.assert_allclose(out[name], expected, atol=1e-13)
        assert list(out) == [name, "confidence", "prediction"]
    # Beside a prediction a lone probability may be that one's.
    frame = pd.DataFrame({"p": two.confidence, "prediction": np.repeat(["no"], len(two))})
    with pytest.raises(lore.InputError, match="p_<class>"):
        recalibrate_file(model, write(frame, tmp_path / "a.csv"), tmp_path / "b.csv")


def test_confidence_and_prediction(calibration, new, tmp_path):
    model = lore.PlattScaling().fit(calibration)
    names = np.array(new.class_names)[new.predictions]
    frame = pd.DataFrame({"confidence": new.confidence, "prediction": names, "note": "x"})
    source = write(frame, tmp_path / "a.parquet")
    recalibrate_file(model, source, tmp_path / "b.parquet")
    out = read(tmp_path / "b.parquet")
    assert list(out) == ["confidence", "prediction", "note"]
    np.testing.assert_allclose(out["confidence"], model.recalibrate(new).confidence, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.assign(p_ash=t["p_ash"].where(t.index != 777)), "'p_ash' must be "),
        (lambda t: t.assign(f_3=t["f_3"].where(t.index != 777)), "'f_3' must be finite"),
        (lambda t: t.assign(p_ash=t["p_ash"] + (t.index == 777)), r"must lie in \[0, 1\]"),
        (lambda t: t.assign(p_ash=t["p_ash"] * np.where(t.index == 777, 0.5, 1)), "must sum to 1"),
        (
            lambda t: t.assign(prediction=np.where(t.index == 777, "oak", "ash")),
            "must be one of the classes 'ash', 'birch', 'cedar'; got 'oak'",
        ),
    ],
)
def test_bad_rows_are_told_by_number(kind, change, message, model, new, tmp_path):
    source = write(change(table_of(new)), tmp_path / f"new.{kind}")
    target = tmp_path / f"out.{kind}"
    target.write_bytes(b"what was there")
    with pytest.raises(lore.InputError, match=rf"'new.{kind}': .*{message}.*row 777\b"):
        recalibrate_file(model, source, target, chunk_rows=100)
    assert target.read_bytes() == b"what was there"
    assert len(list(tmp_path.iterdir())) == 2


def test_semicolons_and_a_byte_order_mark(calibration, new, tmp_path):
    model = lore.TemperatureScaling().fit(calibration)
    source, target = tmp_path / "new.csv", tmp_path / "out.csv"
    frame = table_of(new)[["id", *CLASSES, "remark"]]
    frame.to_csv(source, index=False, sep=";", encoding="utf-8-sig")
    recalibrate_file(model, source, target, chunk_rows=400)
    out = pd.read_csv(target, sep=";", dtype={"id": str}, keep_default_na=False)
    assert out["id"].equals(frame["id"].astype(out["id"].dtype))
    assert out["remark"].tolist() == frame["remark"].tolist()
    expected = model.recalibrate(new).probabilities
    np.testing.assert_allclose(out[CLASSES].to_numpy(), expected, atol=1e-13)


def test_bad_files(model, new, tmp_path):
    frame = table_of(new)
    fewer = write(frame.drop(columns=["f_1", "f_4"]), tmp_path / "fewer.csv")
    other = write(frame.rename(columns={"p_cedar": "p_oak"}), tmp_path / "other.parquet")
    good = write(frame, tmp_path / "good.csv")
    texts = frame["f_2"].astype(object).where(frame.index != 555, "n/a")
    text = write(frame.assign(f_2=texts), tmp_path / "text.csv")
    (tmp_path / "empty.csv").write_text(",".join(frame) + "\n")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 but not really")
    cases = [
        (fewer, "out.csv", "the 5 features .* no 'f_1', 'f_4'"),
        (other, "out.parquet", "for every class of the fit .* no 'p_cedar'"),
        (text, "out.csv", "'f_2' must hold numbers; got 'n/a' at row 555"),
        (good, "out.parquet", "'target' must be a .csv file like the source"),
        (good, "good.csv", "'target' must be another file"),
        (good, "no/out.csv", "the directory of .* must exist"),
        (tmp_path / "empty.csv", "out.csv", "has no rows"),
        (tmp_path / "bad.parquet", "out.parquet", "'bad.parquet' is damaged or no .parquet file"),
        (tmp_path / "gone.parquet", "out.parquet", "'gone.parquet' must be a file that exists"),
        (tmp_path / "x.npz", "out.npz", "must be a .parquet or .csv file"),
    ]
    for source, target, message in cases:
        with pytest.raises(lore.InputError, match=message):
            recalibrate_file(model, source, tmp_path / target, chunk_rows=100)
    assert not (tmp_path / "out.csv").exists()


SLOW = """
import signal, sys
from lore_core.shipping.files import recalibrate_file
# (What runs in the background of a shell inherits that Ctrl-C is ignored.)
signal.signal(signal.SIGINT, signal.default_int_handler)
print("ready", flush=True)
def progress(share, message):
    print(message, flush=True)
    signal.pause()
recalibrate_file(*sys.argv[1:4], chunk_rows=100, progress=progress)
"""


def killed(process, how):
    try:
        assert process.stdout.readline() == "ready\n"
        assert process.stdout.readline() == "100 rows recalibrated\n"
        process.send_signal(how)
        assert process.wait(10) != 0
    finally:
        process.kill()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_killed_half_way(how, model, new, tmp_path):
    model.save(tmp_path / "m.lore")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    known, targets = {"m.lore"}, [tmp_path / f"out.{kind}" for kind in KINDS]
    with ExitStack() as processes:
        started = []
        for target in targets:
            source = write(table_of(new), tmp_path / f"new{target.suffix}")
            target.write_bytes(b"what was there")
            command = [sys.executable, "-c", SLOW, str(tmp_path / "m.lore"), source, target]
            started.append(processes.enter_context(subprocess.Popen(command, **pipes)))
            known |= {source.name, target.name}
        for process in started:
            killed(process, how)
    assert [target.read_bytes() for target in targets] == [b"what was there"] * 2
    left = {item.name for item in tmp_path.iterdir()} - known
    # (Nobody can tidy up after SIGKILL; what stays is hidden and not the target.)
    assert [name[0] for name in left] == ["."] * 2 * (how == signal.SIGKILL)


def test_the_command(calibration, new, tmp_path, capsys):
    frame = table_of(calibration).assign(label=np.array(new.class_names)[calibration.labels])
    fit_on = write(frame, tmp_path / "cal.parquet")
    source = write(table_of(new), tmp_path / "new.csv")
    saved, out = tmp_path / "m.lore", tmp_path / "out.csv"
    for method in ("temperature", "lore"):
        options = ["--map", "pca-2", "--gamma", "0.3", "--bins", "5"]
        fit = ["recalibrate", "--fit", str(fit_on), "--method", method, *options]
        assert main([*fit, "--save", str(saved)]) == 0
        assert main(["recalibrate", "--model", str(saved), str(source), "-o", str(out)]) == 0
        local = lore.embed(calibration.features, "pca", 2)
        by_hand = lore.LoRe(0.3, 5).fit(calibration, local)
        if method == "temperature":
            by_hand = lore.TemperatureScaling().fit(calibration)
        expected = by_hand.recalibrate(new, local.transform(new.features)).probabilities
        # The file's probabilities were divided by their sums once more; T is found to 1e-6.
        np.testing.assert_allclose(read(out)[CLASSES].to_numpy(), expected, atol=1e-6)
    assert "Recalibrated 900 rows" in capsys.readouterr().out


def test_the_command_without_rows(calibration, new, tmp_path, capsys):
    both = pd.concat([table_of(calibration), table_of(new)]).assign(
        label=np.array(new.class_names)[np.concatenate([calibration.labels, new.labels])],
        split=["calibration"] * len(calibration) + ["evaluation"] * len(new),
    )
    source, saved = write(both, tmp_path / "both.parquet"), tmp_path / "m.lore"
    options = ["--method", "lore", "--map", "pca-2", "--gamma", "0.3", "--bins", "5"]
    fit = ["recalibrate", "--fit", str(source), *options, "--save", str(saved)]
    assert main(fit) == 0
    assert describe(saved).single_rows
    assert main([*fit, "--without-rows"]) == 0
    contents = describe(saved)
    assert not contents.single_rows
    out = capsys.readouterr().out
    assert contents.sentence in out
    data = lore.load(source)
    method = lore.LoRe(0.3, 5).fit(
        data.calibration, lore.embed(data.calibration.features, "pca", 2)
    )
    off = confidence_difference(method, lore.load_recalibrator(saved), data.evaluation)
    assert f"the confidences of 900 evaluation rows differ by {off.mean * 100:.1f} points" in out
    assert main(["recalibrate", "--describe", str(saved)]) == 0
    said = capsys.readouterr().out
    assert contents.sentence in said
    assert all(item.what in said for item in contents.held)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["new.csv", "-o", "out.csv"], "one of '--model' and '--fit' must be given"),
        (["--model", "m.lore", "new.csv"], "FILE and '--out' must be given together"),
        (["--fit", "demo"], "'--fit' needs '--save', '--out' or both"),
        (["--model", "m.lore", "--save", "n.lore"], "'--without-rows' and '--risk' go with"),
        (["--model", "m.lore", "--without-rows"], "'--without-rows' and '--risk' go with"),
        (["--describe", "gone.lore"], "'gone.lore' cannot be read"),
        (["--fit", "demo", "--save", "m.pkl"], "'--save' must be a .lore file"),
        (["--model", "gone.lore", "new.csv", "-o", "out.csv"], "'gone.lore' cannot be read"),
    ],
)
def test_the_command_misused(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["recalibrate", *arguments]) == 1
    assert message in capsys.readouterr().err
