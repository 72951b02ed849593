import numpy as np
import pandas as pd
import pytest

from lore_core import InputError
from lore_core.comparison.tables import check_metrics, check_subgroups


def table(**rows):
    return pd.DataFrame(
        [(name.replace("_", " "), *of) for name, of in rows.items()],
        columns=["metric", "value", "low", "high"],
    )


def test_a_limit_is_exceeded_where_the_whole_interval_is():
    measured = table(
        ECE=(0.04, 0.01, 0.05),
        MCE=(0.3, 0.21, 0.4),
        smooth_ECE=(0.04, np.nan, np.nan),
        accuracy=(0.8, 0.75, 0.85),
        NLL=(0.5, 0.4, 0.6),
    )

    def result(**limits):
        limits = {name.replace("_", " "): limit for name, limit in limits.items()}
        return list(check_metrics(measured, limits)["result"])

    assert result(ECE=0.03, MCE=0.2, smooth_ECE=0.03) == ["not sure", "exceeded", "exceeded"]
    assert result(ECE=0.04, MCE=0.3, smooth_ECE=0.05) == ["met"] * 3
    assert [*result(accuracy=0.8), *result(accuracy=0.84), *result(accuracy=0.86)] == [
        "met",
        "not sure",
        "exceeded",
    ]


def test_a_limit_that_nothing_is_known_of_is_refused():
    for limits in ({"EEC": 0.1}, {"mean_confidence": 0.9}, {"ECE": float("nan")}):
        with pytest.raises(InputError, match="a limit must be a number for one of accuracy, "):
            check_metrics(table(ECE=(0.1, 0, 1)), limits)
    with pytest.raises(InputError, match="have no MLCE.*needs features"):
        check_metrics(table(ECE=(0.1, 0, 1)), {"MLCE": 0.1})


def test_the_worst_place_is_the_one_that_is_surely_worst():
    subgroups = pd.DataFrame(
        {
            "where": ["few", "many", "unsure"],
            "held_out_gap": [0.4, 0.3, -0.35],
            "held_out_gap_low": [0.05, 0.25, -0.45],
            "held_out_gap_high": [0.7, 0.35, -0.27],
        }
    )
    (row,) = check_subgroups(subgroups, 0.26).to_dict(orient="records")
    assert row == {
        "check": "worst place",
        "limit": 0.26,
        "value": 0.35,
        "low": 0.27,
        "high": 0.45,
        "result": "exceeded",
        "where": "unsure",
    }
    assert list(check_subgroups(subgroups, 0.3)["result"]) == ["not sure"]
    assert list(check_subgroups(subgroups[:0], 0.0)["result"]) == ["met"]
