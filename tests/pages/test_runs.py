import dataclasses
import functools
import io
import time

import numpy as np
import pandas as pd
import pytest

from lore_core import LoRe, NoRecalibration, TemperatureScaling, compare_runs, load_runs, save_npz
from lore_core.comparison import conclude_runs
from lore_core.data.number_text import unbroken
from lore_core.metrics.catalogue import MAX_GROUPWISE
from pages.runs import request

PATIENCE = 120


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch):
    monkeypatch.setattr(request, "compare_runs", functools.partial(compare_runs, n_jobs=1))


def run_of(made, seed, groups=True, **options):
    rows = made(n=240, n_classes=2, seed=seed, **options)
    if not groups:
        return rows
    names = np.array(["north", "south & co"])[np.arange(240) % 2]
    frame = pd.DataFrame({"site": names, "shift": np.where(np.arange(240) % 3, "day", "night")})
    return dataclasses.replace(rows, groups=frame)


def write(folder, dataset, name):
    for split, ending in (("calibration", "cal"), ("evaluation", "test")):
        save_npz(dataset.rows(dataset.in_split(split)), folder / f"{name}_{ending}.npz")


@pytest.fixture
def folder(tmp_path, made):
    for seed in range(3):
        write(tmp_path, run_of(made, seed), f"seed{seed}")
    return tmp_path


@pytest.fixture
def runs_page(open_page):
    def open_(directory=None, **settings):
        page = open_page("runs", **settings)
        if not any(item.key == "runs_from" for item in page.app.button_group):
            pytest.skip("paths are offered only on the reader's own machine")
        if directory is not None:
            page.set("runs_path", str(directory))
        return page

    return open_


def choose(page, **values):
    for key, value in values.items():
        page.set(key, value)
    return page


def compare(page):
    page.press("Compare")
    end = time.monotonic() + PATIENCE
    while not page.figures and not page.errors:
        assert time.monotonic() < end, page.text
        time.sleep(0.2)
        page.run()
    return page


SETTINGS = {
    "runs_map": "PCA 2-D",
    "runs_min_group": 20,
    "runs_methods_True": ["No recalibration", "Temperature scaling", "LoRe"],
}


def test_the_sample_can_be_compared(runs_page):
    page = runs_page().set("runs_from", "Sample")
    assert "10 runs" in page.text
    assert "1,000 calibration + 1,000 evaluation rows" in page.text
    assert any(button.label == "Compare" for button in page.app.button)
    assert page.errors == []


def test_the_headline_and_the_table_are_compare_runs(runs_page, folder, open_page):
    page = choose(runs_page(folder, gamma=1.0, bins=5), **SETTINGS)
    assert "3 runs" in page.text
    assert "120 calibration + 120 evaluation rows" in page.text
    compare(page)
    assert page.errors == []
    datasets = load_runs(folder)
    expected = compare_runs(
        datasets,
        [NoRecalibration(), TemperatureScaling(), LoRe(1.0, 5)],
        feature_map="pca-2",
        gamma=1.0,
        n_bins=5,
        group_column="site",
        min_group_size=20,
        n_jobs=1,
    )
    shown = page.tables[0]
    for method in expected.table.index:
        for metric, scale, digits in (("ECE", 100, 1), (MAX_GROUPWISE, 100, 1), ("NLL", 1, 3)):
            mean = expected.table.loc[method, metric] * scale
            sd = expected.sd.loc[method, metric] * scale
            cell = shown.loc[method, metric]
            assert cell.removesuffix(" ★") == f"{mean:.{digits}f} ± {sd:.{digits}f}"
    best = expected.best()
    for metric in shown:
        starred = shown.index[shown[metric].str.endswith("★")].tolist()
        assert starred == [method for name, method in best.items() if name == metric]
    headline = page.app.info[0].value.replace("\\", "")
    assert headline == unbroken(conclude_runs(expected, "max group gap").sentence)
    link = page.app.query_params["runs"]
    other = open_page("runs", runs=link, runs_tab="Worst group")
    correlation = other.tables[0].set_index("metric")["correlation"]
    assert correlation["ECE"] == pytest.approx(expected.correlation()["ECE"], abs=0.005)
    assert other.figures == ["runs_strip", "runs_scatter"]
    sure = open_page("runs", runs=link, runs_tab="How sure is this?")
    assert "of 20 evaluation rows or more" in sure.text


def test_a_link_to_a_comparison_that_is_gone(runs_page, open_page):
    gone = open_page("runs", runs="0" * 20)
    assert "no longer kept here" in gone.text
    assert "runs" not in gone.app.query_params
    gone.run()
    assert "no longer kept here" not in gone.text


def test_global_methods_only(runs_page, tmp_path, made):
    for seed in range(2):
        write(tmp_path, run_of(made, seed, groups=False, n_features=0), f"r{seed}")
    page = compare(runs_page(tmp_path))
    assert "name no groups" in page.text
    assert "LoRe" not in page.tables[0].index
    assert MAX_GROUPWISE not in page.tables[0]
    assert page.figures == ["runs_strip"]


def test_uploads(runs_page, made):
    page = runs_page().set("runs_from", "Upload")
    files = []
    for seed in range(2):
        buffer = io.BytesIO()
        rows = run_of(made, seed)
        np.savez(
            buffer,
            probs=rows.probabilities,
            labels=rows.labels,
            features=rows.features,
            split=rows.split,
        )
        files.append((f"whole{seed}.npz", buffer.getvalue(), "application/octet-stream"))
    page.app.file_uploader(key="runs_upload").set_value(files)
    page.run()
    assert "2 runs" in page.text
    compare(choose(page, runs_map="none"))
    assert page.errors == []
    assert len(page.tables[0]) == 8


@pytest.mark.parametrize("kind", ["missing", "half", "unsplit"])
def test_bad_input_is_one_sentence(runs_page, folder, made, kind):
    whole = made(n=60, n_classes=2, calibration=None)
    given = folder
    if kind == "missing":
        given = folder / "nowhere"
    elif kind == "half":
        (folder / "seed1_test.npz").unlink()
    else:
        given = folder / "single"
        given.mkdir()
        save_npz(whole, given / "one.npz")
    page = runs_page(given)
    (sentence,) = page.errors
    assert "Traceback" not in sentence
    assert {
        "missing": "No such file",
        "half": "has no test file",
        "unsplit": "no calibration rows",
    }[kind] in sentence.replace("\\", "")


def test_names_of_directories_and_runs_are_text(runs_page, tmp_path, made):
    """A picture in a name would be fetched from wherever it says."""
    folder = tmp_path / "![d](https:host) **x**"
    folder.mkdir()
    for seed in range(2):
        write(folder, run_of(made, seed), f"![run{seed}](https:host)")
    page = runs_page(folder)
    compare(page)
    shown = [item.value for item in (*page.app.subheader, *page.app.caption, *page.app.markdown)]
    assert any("host" in text for text in shown)
    assert not [text for text in shown if "![" in text.replace("\\!", "").replace("\\[", "")]
