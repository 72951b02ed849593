import itertools

import numpy as np
import pandas as pd
import pytest
from synthetic import overconfident

from benchmarks._ranks import Ranks, ranks
from lore_core import Dataset, NoRecalibration, PlattScaling, TemperatureScaling
from lore_core.comparison.runs_result import RunsComparison


def of(values, behind=()):
    table = pd.DataFrame(values, columns=["a", "b", "c"])
    runs = table.rename_axis("run").reset_index().melt("run", var_name="method", value_name="NLL")
    columns = ["run", "method", "metric", "difference", "low", "high"]
    return Ranks(RunsComparison(runs), pd.DataFrame(list(behind), columns=columns))


def test_ranks_by_hand():
    found = of(
        [[1.0, 2.0, 4.0], [3.0, 3.0, 1.5], [2.0, 1.0, 8.0]],
        [
            (0, "a", "NLL", 0.0, np.nan, np.nan),
            (0, "b", "NLL", 1.0, -0.1, 2.1),
            (0, "c", "NLL", 3.0, 2.0, 4.0),
            (1, "b", "NLL", 1.5, np.nan, np.nan),
        ],
    )
    assert found.ranks("NLL").to_numpy().tolist() == [[1, 2, 3], [2.5, 2.5, 1], [2, 1, 3]]
    table = found.ranking("NLL")
    assert list(table.index) == ["a", "b", "c"]
    np.testing.assert_allclose(table["mean_rank"], [5.5 / 3, 5.5 / 3, 7 / 3])
    np.testing.assert_allclose(table["ratio"], [4 ** (1 / 3), 4 ** (1 / 3), 32 ** (1 / 3)])
    assert table["best"].tolist() == [1, 1, 1]
    # The lowest itself, and one whose interval holds 0; what has no interval is not near.
    assert table["near"].tolist() == [1, 1, 0]
    long = found.frame().set_index(["set", "method"])
    assert long.loc[(1, "c"), ["value", "rank"]].tolist() == [1.5, 1.0]
    assert long.loc[(0, "b"), ["behind", "behind_low", "behind_high"]].tolist() == [1.0, -0.1, 2.1]


def test_p_values_by_every_flip_of_signs():
    rng = np.random.default_rng(1)
    values = rng.normal([5.0, 5.5, 6.5], size=(9, 3))
    table = of(values).ranking("NLL")
    assert table.index[0] == "a"
    exact = []
    for other in (1, 2):
        off = values[:, other] - values[:, 0]
        ranks = pd.Series(np.abs(off)).rank().to_numpy()
        sums = [ranks @ signs for signs in itertools.product([-1, 1], repeat=9)]
        exact.append(np.mean(np.abs(sums) >= abs(ranks @ np.sign(off)) - 1e-9))
    smaller, larger = sorted(exact)
    adjusted = {smaller: min(2 * smaller, 1), larger: min(max(2 * smaller, larger), 1)}
    for name, p in zip("bc", exact, strict=True):
        assert table["p_value"][name] == pytest.approx(adjusted[p])
    assert np.isnan(table["p_value"]["a"])


def test_whether_methods_differ_at_all():
    """Friedman's statistic from its definition, with its chi-squared of k − 1 = 2 degrees."""
    values = np.random.default_rng(2).normal([0.0, 0.5, 1.0], size=(12, 3))
    found = of(values)
    mean = found.ranks("NLL").mean().to_numpy()
    statistic = 12 * 12 / (3 * 4) * ((mean - 2.0) ** 2).sum()
    assert found.any_difference("NLL") == pytest.approx(np.exp(-statistic / 2))
    assert np.isnan(of(values[:1]).any_difference("NLL"))


@pytest.fixture(scope="module")
def sets():
    made = []
    for seed, k in ((1, 3), (2, 4)):
        data, _ = overconfident(400, k=k, seed=seed)
        split = np.repeat(["calibration", "evaluation"], 200)
        made.append(
            Dataset(
                data.probabilities, data.labels, features=data.features, split=split, name=f"s{k}"
            )
        )
    return made


def test_each_set_is_compared_with_its_own_classes(sets):
    methods = [NoRecalibration(), TemperatureScaling(), PlattScaling()]
    # Two features: PCA has two dimensions, not twenty.
    found = ranks(sets, methods)
    assert list(found.ranks("NLL").index) == ["s3", "s4"]
    part = found.behind[(found.behind["run"] == "s4") & (found.behind["metric"] == "NLL")]
    part = part.set_index("method")
    best = part["difference"].idxmin()
    calibration, evaluation = sets[1].calibration, sets[1].evaluation
    losses = {}
    for method in methods:
        after = method.fit(calibration).recalibrate(evaluation)
        own = after.probabilities[np.arange(200), after.labels]
        losses[method.label] = -np.log(np.clip(own, 1e-6, 1))
    for label, loss in losses.items():
        expected = loss.mean() - losses[best].mean()
        assert part["difference"][label] == pytest.approx(expected, abs=1e-8)
        # No interval of the lowest to itself, nor where rows too rare to rely on decide.
        assert np.isnan(part["low"][label]) or part["low"][label] < expected
    assert np.isnan(part["low"][best])
    # Without groups the worst cell is one of predicted class and bin, of ten rows or more.
    c = evaluation.confidence
    cells = pd.Series(c - evaluation.outcome).groupby(
        [evaluation.predictions, np.minimum(np.floor(c * 15), 14)]
    )
    sizes = cells.agg(["size", "mean"])
    worst = sizes.loc[sizes["size"] >= 10, "mean"].abs().max()
    values = found.values.values("max cell gap")
    assert values.loc["s4", "No recalibration"] == pytest.approx(worst)
