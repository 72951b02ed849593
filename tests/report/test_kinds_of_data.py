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
    return report_files(View(dataset, n_bins=5, maps=maps, **view), settings, images=False)


def left_out(files):
    return json.loads(files["config.json"])["left_out"]


def test_without_features(make_dataset, text_of):
    files = files_of(make_dataset(features=0))
    page = text_of(files)
    assert "These data came without features" in page
    assert 'id="landscape"' not in page
    assert "tables/places.csv" in files  # columns name places too
    assert "figures/landscape.html" not in files
    assert "Temperature scaling" in page
    assert set(left_out(files)) == {"map"}
    assert b"--map none" in files["rerun.sh"]


def test_without_calibration_rows(make_dataset, text_of):
    files = files_of(make_dataset(calibration=None))
    assert "these data have none. Add a calibration file" in text_of(files)
    assert set(left_out(files)) == {"recalibrators"}
    assert "tables/recalibrators.csv" not in files
    assert "tables/decisions.csv" in files  # of the classifier as it is


def test_without_groups(make_dataset, text_of):
    files = files_of(make_dataset(groups=False))
    assert "These data name no groups" in text_of(files)
    assert set(left_out(files)) == {"groups"}


def test_one_feature(make_dataset, text_of):
    files = files_of(make_dataset(features=1))
    assert "One feature alone gives no map" in text_of(files)
    assert "tables/places.csv" in files


def test_many_dimensions_are_drawn_on_two(make_dataset, text_of):
    dataset = make_dataset(features=6)
    files = files_of(dataset, d=5)
    page = text_of(files)
    assert "The picture is drawn on PCA 2-D" in page
    assert b"--map pca-5" in files["rerun.sh"]


@pytest.mark.parametrize("n", [2, 3, 9])
def test_a_handful_of_rows(make_dataset, n, text_of):
    page = text_of(files_of(make_dataset(n=n, features=3)))
    assert "are few: most of what is seen can be chance" in page


def test_one_class_as_target(dataset, nasty, text_of):
    files = files_of(dataset, target=1)
    page = text_of(files)
    assert "target class dog &amp; co" in page
    assert "these are the numbers of the top-label confidence" in page
    assert b"--target 'dog & co'" in files["rerun.sh"]


def test_always_right_and_sure(make_dataset, text_of):
    rows = make_dataset(n=60)
    sure = dataclasses.replace(rows, probabilities=np.eye(3)[rows.labels], predictions=rows.labels)
    assert "verdict good" in text_of(files_of(sure))


def test_all_confidences_alike(make_dataset):
    rows = make_dataset(n=60)
    alike = np.full((60, 3), [0.2, 0.7, 0.1])
    dataset = dataclasses.replace(rows, probabilities=alike, predictions=None)
    assert "index.html" in files_of(dataset, binning="equal-mass")


def test_only_the_top_confidence(make_dataset, text_of):
    rows = make_dataset()
    files = files_of(dataclasses.replace(rows, complete=False))
    page = text_of(files)
    assert "ranked by ECE" in page
    assert "Only the predicted class’s confidence was known" in page
