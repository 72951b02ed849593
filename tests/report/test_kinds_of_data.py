import dataclasses
import json

import numpy as np
import pytest

import lore_core as lore
from lore_core.report import ReportSettings, report_files
from lore_core.view import View

QUICK = ReportSettings(methods=("No recalibration", "Temperature scaling", "LoRe"), n_draws=20)


def files_of(dataset, d=2, settings=QUICK, **view):
    maps = {}
    if dataset.features is not None:
        maps["PCA"] = lore.embed(dataset.features, "pca", min(d, *dataset.features.shape))
    return report_files(View(dataset, n_bins=5, maps=maps, **view), settings)


def sure(rows):
    return dataclasses.replace(rows, probabilities=np.eye(3)[rows.labels], predictions=rows.labels)


def alike(rows):
    p = np.full((len(rows), 3), [0.2, 0.7, 0.1])
    return dataclasses.replace(rows, probabilities=p, predictions=None, complete=False)


#: By how the data are made and viewed: words of the page, and what is said to be left out.
KINDS = {
    "no features": ({"features": 0}, {}, ["These data came without features"], {"map"}),
    "no calibration rows and no groups": (
        {"calibration": None, "groups": False},
        {},
        ["these data have none. Add a calibration file", "These data name no groups"],
        {"recalibrators", "groups"},
    ),
    "one feature of nine rows": (
        {"n": 9, "features": 1},
        {},
        ["One feature alone gives no map", "are few: most of what is seen can be chance"],
        None,
    ),
    "two rows": ({"n": 2, "features": 3}, {}, ["are few: most of what"], None),
    "many dimensions": ({"features": 6}, {"d": 5}, ["The picture is drawn on PCA 2-D"], None),
    "one class": (
        {},
        {"target": 1},
        ["target class dog &amp; co", "these are the numbers of the top-label confidence"],
        None,
    ),
    "always right and sure": ({"n": 60, "change": sure}, {}, ["verdict good"], None),
    "the top confidence alone, always alike": (
        {"n": 60, "change": alike},
        {"binning": "equal-mass"},
        ["ranked by ECE", "Only the predicted class’s confidence was known"],
        None,
    ),
}


@pytest.mark.parametrize(("made", "view", "words", "missing"), KINDS.values(), ids=KINDS)
def test_kinds_of_data(make_dataset, text_of, made, view, words, missing):
    change = made.get("change", lambda rows: rows)
    rows = make_dataset(**{name: value for name, value in made.items() if name != "change"})
    files = files_of(change(rows), **view)
    page, script = text_of(files), files["rerun.sh"]
    for text in words:
        assert text in page
    if missing is not None:
        assert set(json.loads(files["config.json"])["left_out"]) == missing
    has_features, has_calibration = made.get("features", 4) > 0, "calibration" not in made
    assert ('id="landscape"' in page) == (made.get("features", 4) > 1)
    assert ("tables/recalibrators.csv" in files) == has_calibration
    assert ("figures/landscape.html" in files) == (made.get("features", 4) > 1)
    assert {"tables/subgroups.csv", "tables/decisions.csv"} <= set(files)  # columns name places too
    for asked, option in (
        (not has_features, b"--map none"),
        ("d" in view, b"--map pca-5"),
        ("target" in view, b"--target 'dog & co'"),
    ):
        assert (option in script) == asked
