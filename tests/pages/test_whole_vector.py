import io
import json

import numpy as np
import pandas as pd
import pytest

import lore_core as lore
from lore_core.cli import main
from lore_core.data.number_text import POINTS
from lore_core.inference import class_table, describe_classes
from lore_core.report import ReportSettings, report_files
from lore_core.view import View
from lore_core.view.inference import vector_chance_of, vector_errors_of

WHOLE = "whole vector"


@pytest.fixture
def view(dataset):
    return View(dataset, maps={"PCA 2-D": lore.embed(dataset.features, "pca", 2, random_state=0)})


def test_page_library_command_and_report_have_the_same_numbers(
    open_page, dataset, view, tmp_path, capsys
):
    errors = vector_errors_of(view)
    chance = vector_chance_of(view, errors)
    classes = class_table(view.evaluation, errors, chance, **view.bins)
    said = f"{chance.sentence} {describe_classes(classes)}"
    page = open_page("overview", dataset, target=WHOLE)
    assert chance.sentence in page.plain
    assert describe_classes(classes) in page.plain
    table = page.tables[0]
    assert list(table.index) == list(classes.index)
    for column in ("local", "chance_level", "gap", "ece", "alce", "mlce"):
        assert table[column].to_numpy() == pytest.approx(100 * classes[column].to_numpy())
    assert list(table["p_value"]) == list(classes["p_value"])
    tiles = {tile.label: tile for tile in page.app.metric}
    average = tiles["Average local error"]
    assert average.value == POINTS.text(chance.average) + POINTS.word
    assert POINTS.text(chance.chance_level) in average.delta
    assert tiles["Largest local error"].value == POINTS.text(chance.largest) + POINTS.word
    assert tiles["Significant rows"].value == str(chance.beyond.sum())
    assert "ECE" not in tiles

    path = tmp_path / "rows.npz"
    lore.save_npz(dataset, path)
    assert main(["metrics", str(path), "--target", "all", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert f"{told['sentence']} {told['about_classes']}" == said
    assert (told["average"], told["largest"]) == (chance.average, chance.largest)
    pd.testing.assert_frame_equal(
        pd.DataFrame(told["classes"]).set_index("class"), classes, check_dtype=False
    )

    for command in ("curve", "landscape"):
        assert main([command, str(path), "--target", "all"]) == 1
        assert "'--target all' is for" in capsys.readouterr().err

    settings = ReportSettings(methods=("No recalibration",))
    files = report_files(view, settings)
    written = pd.read_csv(io.BytesIO(files["tables/classes.csv"]))
    written["class"] = written["class"].astype(str)
    pd.testing.assert_frame_equal(written.set_index("class"), classes, check_dtype=False)
    page = " ".join(files["index.html"].decode().split()).replace("&lt;", "<")
    assert said[1:] in page


def test_other_pages_say_where_it_is_and_the_way_back_is_open(open_page, dataset):
    for name in ("landscape", "recalibrate"):
        page = open_page(name, dataset, target=WHOLE)
        assert "here the target is the top label" in page.text
    page.go("overview")
    assert "Which class is worst" in page.text
    page.set("target", "top-label")
    assert "ECE" in page.metrics
    page.set("target", WHOLE)
    assert "Which class is worst" in page.text


def test_without_features(open_page, made):
    page = open_page("overview", made(n_features=0), target=WHOLE)
    assert "Local errors of the whole vector need features" in page.text


def test_data_of_the_top_label_alone_say_why_not(open_page, made):
    page = open_page("overview", made(complete=False), target=WHOLE)
    assert "no whole vector" in page.text
    assert page.app.selectbox(key="target").disabled
    weighted = made()
    weighted = lore.Dataset(
        weighted.probabilities,
        weighted.labels,
        weighted.features,
        weights=np.linspace(1, 2, len(weighted)),
    ).with_split(0.5)
    page = open_page("overview", weighted, target=WHOLE)
    assert "lets every row count once" in page.text
    assert WHOLE not in page.app.selectbox(key="target").options
