import numpy as np
import pandas as pd
import pytest

from lore_core import (
    Dataset,
    bandwidth_curve,
    error_field,
    figures as draw,
    gap_along,
    group_report,
    local_errors,
    reliability_table,
    reward_curve,
    suggest_bandwidth,
)
from lore_core.comparison import RunsComparison
from lore_core.metrics import answer_threshold, risk_curve
from lore_core.metrics.catalogue import MAX_GROUPWISE
from lore_core.regions import gap_grid, row_table, smooth_gap

NASTY = ("<b>x</b>", "a & b", "<script>alert(1)</script>")


@pytest.fixture(scope="session")
def dataset():
    rng = np.random.default_rng(3)
    n = 300
    probabilities = rng.dirichlet([2.0, 1.0, 0.5], n)
    labels = np.array([rng.choice(3, p=p) for p in probabilities])
    metadata = pd.DataFrame(
        {"<i>site</i>": rng.choice(NASTY, n), "age": rng.normal(40, 10, n), "note": NASTY[2]}
    )
    return Dataset(
        probabilities, labels, rng.normal(size=(n, 2)), metadata=metadata, class_names=NASTY
    )


@pytest.fixture(scope="session")
def points(dataset):
    return np.asarray(dataset.features, dtype=np.float64)


@pytest.fixture(scope="session")
def table(dataset):
    return reliability_table(dataset.confidence, dataset.outcome, n_bins=15)


@pytest.fixture(scope="session")
def errors(dataset, points):
    return local_errors(dataset.confidence, dataset.outcome, points, gamma=0.4, n_bins=5)


@pytest.fixture(scope="session")
def field(dataset, points, errors):
    options = {"gamma": 0.4, "resolution": 40, "min_effective_size": 5.0}
    known = dataset.confidence, dataset.outcome, points
    return error_field(*known, rows=errors.bin_index == 3, **options)


@pytest.fixture(scope="session")
def curves(dataset, points):
    def curve(z):
        return bandwidth_curve(dataset.confidence, dataset.outcome, z, np.geomspace(0.01, 100, 7))

    return {"<b>first</b>": curve(points), "one & only": curve(points[:, :1])}


@pytest.fixture(scope="session")
def runs():
    rng = np.random.default_rng(2)
    methods = ["No recalibration", "<b>LoRe</b> & co", "LoRe smooth"]
    return RunsComparison(
        pd.DataFrame(
            {
                "run": np.repeat([f"<i>r{i}</i>" for i in range(12)], 3),
                "method": methods * 12,
                "ECE": rng.uniform(0.01, 0.2, 36),
                "NLL": rng.uniform(0.3, 0.9, 36),
                "accuracy": 0.8,
                MAX_GROUPWISE: rng.uniform(0.2, 0.8, 36),
            }
        )
    )


@pytest.fixture(scope="session")
def charts(dataset, table, errors, field, curves, points, runs):
    c, a = dataset.confidence, dataset.outcome
    age, site = dataset.metadata["age"], dataset.metadata["<i>site</i>"]
    rows = row_table(dataset, np.arange(40), errors)
    space = np.column_stack([points, points[:, 0]])
    named = pd.DataFrame({"name": NASTY, "x": 0.0, "y": [0.0, 1.0, 2.0]})
    reports = dict.fromkeys(NASTY[:2], group_report(c, a, site, n_draws=0))
    rewards = {name: reward_curve(c**k, a, baseline=c) for k, name in enumerate(NASTY[:2], 1)}
    risks = {name: risk_curve(c**k, a, c**k) for k, name in enumerate(NASTY[:2], 1)}
    best = suggest_bandwidth(c, a, points)
    ages, smooth, sites = gap_along(c, a, age), smooth_gap(c, a, age), gap_along(c, a, site)
    grid = gap_grid(c, a, age, site)
    look = {"rows": NASTY[0]}
    on_map = look | {"limit": 0.3}
    known = on_map | {"n_total": 300}
    lce = {NASTY[1]: errors.absolute, "c": errors.absolute / 2}
    pair = {"names": ("age", NASTY[0]), "limit": 0.3, "min_rows": 20}
    return {
        "reliability": draw.reliability_figure(table, title=NASTY[2], **look),
        "landscape": draw.landscape_figure(field, points, worst=rows, labels=named, **known),
        "rows": draw.landscape_figure(None, points, points=rows, title=NASTY[2], **known),
        "3-D": draw.landscape_3d_figure(rows, space, **known),
        "surface": draw.surface_figure(field, **on_map),
        "cdf": draw.cdf_figure(lce, **look),
        "bandwidth": draw.bandwidth_figure(curves, gamma=0.2, **look),
        "suggestion": draw.suggestion_figure(best, **look),
        "groups": draw.group_figure(reports, **look),
        "rewards": draw.reward_figure(rewards, **look),
        "risk": draw.risk_figure(
            risks, {k: answer_threshold(risks[k], 0.5) for k in risks}, **look
        ),
        "runs": draw.runs_figure(runs, "ECE", **look),
        "scatter": draw.run_scatter_figure(runs, "ECE", **look),
        "number": draw.variable_figure(ages, name=NASTY[2], curve=smooth, **look),
        "names": draw.variable_figure(sites, name=NASTY[0], **look),
        "grid": draw.variable_grid_figure(grid, **pair, **look),
    }
