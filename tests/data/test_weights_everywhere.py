"""Every public name that takes rows: it goes by their weights, refuses them, or is said not to."""

import dataclasses
import importlib
import inspect
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import lore_core as lore
from lore_core import comparison, inference, metrics, recalibration, regions
from lore_core.recalibration.registry import own_recalibrators
from tests.data.test_weights import some_rows

DECISION = Path(__file__).parents[2] / "docs/decisions.md"
ROWS = {
    "confidence", "outcome", "probabilities", "labels", "dataset", "datasets", "calibration",
    "evaluation", "runs", "X", "exact",
}  # fmt: skip
ROOMS = (
    "comparison", "dashboard", "data", "demo", "embedding", "inference", "mergeable", "metrics",
    "reading", "recalibration", "regions", "report", "shipping",
)  # fmt: skip


def halves(r):
    one, two = np.arange(len(r)) % 2 == 0, np.arange(len(r)) % 2 == 1
    return r.rows(one), r.rows(two)


def first_bin(r):
    return r.features[:, 0] > 0


def both(r):
    return r.confidence, r.outcome


#: Of rows with whole weights and of as often repeated ones the same number.
AS_REPEATED = {
    "average_local_calibration_error": lambda r: lore.average_local_calibration_error(
        *both(r), r.features, weights=r.weights
    ),
    "bandwidth_curve": lambda r: (
        lore.bandwidth_curve(*both(r), r.features, [0.1, 1.0], weights=r.weights).alce
    ),
    "brier_score": lambda r: lore.brier_score(r.probabilities, r.labels, weights=r.weights),
    "compare_groups": lambda r: comparison.compare_groups({"as it is": r}, r.groups["site"])["gap"],
    "compare_rewards": lambda r: comparison.compare_rewards({"a": r}, [1.5, 2.0])["a"].reward,
    "describe_rows": lambda r: re.findall(
        "promised .*? %, got .*? %",
        comparison.describe_rows("all", r, local_of(r), np.ones(len(r), bool)),
    ),
    "error_field": lambda r: (
        lore.error_field(
            *both(r), r.features, gamma=0.5, resolution=12, weights=r.weights, min_effective_size=0
        ).signed
    ),
    "expected_calibration_error": lambda r: lore.expected_calibration_error(
        *both(r), weights=r.weights
    ),
    "gap_along": lambda r: lore.gap_along(*both(r), r.groups["site"], weights=r.weights)["gap"],
    "gap_grid": lambda r: regions.gap_grid(
        *both(r), r.groups["site"], r.predictions.astype(str), weights=r.weights, min_rows=1
    )["gap"],
    "group_report": lambda r: lore.group_report(
        *both(r), r.groups["site"], weights=r.weights, n_draws=0
    )["ece"],
    "groupwise_calibration_error": lambda r: metrics.groupwise_calibration_error(
        *both(r), r.groups["site"], weights=r.weights
    )["mce"],
    "groupwise_maximum_calibration_error": lambda r: lore.groupwise_maximum_calibration_error(
        *both(r), r.groups["site"], weights=r.weights, n_bins=3
    ),
    "isotonic_reliability": lambda r: (
        metrics.isotonic_reliability(*both(r), weights=r.weights, n_draws=39).miscalibration
    ),
    "local_calibration_error": lambda r: lore.local_calibration_error(
        *both(r), r.features, weights=r.weights
    ).max(),
    "local_errors": lambda r: local_of(r).average,
    "maximum_calibration_error": lambda r: lore.maximum_calibration_error(
        *both(r), weights=r.weights, n_bins=3
    ),
    "maximum_local_calibration_error": lambda r: lore.maximum_local_calibration_error(
        *both(r), r.features, weights=r.weights
    ),
    "maximum_mean_calibration_error": lambda r: recalibration.maximum_mean_calibration_error(
        *both(r), weights=r.weights
    ),
    "negative_log_likelihood": lambda r: lore.negative_log_likelihood(
        r.probabilities, r.labels, weights=r.weights
    ),
    "region_report": lambda r: lore.region_report(*both(r), first_bin(r), weights=r.weights).gap,
    "reliability_table": lambda r: lore.reliability_table(*both(r), weights=r.weights).accuracy,
    "report_by": lambda r: regions.report_by(
        r.groups["site"].to_numpy(), *both(r), np.ones(len(r), bool), weights=r.weights
    )["gap"],
    "reward_curve": lambda r: lore.reward_curve(*both(r), [1.5, 2.0], weights=r.weights).reward,
    "reward_curves": lambda r: (
        metrics.reward_curves(
            {"before": both(r)[0], "after": both(r)[0] ** 2},
            both(r)[1],
            [1.5, 2.0],
            weights=r.weights,
        )["after"].gain
    ),
    "smooth_calibration_error": lambda r: metrics.smooth_calibration_error(
        *both(r), weights=r.weights
    ),
    "summarize": lambda r: lore.summarize(r, r.features, groups=r.groups["site"]).values[
        ["accuracy", "mean_confidence", "NLL", "Brier", "ALCE", "ECE", "MCE", "max group gap"]
    ],
}


