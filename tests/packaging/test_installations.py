import os
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lore_core as lore
from lore_core.data.errors import EXTRA_OF, MissingPackageError, require

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]

CORE_ONLY = """
import sys
from importlib.machinery import PathFinder

class CoreOnly(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] in {hidden}:
            return None
        return PathFinder.find_spec(name, path, target)

sys.meta_path[:] = [CoreOnly if finder is PathFinder else finder for finder in sys.meta_path]
"""
HIDDEN = {*EXTRA_OF, "IPython", "betacal", "pynndescent"}

WORK = """
import warnings
warnings.simplefilter("error")
import lore_core as lore
from lore_core.cli import main

data = lore.load("data.npz")
calibration = lore.embed(data.features).rows(data.in_split("calibration"))
lore.LoRe().fit(data.calibration, calibration).save("m.lore")
for line in (
    "--help", "metrics data.npz", "landscape data.npz -o l.csv", "subgroups data.npz",
    "curve data.npz -o c.json",
    "variables data.npz", "compare data.npz", "fairness data.npz",
    "decisions data.npz -o d.parquet",
    "recalibrate --model m.lore new.csv -o out.csv",
):
    assert main(line.split()) == 0, line
from lore_core import *
"""

ASKING = """
import lore_core as lore
from lore_core.cli import main

data = lore.load("data.npz")
for call in (
    lambda: lore.launch(data),
    lambda: lore.embed(data.features, "tsne"),
    lambda: lore.embed(data.features, "umap"),
    lambda: lore.figures.reliability_figure(lore.reliability_table([0.7], [1]), rows="").figure,
    lambda: lore.figures.exported(
        lore.figures.reliability_figure(lore.reliability_table([0.7], [1]), rows=""), "pdf"
    ),
    lambda: lore.write_report(data, "report"),
):
    try:
        call()
    except lore.InputError as error:
        assert isinstance(error, ImportError)
        print(error)
for line in ("app data.npz", "report data.npz -o report", "curve data.npz -o curve.svg"):
    assert main(line.split()) == 1, line
"""

NUMPY_ALONE = """
import sys
import numpy as np
from lore_core.shipping import Predictor

made = Predictor.load(sys.argv[1]).predict(*np.load(sys.argv[2]).values())
np.save(sys.argv[3], made)
import lore_core as lore
from lore_core import shipping
assert shipping.Predictor is Predictor and lore.__version__
for name in ("LoRe", "wilson_interval"):
    try:
        getattr(lore, name)
    except ModuleNotFoundError as error:
        print(error)
extra = {name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names
print(*sorted(name for name in extra if not name.startswith("_")))
"""


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(400, 5))
    return lore.Dataset(
        rng.dirichlet([4, 1, 1], 400),
        rng.integers(0, 3, 400),
        features,
        groups=pd.DataFrame({"half": np.where(features[:, 0] > 0, "a", "b")}),
        split=np.where(np.arange(400) % 2, "calibration", "evaluation"),
    )


def run(code, folder, *, python=sys.executable, arguments=(), path=str(ROOT)):
    command, environment = [python, "-c", code, *arguments], {**os.environ, "PYTHONPATH": path}
    options = {"cwd": folder, "env": environment, "capture_output": True, "text": True}
    done = subprocess.run(command, check=False, **options)
    assert done.returncode == 0, done.stderr
    return done


def test_requirements_are_the_core_and_all_extras_of_the_dashboard():
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    listed = [line for line in lines if not line.startswith("#")]
    wanted, waiting = {*PROJECT["dependencies"]}, [*EXTRAS["all"]]
    while waiting:
        item = waiting.pop()
        if own := re.fullmatch(r"lore-lens\[(.+)\]", item):
            waiting += [part for name in own[1].split(",") for part in EXTRAS[name]]
        else:
            wanted.add(item)
    assert len(set(listed)) == len(listed)
    assert set(listed) == wanted


@pytest.mark.parametrize("module", EXTRA_OF)
def test_the_sentence_names_the_extra_that_brings_the_package(module):
    require("It", module)  # installed here
    said = str(MissingPackageError("It", module))
    package, extra = re.fullmatch(
        r"It needs the package '(.+)', which is not installed\. Install it with: "
        r'pip install "lore-lens\[(.+)\]"\.',
        said,
    ).groups()
    assert package in {re.split("[<>]", item)[0] for item in EXTRAS[extra]}


def test_the_core_alone_measures_recalibrates_and_saves(data, tmp_path):
    lore.save_npz(data, tmp_path / "data.npz")
    columns = {f"p_{k}": data.probabilities[:, k] for k in range(3)}
    columns |= {f"f_{k}": data.features[:, k] for k in range(5)}
    pd.DataFrame(columns).to_csv(tmp_path / "new.csv", index=False)
    run(CORE_ONLY.format(hidden=HIDDEN) + WORK, tmp_path)
    assert len(pd.read_csv(tmp_path / "out.csv")) == len(data)


def test_what_the_core_does_not_bring_is_asked_for_in_a_sentence(data, tmp_path):
    lore.save_npz(data, tmp_path / "data.npz")
    done = run(CORE_ONLY.format(hidden=HIDDEN) + ASKING, tmp_path)
    said = (done.stdout + done.stderr).splitlines()
    wanted = [
        ("The dashboard", "streamlit", "app"),
        ("A t-SNE map", "openTSNE", "maps"),
        ("A UMAP map", "umap-learn", "maps"),
        ("Drawing a figure", "plotly", "figures"),
        ("'lore_core.figures.exported'", "pillow", "figures"),
        ("A report", "plotly", "figures"),
        ("lore: The dashboard", "streamlit", "app"),
        ("lore: A report", "plotly", "figures"),
        ("lore: A figure", "plotly", "figures"),
    ]
    assert said == [
        f"{what} needs the package '{package}', which is not installed. Install it with: "
        f'pip install "lore-lens[{extra}]".'
        for what, package, extra in wanted
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.npz"]


def test_numpy_alone_applies_a_saved_recalibrator(data, tmp_path):
    """As after ``pip install numpy`` and ``pip install --no-deps lore-lens``."""
    maps = lore.embed(data.features)
    rows = {split: data.in_split(split) for split in ("calibration", "evaluation")}
    fitted = lore.LoRe().fit(data.calibration, maps.rows(rows["calibration"]))
    fitted.save(tmp_path / "m.lore")
    wanted = fitted.recalibrate(data.evaluation, maps.rows(rows["evaluation"])).probabilities
    evaluation = data.evaluation
    arrays = {"probabilities": evaluation.probabilities, "features": evaluation.features}
    np.savez(tmp_path / "new.npz", **arrays)
    venv.create(tmp_path / "env", with_pip=False, symlinks=True)
    (site,) = (tmp_path / "env" / "lib").glob("python*/site-packages")
    numpy = Path(np.__file__).parent
    for folder in (numpy, numpy.parent / "numpy.libs", ROOT / "lore_core"):
        if folder.exists():
            (site / folder.name).symlink_to(folder, target_is_directory=True)
    python, arguments = tmp_path / "env" / "bin" / "python", ("m.lore", "new.npz", "made.npy")
    done = run(NUMPY_ALONE, tmp_path, python=python, arguments=arguments, path="")

    made = np.load(tmp_path / "made.npy")
    assert np.abs(made - evaluation.probabilities).max() > 0.1
    np.testing.assert_allclose(made, wanted, rtol=1e-12, atol=1e-12)
    *sentences, modules = done.stdout.splitlines()
    assert modules == "lore_core numpy"
    assert all("pip install lore-lens." in sentence for sentence in sentences)
    assert len(sentences) == 2
