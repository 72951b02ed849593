"""Every public name that takes rows: it goes by their weights, refuses them, or is said not to."""

import dataclasses
from operator import attrgetter, itemgetter

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import lore_core as lore
from lore_core import comparison, inference, metrics, recalibration, regions
from lore_core.regions.variables.attributes import Predicate
from tests.data.test_weights import some_rows


def halves(r):
    one, two = np.arange(len(r)) % 2 == 0, np.arange(len(r)) % 2 == 1
    return r.rows(one), r.rows(two)


def first_bin(r):
    return r.features[:, 0] > 0


def both(r):
    return r.confidence, r.outcome


def call(function, *more, get=lambda found: found, **options):
    """Return what a function of outcomes and more of the rows finds, with their weights."""

    def on(r):
        given = [item(r) if callable(item) else item for item in more]
        return get(function(*both(r), *given, weights=r.weights, **options))

    return on


def z(r):
    return r.features


def site(r):
    return r.groups["site"]


def probabilities_and_labels(function):
    return lambda r: function(r.probabilities, r.labels, weights=r.weights)


ACCURACY = itemgetter(
    ["accuracy", "mean_confidence", "NLL", "Brier", "ALCE", "ECE", "MCE", "max group gap"]
)
COARSE = {"gamma": 0.5, "resolution": 12, "min_effective_size": 0}
GAP, SIGNED = itemgetter("gap"), attrgetter("signed")
#: Of rows with whole weights and of as often repeated ones the same number.
AS_REPEATED = {
    "average_local_calibration_error": call(lore.average_local_calibration_error, z),
    "bandwidth_curve": call(lore.bandwidth_curve, z, [0.1, 1.0], get=attrgetter("alce")),
    "brier_score": probabilities_and_labels(lore.brier_score),
    "calibration_line": call(metrics.calibration_line, get=lambda found: np.array(found)[:, 0]),
    "compare_groups": lambda r: comparison.compare_groups({"as it is": r}, r.groups["site"])["gap"],
    "compare_rewards": lambda r: comparison.compare_rewards({"a": r}, [1.5, 2.0])["a"].reward,
    "error_field": call(lore.error_field, z, get=SIGNED, **COARSE),
    "expected_calibration_error": call(lore.expected_calibration_error),
    "gap_along": call(lore.gap_along, site, get=GAP),
    "gap_grid": call(
        regions.gap_grid, site, lambda r: r.predictions.astype(str), get=GAP, min_rows=1
    ),
    "group_report": call(lore.group_report, site, get=itemgetter("ece"), n_draws=0),
    "groupwise_calibration_error": call(
        metrics.groupwise_calibration_error, site, get=itemgetter("mce")
    ),
    "groupwise_maximum_calibration_error": call(
        lore.groupwise_maximum_calibration_error, site, n_bins=3
    ),
    "isotonic_reliability": call(
        metrics.isotonic_reliability, get=attrgetter("miscalibration"), n_draws=39
    ),
    "local_calibration_error": call(lore.local_calibration_error, z, get=np.max),
    "local_errors": lambda r: local_of(r).average,
    "maximum_calibration_error": call(lore.maximum_calibration_error, n_bins=3),
    "maximum_local_calibration_error": call(lore.maximum_local_calibration_error, z),
    "maximum_mean_calibration_error": call(recalibration.maximum_mean_calibration_error),
    "measure_subgroups": lambda r: regions.measure_subgroups(
        r, [regions.SavedSubgroup((Predicate("site", "a"),))]
    )["gap"],
    "negative_log_likelihood": probabilities_and_labels(lore.negative_log_likelihood),
    "region_report": call(lore.region_report, first_bin, get=attrgetter("gap")),
    "reliability_table": call(lore.reliability_table, get=attrgetter("accuracy")),
    "reward_curve": call(lore.reward_curve, [1.5, 2.0], get=attrgetter("reward")),
    "reward_curves": lambda r: (
        metrics.reward_curves(
            {"before": both(r)[0], "after": both(r)[0] ** 2},
            both(r)[1],
            [1.5, 2.0],
            weights=r.weights,
        )["after"].gain
    ),
    "smooth_calibration_error": call(metrics.smooth_calibration_error),
    "summarize": lambda r: ACCURACY(lore.summarize(r, r.features, groups=site(r)).values),
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


def from_classifier(r):
    model = LogisticRegression().fit(r.features, r.labels)
    return lore.from_estimator(model, r.features, r.labels, weights=r.weights).accuracy


#: Other numbers than those of rows that count alike: tests, intervals, draws and halves of rows.
OTHERWISE = {
    "calibration_intervals": call(
        inference.calibration_intervals, get=itemgetter("value"), n_draws=39
    ),
    "compare": lambda r: compared(r, "NLL"),
    "confidence_difference": shipped_difference,
    "find_subgroups": lambda r: attrgetter("confidence", "accuracy")(lore.find_subgroups(r)),
    "from_estimator": from_classifier,
    "multicalibration_error": call(metrics.multicalibration_error, site),
    "null_band": lambda r: (
        inference.null_band(r.confidence, r.features, [0.5], weights=r.weights, n_draws=9).alce
    ),
    "null_errors": lambda r: inference.null_errors(
        r.confidence, r.features, weights=r.weights, n_draws=9
    ).alce.mean(),
    "overall_gap": call(regions.overall_gap, get=attrgetter("gap_p")),
    "rank_variables": lambda r: lore.rank_variables(r).select_dtypes("number"),
    # (Neighbours are counted off: of repeated rows the same share is other rows.)
    "smooth_gap": call(regions.smooth_gap, lambda r: r.features[:, 0], get=GAP),
    "suggest_bandwidth": call(lore.suggest_bandwidth, z, [0.1, 0.5, 2.0], get=attrgetter("loss")),
}
REFUSED = {
    "estimate_gains": lambda r: comparison.estimate_gains(*halves(r)),
    "vector_errors": lambda r: metrics.vector_errors(r, r.features),
}


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