def local_of(r):
    return lore.local_errors(*both(r), r.features, weights=r.weights)


def compared(r, name):
    known, new = halves(r)
    found = lore.compare(known, new, [recalibration.TemperatureScaling()])
    return found.table[name]


def shipped_difference(r):
    known, new = halves(r)
    plain = [
        dataclasses.replace(rows, features=None, groups=None, weights=None) for rows in (known, new)
    ]
    exact = recalibration.IsotonicRegression().fit(plain[0])
    other = recalibration.HistogramBinning().fit(plain[0])
    rows = dataclasses.replace(plain[1], weights=new.weights)
    found = comparison.confidence_difference(exact, other, rows)
    return found.mean, found.table["NLL"].iloc[0]


def region_recalibrated(r):
    known, new = halves(r)
    found = regions.recalibrate_region(known, new, *(np.ones(len(x), bool) for x in (known, new)))
    return found.table["gap"]


def from_classifier(r):
    model = LogisticRegression().fit(r.features, r.labels)
    return lore.from_estimator(model, r.features, r.labels, weights=r.weights).accuracy


#: Other numbers than those of rows that count alike: tests, intervals, draws and halves of rows.
OTHERWISE = {
    "calibration_intervals": lambda r: inference.calibration_intervals(
        *both(r), weights=r.weights, n_draws=39
    )["value"],
    "compare": lambda r: compared(r, "NLL"),
    "confidence_difference": shipped_difference,
    "find_subgroups": lambda r: (
        lore.find_subgroups(r).confidence,
        lore.find_subgroups(r).accuracy,
    ),
    "from_estimator": from_classifier,
    "local_significance": lambda r: (
        lore.local_significance(*both(r), r.features, weights=r.weights).z
    ),
    "null_band": lambda r: (
        inference.null_band(r.confidence, r.features, [0.5], weights=r.weights, n_draws=9).alce
    ),
    "null_errors": lambda r: inference.null_errors(
        r.confidence, r.features, weights=r.weights, n_draws=9
    ).expected("alce"),
    "overall_gap": lambda r: regions.overall_gap(*both(r), weights=r.weights).gap_p,
    "rank_variables": lambda r: lore.rank_variables(r).select_dtypes("number"),
    "recalibrate_region": region_recalibrated,
    "row_evidence": lambda r: lore.row_evidence(r, r.features, 3).accuracy,
    # (Neighbours are counted off: of repeated rows the same share is other rows.)
    "smooth_gap": lambda r: regions.smooth_gap(
        *both(r), r.features[:, 0], bandwidth=0.5, n_points=5, weights=r.weights
    )["gap"],
    "suggest_bandwidth": lambda r: (
        lore.suggest_bandwidth(*both(r), r.features, [0.1, 0.5, 2.0], weights=r.weights).loss
    ),
}
REFUSED = {
    "estimate_gains": lambda r: comparison.estimate_gains(*halves(r)),
    "vector_curve": lambda r: metrics.vector_curve(r, r.features, [1.0]),
    "vector_errors": lambda r: metrics.vector_errors(r, r.features),
}
#: Tested where they are: pages, report, files, runs and scikit-learn's classifier.
ELSEWHERE = {
    "Dataset", "LoReClassifier", "compare_runs", "landscape", "launch", "save_npz", "write_report",
}  # fmt: skip
#: They count rows, whatever these weigh, or choose some of them; the decision says why.
BY_ROWS = {
    "class_positions", "class_table", "composition", "confidence_bins",
    "loss_parts", "make_map", "reward_parts", "row_table", "rows_with",
    "telling_column", "telling_rows", "vector_band", "vector_chance", "with_text_features",
}  # fmt: skip


