"""Numbers by group and by cost are the library's, and what has no interval is said."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pandas as pd
import pytest

import lore_core as lore
from lore_core.metrics.catalogue import MAX_GROUPWISE
from lore_core.view import methods
from pages.shared import compute


@pytest.fixture
def dataset(made):
    rows = made(n=900, n_classes=2, seed=6)
    site = np.array(["a", "b", "b", "c"])[np.arange(900) % 4]
    shift = np.where(np.arange(900) % 3, "day", "night")
    return dataclasses.replace(rows, groups=pd.DataFrame({"site": site, "shift": shift}))


def frame(item):
    return getattr(item.value, "data", item.value)


def worst(dataset, column):
    rows = dataset.evaluation
    return lore.groupwise_maximum_calibration_error(
        rows.confidence, rows.outcome, rows.groups[column], min_group_size=30
    )


def test_the_worst_group_of_every_method(open_page, dataset):
    page = open_page("fairness", dataset, gamma=1.0)
    table = frame(page.app.dataframe[0])
    assert table.loc["No recalibration", "max_group_mce"] == pytest.approx(
        worst(dataset, "site") * 100
    )
    rows = dataset.evaluation
    gap = pd.Series(rows.confidence - rows.outcome).groupby(rows.groups["site"].to_numpy()).mean()
    furthest = table.loc["No recalibration", "furthest_group"]
    assert furthest == gap.abs().idxmax()
    assert table.loc["No recalibration", "gap"] == pytest.approx(gap[furthest] * 100)
    page.app.multiselect(key="groups").set_value(["shift"])
    page.run()
    table = frame(page.app.dataframe[0])
    assert table.loc["No recalibration", "max_group_mce"] == pytest.approx(
        worst(dataset, "shift") * 100
    )
    assert table["worst_group"].isin(["day", "night"]).all()


def test_the_worst_group_stands_in_the_comparison_too(open_page, dataset):
    page = open_page("recalibrate", dataset, gamma=1.0)
    cell = frame(page.app.dataframe[0]).loc["No recalibration", MAX_GROUPWISE]
    value, interval = cell.split("  ")
    assert value == f"{worst(dataset, 'site') * 100:.1f}"
    low, high = (float(bound) for bound in interval.strip("()").split("–"))
    assert low < high
    assert "Groups by site, 30 rows or more" in page.text
    page.app.selectbox(key="group_column").set_value("shift")
    page.run()
    cell = frame(page.app.dataframe[0]).loc["No recalibration", MAX_GROUPWISE]
    assert cell.split()[0] == f"{worst(dataset, 'shift') * 100:.1f}"
    assert "Groups by shift, 30" in page.text


def test_one_group_column_leaves_nothing_to_choose(open_page, dataset, made):
    single = dataclasses.replace(dataset, groups=dataset.groups[["site"]])
    page = open_page("recalibrate", single, gamma=1.0)
    assert not [item for item in page.app.selectbox if item.key == "group_column"]
    assert MAX_GROUPWISE in frame(page.app.dataframe[0])
    none = open_page("recalibrate", made(n=300))
    assert MAX_GROUPWISE not in frame(none.app.dataframe[0])
    assert "Groups by" not in none.text


@pytest.fixture
def dear(monkeypatch):
    """Resampling the local metrics would take too long, whatever their number of rows."""
    found = {"n_draws": 100, "local_draws": False, "local_intervals": False}
    monkeypatch.setattr(methods, "affordable_intervals", lambda n, d, **limits: dict(found))
    compute.comparison.clear()
    compute.summary.clear()
    yield
    compute.comparison.clear()
    compute.summary.clear()


def test_global_metrics_have_intervals_where_local_ones_cannot(open_page, dataset, dear):
    page = open_page("recalibrate", dataset, gamma=1.0)
    row = frame(page.app.dataframe[0]).loc["LoRe"]
    for metric in ("ECE", "MCE", "NLL", "Brier", "accuracy", MAX_GROUPWISE):
        assert "–" in row[metric], metric
    for metric in ("MLCE supported", "ALCE", "MLCE"):
        assert "–" not in row[metric], metric
    assert (
        "Supported MLCE, ALCE, MLCE have no intervals: simulating the neighbours of 450 rows"
        in page.text
    )
    page.go("overview")
    shown = {item.label: item.delta for item in page.app.metric}
    assert shown["ECE"].startswith("95 %: ")
    assert not shown["MLCE"]
    assert "The local errors have none" in page.text


def test_the_reward_at_the_costs_given(open_page, dataset):
    page = open_page("decisions", dataset, gamma=1.0, unsure=1.0, wrong=8.0)
    rows = dataset.evaluation
    expected = lore.reward_curve(rows.confidence, rows.outcome, [8.0]).frame().iloc[0]
    table = frame(page.app.dataframe[0])
    assert table.loc["No recalibration", "reward"] == pytest.approx(expected["reward"])
    assert table.loc["No recalibration", "answered"] == pytest.approx(expected["answered"] * 100)
    page.app.number_input(key="wrong").set_value(2.0)
    page.run()
    expected = lore.reward_curve(rows.confidence, rows.outcome, [2.0]).frame().iloc[0]
    table = frame(page.app.dataframe[0])
    assert table.loc["No recalibration", "answered"] == pytest.approx(expected["answered"] * 100)
    page.app.number_input(key="unsure").set_value(3.0)
    page.run()
    (sentence,) = page.errors
    assert "must not exceed the cost of wrong" in sentence


def test_the_reward_of_one_group(open_page, dataset):
    page = open_page("decisions", dataset, gamma=1.0, unsure=1.0, wrong=8.0)
    page.app.selectbox(key="decide_by").set_value("site")
    page.run()
    page.app.selectbox(key="decide_group").set_value("c")
    page.run()
    rows = dataset.evaluation
    inside = (rows.groups["site"] == "c").to_numpy()
    expected = lore.reward_curve(rows.confidence[inside], rows.outcome[inside], [8.0]).frame()
    table = frame(page.app.dataframe[0])
    assert table.loc["No recalibration", "reward"] == pytest.approx(expected["reward"].iloc[0])


def test_what_a_file_holds_is_said_before_it_is_taken(open_page, dataset):
    page = open_page("recalibrate", dataset, gamma=1.0)
    (listed,) = [item.value for item in page.app.dataframe if "holds" in item.value]
    assert listed["holds"].str.contains("calibration rows").any()
    assert (listed["single rows"] == "yes").any()
    assert "Single calibration rows can be read from the file" in page.text
    page.app.toggle(key="ship_without_rows").set_value(True)
    page.run()
    (listed,) = [item.value for item in page.app.dataframe if "holds" in item.value]
    assert (listed["single rows"] == "no").all()
    assert "No single row can be read from the file" in page.text
    assert re.search(
        r"Without single rows, the confidences of .* evaluation rows differ by", page.text
    )
