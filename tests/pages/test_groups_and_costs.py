import dataclasses
import re

import numpy as np
import pandas as pd
import pytest

import lore_core as lore
from lore_core.comparison import conclude_retraining, estimate_gains
from lore_core.metrics.catalogue import WORST_CELL
from lore_core.view import View
from lore_core.view.methods import abstention_of, comparison_of, group_masks
from pages.shared.live import CONTROLS


@pytest.fixture
def dataset(made):
    rows = made(n=900, n_classes=2, seed=6)
    site = np.array(["a", "b", "b", "c"])[np.arange(900) % 4]
    shift = np.where(np.arange(900) % 3, "day", "night")
    return dataclasses.replace(rows, groups=pd.DataFrame({"site": site, "shift": shift}))


METHODS = ("No recalibration", "LoRe")
LISTED = {"methods": METHODS, "decisions_tab": "Every method at these costs"}


def worst_cell(dataset, column):
    """Largest |gap| of a cell of group and bin of ten rows or more, counted by hand."""
    rows = dataset.evaluation
    gap = pd.Series(rows.confidence - rows.outcome)
    bins = np.minimum(np.floor(rows.confidence * 15), 14)
    cells = gap.groupby([rows.groups[column].to_numpy(), bins]).agg(["size", "mean"])
    return cells.loc[cells["size"] >= 10, "mean"].abs().max()


def test_the_worst_group_of_every_method(open_page, dataset):
    worst = "Worst group of each method"
    page = open_page("fairness", dataset, gamma=1.0, methods=METHODS, fairness_tab=worst)
    table = page.tables[0]
    shown = table.loc["No recalibration"]
    assert abs(shown["cell_gap"]) == pytest.approx(worst_cell(dataset, "site") * 100)
    rows = dataset.evaluation
    gap = pd.Series(rows.confidence - rows.outcome).groupby(rows.groups["site"].to_numpy()).mean()
    assert shown["furthest_group"] == gap.abs().idxmax()
    assert shown["gap"] == pytest.approx(gap[shown["furthest_group"]] * 100)
    ticks = page.figure("group_chart")["layout"]["yaxis"]["ticktext"]
    sizes = rows.groups["site"].value_counts()
    assert sorted(ticks) == sorted(f"{name} ({n})" for name, n in sizes.items())
    page.set("groups", ["shift"])
    table = page.tables[0]
    found = abs(table.loc["No recalibration", "cell_gap"])
    assert found == pytest.approx(worst_cell(dataset, "shift") * 100)
    assert table["cell"].str.startswith(("day", "night")).all()
    page = open_page("fairness", dataset, gamma=1.0, methods=METHODS)
    page.app.button_group(key="group_metric").set_value("MCE")
    page.set("group", "c")
    assert "MCE of each group" in page.figure("group_chart")["layout"]["title"]["text"]
    subtitle = page.figure("group_before")["layout"]["title"]["subtitle"]["text"]
    assert subtitle == f"c, {sizes['c']} evaluation rows"


def test_the_worst_cell_stands_in_the_comparison_too(open_page, dataset):
    page = open_page(
        "recalibrate", dataset, gamma=1.0, methods=METHODS, recalibrate_tab="All metrics"
    )
    cell = page.table(WORST_CELL.name).loc["No recalibration", WORST_CELL.name]
    assert cell == f"{worst_cell(dataset, 'site') * 100:.1f}"
    assert "Groups by site, 30 rows or more" in page.text
    page.set("group_column", "shift")
    cell = page.table(WORST_CELL.name).loc["No recalibration", WORST_CELL.name]
    assert cell == f"{worst_cell(dataset, 'shift') * 100:.1f}"
    assert "Groups by shift, 30" in page.text


def test_the_reward_at_the_costs_given(open_page, dataset):
    page = open_page("decisions", dataset, gamma=1.0, unsure=1.0, wrong=8.0, **LISTED)
    rows = dataset.evaluation
    expected = lore.reward_curve(rows.confidence, rows.outcome, [8.0]).frame().iloc[0]
    table = page.tables[0]
    assert table.loc["No recalibration", "reward"] == pytest.approx(expected["reward"])
    assert table.loc["No recalibration", "answered"] == pytest.approx(expected["answered"] * 100)
    page.set("wrong", 2.0)
    expected = lore.reward_curve(rows.confidence, rows.outcome, [2.0]).frame().iloc[0]
    table = page.tables[0]
    assert table.loc["No recalibration", "answered"] == pytest.approx(expected["answered"] * 100)
    page.set("unsure", 3.0)
    (sentence,) = page.errors
    assert "must not exceed the cost of wrong" in sentence
    assert CONTROLS in page.app.session_state, "a move of a map runs no page that has ended"


def test_a_guaranteed_error_rate_is_the_librarys(open_page, dataset):
    tab = "Answer only when sure"
    page = open_page("decisions", dataset, gamma=1.0, methods=METHODS, decisions_tab=tab)
    page.set("risk", 30.0).set("decide_by", "site").set("decide_group", "b")
    view = View(dataset, gamma=1.0, maps={"PCA 2-D": lore.embed(dataset.features, "pca", 2)})
    result = comparison_of(view, [lore.NoRecalibration(), lore.LoRe(1.0)], {})
    groups = group_masks(dataset.evaluation, "site")
    found = abstention_of(view, result, 0.3, rows=groups["b"], groups=groups)
    assert found.sentence in page.plain
    assert page.tables[0].to_dict("list") == found.table()
    assert "risk_curve" in page.figures


def test_what_a_file_holds_is_said_before_it_is_taken(open_page, dataset):
    page = open_page("recalibrate", dataset, gamma=1.0, methods=METHODS)
    listed = page.table("holds")
    assert listed["holds"].str.contains("calibration rows").any()
    assert (listed["single rows"] == "yes").any()
    assert "Single calibration rows can be read from the file" in page.text
    page.set("ship_without_rows", True)
    listed = page.table("holds")
    assert (listed["single rows"] == "no").all()
    assert "No single row can be read from the file" in page.text
    assert re.search(
        r"Without single rows, the confidences of .* evaluation rows differ by", page.text
    )


def test_recalibrate_or_retrain_is_the_librarys_sentence_of_the_rows_chosen(open_page, dataset):
    page = open_page("decisions", dataset, methods=METHODS)
    known = estimate_gains(dataset.calibration, dataset.evaluation)
    inside = (dataset.evaluation.groups["site"] == "b").to_numpy()
    for rows in ([], [inside]):
        if rows:
            page.set("decide_by", "site").set("decide_group", "b")
        sentence = conclude_retraining(known.losses(*rows)).sentence
        assert sentence.split(";")[0] in page.plain