def takes_rows():
    """Public functions, and classes that are no results, with a parameter for rows."""
    found = set()
    for room in ("", *ROOMS):
        module = importlib.import_module(f"lore_core.{room}".rstrip("."))
        for name in dir(module):
            item = getattr(module, name)
            if name.startswith("_") or not callable(item):
                continue
            asks = {"fit", "__init__"} if inspect.isclass(item) else {"__call__"}
            if inspect.isclass(item) and (dataclasses.is_dataclass(item) and name != "Dataset"):
                continue  # a result
            if inspect.isclass(item) and issubclass(item, lore.Recalibrator):
                continue  # every one is fitted below
            calls = [getattr(item, ask, None) for ask in asks] if inspect.isclass(item) else [item]
            for call in calls:
                try:
                    asked = set(inspect.signature(call).parameters)
                except (TypeError, ValueError):
                    continue
                if asked & ROWS:
                    found.add(name)
    return found


def test_every_public_name_is_accounted_for():
    told = {*AS_REPEATED, *OTHERWISE, *REFUSED, *ELSEWHERE, *BY_ROWS}
    assert takes_rows() == told
    named = re.findall(r"`(\w+)`", DECISION.read_text(encoding="utf-8"))
    assert {*REFUSED, *BY_ROWS} - {*named} == set()


@pytest.fixture(scope="module")
def rows():
    times = np.random.default_rng(1).integers(1, 5, 120)
    weighted, plain = some_rows(weights=times), some_rows()
    return weighted, plain.rows(np.repeat(np.arange(120), times)), plain


def values(found):
    if isinstance(found, list):
        return np.array(found, dtype=object)
    return np.asarray(found, dtype=np.float64)


@pytest.mark.parametrize("name", AS_REPEATED)
def test_weighted_rows_are_repeated_rows(rows, name):
    weighted, repeated, plain = (values(AS_REPEATED[name](one)) for one in rows)
    if weighted.dtype == object:
        assert weighted.tolist() == repeated.tolist() != plain.tolist()
        return
    np.testing.assert_allclose(weighted, repeated, rtol=1e-8, atol=1e-9)
    assert not np.allclose(weighted, plain, rtol=1e-3, equal_nan=True)


@pytest.mark.parametrize("name", OTHERWISE)
def test_weights_change_the_numbers(rows, name):
    weighted, plain = (values(OTHERWISE[name](one)) for one in (rows[0], rows[2]))
    assert not np.allclose(weighted, plain, rtol=1e-3, equal_nan=True)


@pytest.mark.parametrize("name", REFUSED)
def test_weights_are_refused(rows, name):
    with pytest.raises(lore.InputError, match="weight"):
        REFUSED[name](rows[0])
    REFUSED[name](rows[2])


def test_every_metric_of_the_catalogue_goes_by_the_weights():
    """Of heavy rows every confidence is right, of the others none is: nothing of them is left."""
    rng = np.random.default_rng(5)
    n = 4000
    c, heavy = rng.uniform(0.55, 0.95, n), np.arange(n) % 2 == 0
    right = np.where(heavy, rng.random(n) < c, 0).astype(int)
    groups = pd.DataFrame({"site": rng.choice(["a", "b"], n)})
    z, p = rng.normal(size=(n, 2)), np.column_stack([1 - c, c])
    some = lore.Dataset(p, right, z, groups, predictions=[1] * n)
    weighed = dataclasses.replace(some, weights=np.where(heavy, 1e6, 1.0))
    light, by_weight, only = (
        lore.summarize(rows, rows.features, gamma=1.0, groups=rows.groups["site"], n_bins=5)
        for rows in (some, weighed, some.rows(heavy))
    )
    for one, other, alone in (
        (light.values, by_weight.values, only.values),
        (light.details, by_weight.details, only.details),
    ):
        for name in one.index.drop("mean_confidence", errors="ignore"):
            assert abs(other[name] - alone[name]) < 0.3 * abs(one[name] - alone[name]), name


def test_no_recalibrator_is_left_out():
    """What is not in the registry is composed of it, refuses weights, or hands them on."""
    in_registry = {type(method) for method in own_recalibrators()}
    others = {
        item
        for item in vars(importlib.import_module("lore_core.recalibration")).values()
        if inspect.isclass(item) and issubclass(item, lore.Recalibrator)
    } - {*in_registry, lore.Recalibrator}
    assert {item.__name__ for item in others} <= {"GroupWise", "MCGrad", "LocalAccuracy"}
    assert not lore.MCGrad.takes_weights
    assert lore.GroupWise(recalibration.TemperatureScaling()).takes_weights
    assert not lore.GroupWise(recalibration.VennAbers()).takes_weights
