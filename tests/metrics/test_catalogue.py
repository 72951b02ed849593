import numpy as np

from lore_core import Dataset, summarize
from lore_core.comparison.tables import metric_table
from lore_core.metrics import catalogue
from lore_core.metrics.catalogue import CATALOGUE


def names(metrics):
    return [metric.name for metric in metrics]


def test_every_metric_is_called_by_its_name_and_described_once():
    assert [metric.name for metric in CATALOGUE.values()] == list(CATALOGUE)
    assert set(names(catalogue.DESCRIBED)) == set(CATALOGUE)
    assert len(catalogue.DESCRIBED) == len(CATALOGUE)
    assert set(names(catalogue.COMPARED)) == {m.name for m in CATALOGUE.values() if m.compared}


def test_whatever_is_in_the_catalogue_is_measured_and_tabled():
    rng = np.random.default_rng(0)
    data = Dataset(rng.dirichlet([2, 1, 1], 60), rng.integers(0, 3, 60))
    places, groups = rng.normal(size=(60, 2)), np.repeat(["a", "b"], 30)
    found = summarize(data, places, gamma=5.0, n_bins=3, groups=groups, n_draws=39)
    assert list(found.values.index) == names(catalogue.COMPARED)
    sure = [metric.name for metric in catalogue.DESCRIBED if metric.has_interval]
    assert list(found.intervals.index) == sure
    assert set(catalogue.CATALOGUE) - set(sure) == {
        "max cell gap",
        "max group-wise MCE",
        "smooth ECE",
        "multicalibration error",
    }
    table = metric_table(found)
    assert list(table["metric"]) == names(catalogue.DESCRIBED)
    assert np.isfinite(table["value"]).all()
    for name, value in zip(table["metric"], table["value"], strict=True):
        assert CATALOGUE[name].text(value) != "–"
    ends = found.intervals.loc["accuracy"] / found.values["mean_confidence"]
    np.testing.assert_allclose(found.intervals.loc["O/E"], ends)
