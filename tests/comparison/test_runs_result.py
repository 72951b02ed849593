import io

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lore_core import InputError
from lore_core.comparison import RunsComparison


def compared(**by_method):
    frames = [
        pd.DataFrame({"run": [f"r{i}" for i in range(len(values))], "method": name, "ECE": values})
        for name, values in by_method.items()
    ]
    return RunsComparison(pd.concat(frames, ignore_index=True))


def test_the_paired_interval_is_the_t_test_on_differences():
    none, after = [0.30, 0.20, 0.25, 0.27], [0.21, 0.13, 0.16, 0.16]
    found = compared(none=none, after=after).difference()
    # Differences −.09, −.07, −.09, −.11: mean −.09, sd .016329…, t₃ = 3.1824, half .02598.
    assert found.mean.loc["after", "ECE"] == pytest.approx(-0.09)
    assert found.low.loc["after", "ECE"] == pytest.approx(-0.09 - 0.025984, abs=1e-6)
    assert found.high.loc["after", "ECE"] == pytest.approx(-0.09 + 0.025984, abs=1e-6)
    interval = stats.ttest_rel(after, none).confidence_interval(0.95)
    assert found.low.loc["after", "ECE"] == pytest.approx(interval.low)
    assert found.mean.loc["none", "ECE"] == found.low.loc["none", "ECE"] == 0


def test_differences_to_another_method_turn_their_sign():
    result = compared(a=[1.0, 2.0, 4.0], b=[2.0, 2.0, 3.0])
    to_a, to_b = result.difference("a"), result.difference("b")
    assert to_a.mean.loc["b", "ECE"] == -to_b.mean.loc["a", "ECE"]
    assert to_a.low.loc["b", "ECE"] == -to_b.high.loc["a", "ECE"]
    with pytest.raises(InputError, match="'to' must be one of"):
        result.difference("c")


def test_pairs_are_found_by_run_and_not_by_order():
    result = compared(a=[1.0, 2.0, 3.0], b=[0.0, 1.0, 2.0])
    shuffled = RunsComparison(result.runs.sample(frac=1, random_state=1))
    found = shuffled.difference("a")
    assert found.mean.loc["b", "ECE"] == found.low.loc["b", "ECE"] == -1


def test_one_run_has_no_interval_and_no_winner():
    result = compared(a=[0.3], b=[0.1])
    found = result.difference()
    assert found.mean.loc["b", "ECE"] == pytest.approx(-0.2)
    assert np.isnan(found.low.loc["b", "ECE"])
    assert result.best().loc["ECE", "method"] == "b"
    assert not result.best().loc["ECE", "beyond_chance"]


def test_the_best_must_beat_every_other_beyond_chance():
    rng = np.random.default_rng(0)
    run = rng.normal(0, 0.1, 30)  # shared by all methods: pairs do not see it
    far, near = 0.3 + run, 0.1 + run + rng.normal(0, 0.01, 30)
    best = compared(far=far, near=near, won=0.05 + run).best()
    assert best.loc["ECE", "method"] == "won"
    assert best.loc["ECE", "next_best"] == "near"
    assert best.loc["ECE", "high"] < 0
    assert best.loc["ECE", "beyond_chance"]
    tie = compared(far=far, near=near, won=near + rng.normal(0, 0.02, 30) - 0.0001).best()
    assert not tie.loc["ECE", "beyond_chance"]


def test_many_rivals_need_a_wider_margin():
    """Bonferroni: of k − 1 rivals each interval is taken at 1 − .05/(k − 1)."""
    gaps = np.array([0.03, 0.01, 0.05, 0.02, -0.005])
    a = np.full(5, 0.2)
    alone = compared(a=a, b=a + gaps).best().loc["ECE"]
    crowd = compared(a=a, b=a + gaps, **{f"c{i}": a + 1 for i in range(8)}).best().loc["ECE"]
    assert alone["difference"] == crowd["difference"] == pytest.approx(-gaps.mean())
    half = stats.t.ppf(1 - 0.05 / 9 / 2, 4) * gaps.std(ddof=1) / np.sqrt(5)
    assert crowd["high"] == pytest.approx(-gaps.mean() + half)
    assert crowd["high"] > alone["high"]


def test_no_method_is_best_in_accuracy():
    runs = compared(a=[1.0, 2.0], b=[2.0, 3.0]).runs.rename(columns={"ECE": "accuracy"})
    assert RunsComparison(runs).best().empty


def test_the_saved_summary_reads_back():
    result = compared(**{"No recalibration": [0.3, 0.2, 0.4], "LoRe": [0.1, 0.1, 0.1]})
    saved = result.frame().to_csv(index=False)
    back = pd.read_csv(io.StringIO(saved)).set_index(["method", "metric"])
    assert back.loc[("No recalibration", "ECE"), "mean"] == pytest.approx(0.3)
    assert back.loc[("LoRe", "ECE"), "runs"] == 3
    paired = result.difference()
    assert back.loc[("LoRe", "ECE"), "difference_high"] == pytest.approx(
        paired.high.loc["LoRe", "ECE"]
    )
    assert not back.isna().any().any()


def test_values_of_an_unknown_metric():
    with pytest.raises(InputError, match="'metric' must be one of"):
        compared(a=[1.0]).values("NLL")
