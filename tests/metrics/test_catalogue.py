import math
import re
from pathlib import Path

import numpy as np
import pytest

from lore_core import Dataset, summarize
from lore_core.comparison.tables import metric_table
from lore_core.data.number_text import PLAIN
from lore_core.metrics import catalogue
from lore_core.metrics.catalogue import CATALOGUE, unit_of

METHOD = Path(__file__).parents[2] / "docs" / "method.md"


def names(metrics):
    return [metric.name for metric in metrics]


def test_every_metric_is_called_by_its_name_and_described_once():
    assert [metric.name for metric in CATALOGUE.values()] == list(CATALOGUE)
    assert set(names(catalogue.DESCRIBED)) == set(CATALOGUE)
    assert len(catalogue.DESCRIBED) == len(CATALOGUE)
    assert set(names(catalogue.COMPARED)) == {m.name for m in CATALOGUE.values() if m.compared}
    headings = re.findall(r"^## (.+)$", METHOD.read_text(encoding="utf-8"), re.MULTILINE)
    anchors = {heading.lower().replace(" ", "-") for heading in headings}
    assert {metric.formula for metric in CATALOGUE.values()} <= anchors


def test_tables_show_their_metrics_in_their_order():
    order = (
        "accuracy, mean_confidence, NLL, Brier, ALCE held out, ECE held out, MLCE supported, "
        "max group gap, max cell gap, ALCE, ECE, ECE debiased, smooth ECE, MCE, MLCE, "
        "max group-wise MCE"
    )
    described = order.split(", ")
    compared = [name for name in described if name not in ("ECE debiased", "smooth ECE")]
    few = {"accuracy", "mean_confidence", "MLCE", "max group-wise MCE"}
    report = [name for name in compared if name not in few]
    tiles = "accuracy, ECE, ALCE held out, MLCE supported"
    assert names(catalogue.DESCRIBED) == described
    assert names(catalogue.COMPARED) == compared
    assert names(catalogue.TILES) == tiles.split(", ")
    assert names(catalogue.REPORT_TABLE) == report
    assert names(catalogue.METHOD_TABLE) == [*report, "accuracy"]
    assert names(catalogue.RANKED_BY) == ["NLL", "Brier", "ECE"]


def test_whatever_is_in_the_catalogue_is_measured_and_tabled():
    rng = np.random.default_rng(0)
    data = Dataset(rng.dirichlet([2, 1, 1], 60), rng.integers(0, 3, 60))
    places, groups = rng.normal(size=(60, 2)), np.repeat(["a", "b"], 30)
    found = summarize(data, places, gamma=5.0, n_bins=3, groups=groups, n_draws=39)
    assert list(found.values.index) == names(catalogue.COMPARED)
    sure = [metric.name for metric in catalogue.COMPARED if metric.has_interval]
    assert list(found.intervals.index) == sure
    assert set(catalogue.CATALOGUE) - set(sure) == {
        "max cell gap",
        "max group-wise MCE",
        "ECE debiased",
        "smooth ECE",
    }
    table = metric_table(found)
    assert list(table["metric"]) == names(catalogue.DESCRIBED)
    assert np.isfinite(table["value"]).all()
    for name, value in zip(table["metric"], table["value"], strict=True):
        assert CATALOGUE[name].text(value) != "–"


@pytest.mark.parametrize(
    ("name", "value", "text", "alone", "heading"),
    [
        ("ECE", 0.01234, "1.2", "1.2 points", "ECE, points"),
        ("ECE debiased", -0.01234, "−1.2", "−1.2 points", "ECE debiased, points"),
        ("accuracy", 0.8765, "87.6", "87.6 %", "accuracy, %"),  # 0.8765 lies below 87.65 %
        ("mean_confidence", 1.0, "100.0", "100.0 %", "mean confidence, %"),
        ("NLL", 0.5129, "0.513", "0.513", "NLL, nats"),
        ("NLL", -0.0001, "0.000", "0.000", "NLL, nats"),
        ("Brier", 0.1, "0.100", "0.100", "Brier"),
    ],
)
def test_values_are_written_in_their_unit(name, value, text, alone, heading):
    metric = CATALOGUE[name]
    assert metric.text(value) == text
    assert metric.text_alone(value) == alone
    assert metric.heading == heading
    assert metric.text(math.nan) == "–"


def test_intervals_and_columns_of_ones_own():
    assert CATALOGUE["ECE"].interval_text(0.01, 0.025) == "1.0 to 2.5"
    assert CATALOGUE["ECE"].interval_text(math.nan, 0.025) == ""
    accuracy = CATALOGUE["accuracy"]
    assert accuracy.interval_text(0.8, 0.9, "–") == "80.0–90.0"
    assert unit_of("MLCE (t-SNE)") is PLAIN
    assert unit_of("MLCE").is_share
    assert CATALOGUE["mean_confidence"].title == "Mean confidence"
    assert CATALOGUE["NLL"].axis == "NLL, nats"
    assert CATALOGUE["ECE"].axis == "ECE"
