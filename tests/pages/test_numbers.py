import base64

import numpy as np
import pytest
import streamlit as st

import lore_core as lore
from lore_core.data.dataset import EVALUATION
from lore_core.data.defaults import ROUND_GAMMAS
from lore_core.metrics.catalogue import GLOBAL_TILES, TILES
from lore_core.view import View
from lore_core.view.methods import summary_of
from pages.shared import tasks

METHODS = ("No recalibration", "Temperature scaling", "LoRe")


@pytest.fixture
def embedding(dataset):
    return lore.embed(dataset.features, "pca", 2, random_state=0).coordinates


@pytest.fixture
def points(dataset, embedding):
    return embedding[dataset.in_split(EVALUATION)]


def array(value):
    if not isinstance(value, dict):
        return np.array([np.nan if item is None else item for item in value], dtype=float)
    flat = np.frombuffer(base64.b64decode(value["bdata"]), np.dtype(value["dtype"]))
    shape = [int(n) for n in str(value.get("shape", len(flat))).split(",")]
    return flat.reshape(shape).astype(float)


@pytest.mark.parametrize(
    ("target", "binning", "bins", "gamma"),
    [("top-label", "equal-width", 15, 0.4), ("1", "equal-mass", 8, 1.5)],
)
def test_overview(open_page, dataset, points, target, binning, bins, gamma):
    page = open_page(
        "overview", dataset, target=target, binning=binning, bins=bins, gamma=float(gamma)
    )
    rows = dataset.evaluation
    wanted, target = target, target if target == "top-label" else int(target)
    target_rows = rows.target(target)
    c, a = target_rows.confidence, target_rows.outcome
    how = {"n_bins": bins, "binning": binning}
    lce = lore.local_calibration_error(c, a, points, gamma=gamma, **how)
    expected = {
        "accuracy, %": f"{a.mean() * 100:.1f}",
        "mean confidence, %": f"{c.mean() * 100:.1f}",
        "ECE, points": f"{lore.expected_calibration_error(c, a, **how) * 100:.1f}",
        "MCE, points": f"{lore.maximum_calibration_error(c, a, **how) * 100:.1f}",
        "ALCE, points": f"{lce.mean() * 100:.1f}",
        "MLCE, points": f"{lce.max() * 100:.1f}",
        "NLL, nats": f"{lore.negative_log_likelihood(rows.probabilities, rows.labels):.3f}",
        "Brier": f"{lore.brier_score(rows.probabilities, rows.labels):.3f}",
    }
    listed = open_page(
        "overview",
        dataset,
        target=wanted,
        binning=binning,
        bins=bins,
        gamma=float(gamma),
        overview_tab="All metrics",
    ).table("metric", "observed")
    observed = dict(zip(listed["metric"], listed["observed"], strict=True))
    assert {name: observed[name] for name in expected} == expected
    shown = page.metrics
    assert list(shown) == [metric.title for metric in TILES]
    table = lore.reliability_table(c, a, **how)
    bars = next(t for t in page.figure("reliability")["data"] if t.get("name") == "accuracy")
    np.testing.assert_allclose(array(bars["y"]), table.accuracy[table.count > 0] * 100)
    search = lore.find_subgroups(rows, points, target=target, gamma=gamma)
    said = lore.regions.conclude(
        lore.regions.overall_gap(c, a, **how), search, top_label=target == "top-label"
    )
    assert page.plain.count(said.sentence) == 1
    on = {"PCA 2-D": lore.embed(dataset.features, "pca", 2, random_state=0)}
    found = summary_of(View(dataset, target, float(gamma), bins, binning, on)).intervals
    deltas = {item.label: item.delta for item in page.app.metric}
    for metric in TILES:
        estimate, low, high = found.loc[metric.name, ["estimate", "low", "high"]]
        assert low <= estimate <= high
        assert shown[metric.title] == metric.text_alone(estimate)
        assert metric.interval_text(low, high) in deltas[metric.title]


def test_overview_without_features_shows_what_is_global(open_page, made):
    dataset = made(n_features=0)
    page = open_page("overview", dataset)
    assert list(page.metrics) == [metric.title for metric in GLOBAL_TILES]
    rows = dataset.evaluation
    nll = lore.negative_log_likelihood(rows.probabilities, rows.labels)
    assert page.metrics["NLL"] == f"{nll:.3f}"
    # Where only the confidence was known there is no likelihood.
    shown = open_page("overview", made(n_features=0, complete=False)).metrics
    assert shown["NLL"] == shown["Brier"] == "—"
    assert shown["ECE"] != "—"


def test_landscape_field_of_one_bin(open_page, dataset, points):
    rows = dataset.evaluation
    table = lore.reliability_table(rows.confidence, rows.outcome, n_bins=5)
    index = table.worst_bin(30)
    page = open_page("landscape", dataset, gamma=1.0, bins=5, bin="worst", color="absolute error")
    field = lore.error_field(
        rows.confidence,
        rows.outcome,
        points,
        gamma=1.0,
        rows=table.bins.assign(rows.confidence) == index,
    )
    step = np.nanmax(np.abs(field.signed)) / 127
    np.testing.assert_allclose(page.field, field.signed, atol=step / 2 + 1e-9)
    assert page.scene["field"]["x"] == field.x[[0, -1]].tolist()
    assert page.scene["scale"]["signed"] is False
    assert table.bins.name(index) in page.text
    assert f"{table.count[index]:,} rows" in page.text
    name = table.bins.name(index)
    by_name = open_page("landscape", dataset, gamma=1.0, bins=5, bin=name, color="absolute error")
    np.testing.assert_array_equal(by_name.field, page.field)


def test_landscape_of_every_bin_at_once(open_page, dataset, points):
    rows = dataset.evaluation
    found = lore.local_errors(rows.confidence, rows.outcome, points, gamma=1.0, n_bins=5)
    field = lore.regions.smoothed_field(found.signed, found.effective_size, points)
    page = open_page("landscape", dataset, gamma=1.0, bins=5)
    step = np.nanmax(np.abs(field.signed)) / 127
    np.testing.assert_allclose(page.field, field.signed, atol=step / 2 + 1e-9)
    worst = lore.regions.worst_rows(found, n_rows=30, min_effective_size=10.0)
    np.testing.assert_array_equal(page.scene["worst"], worst)
    errors = page.scene["rowError"] / 32767
    np.testing.assert_allclose(errors, found.signed, atol=1 / 32767)
    np.testing.assert_array_equal(page.drawn_rows["bin"], found.bin_index)
    np.testing.assert_array_equal(page.drawn_rows["x"], points[:, 0].astype(np.float32))
    side = {"gamma": 1.0, "bins": 5, "beside": "LCE over rows"}
    line = open_page("landscape", dataset, **side).figure("cdf")["data"][0]
    np.testing.assert_allclose(array(line["x"])[-1], found.maximum * 100)
    page = open_page("landscape", dataset, **side, beyond="true")
    chance, line, *_ = page.figure("cdf")["data"]
    np.testing.assert_allclose(array(line["x"])[-1], found.maximum * 100)
    low, high = lore.null_errors(rows.confidence, points, gamma=1.0, n_bins=5).band()
    np.testing.assert_allclose(array(chance["x"]), np.concatenate([high, low[::-1]]) * 100)


def test_bandwidth(open_page, dataset, points, embedding):
    rows = dataset.evaluation
    page = open_page("bandwidth", dataset, bins=5, metric="ALCE", why=True, three_maps=True)
    curve = lore.bandwidth_curve(rows.confidence, rows.outcome, points, ROUND_GAMMAS, n_bins=5)
    chance, line = page.figure("curve")["data"]
    np.testing.assert_allclose(array(line["x"]), curve.gamma)
    np.testing.assert_allclose(array(line["y"]), curve.alce * 100)
    low, high = lore.null_band(rows.confidence, points, ROUND_GAMMAS, n_bins=5).band("alce")
    np.testing.assert_allclose(array(chance["y"]), np.concatenate([high, low[::-1]]) * 100)
    fitted_on = dataset.calibration
    best = lore.suggest_bandwidth(
        fitted_on.confidence,
        fitted_on.outcome,
        embedding[dataset.in_split("calibration")],
        ROUND_GAMMAS,
        n_bins=(1, 5, 10, 15, 30, 50),
    )
    lines = page.figure("suggestion")["data"]
    for line, loss in zip(lines, best.loss, strict=False):
        np.testing.assert_allclose(array(line["y"]), loss)
    assert f"γ = {best.gamma:.2g}" in page.text
    assert sum(name.startswith("field_at_") for name in page.figures) == 3


def test_recalibrate(open_page, dataset, points, embedding):
    settings = {"bins": 5, "gamma": 1.0, "recalibrate_tab": "All metrics"}
    page = open_page("recalibrate", dataset, methods=METHODS, **settings)
    fitted = lore.LoRe(1.0, 5).fit(dataset.calibration, embedding[dataset.in_split("calibration")])
    after = fitted.recalibrate(dataset.evaluation, points)
    lce = lore.local_calibration_error(after.confidence, after.outcome, points, gamma=1.0, n_bins=5)
    table = page.table("ALCE", "accuracy")
    assert table.index[0] == "No recalibration"
    estimates = lore.calibration_intervals(
        after.confidence, after.outcome, points, gamma=1.0, n_bins=5, n_draws=60
    )["estimate"]
    assert table.loc["LoRe", "ALCE"].split()[0] == f"{estimates['ALCE'] * 100:.1f}"
    nll = [float(text) for text in page.tables[0]["NLL, nats"]]
    assert nll == sorted(nll)
    assert "MLCE" not in table  # of single rows: in the CSV
    assert "MLCE supported" in table
    rows = dataset.evaluation
    assert table.loc["No recalibration", "accuracy"].split()[0] == f"{rows.accuracy * 100:.1f}"
    assert table["accuracy"].nunique() == 1
    before = lore.local_calibration_error(
        rows.confidence, rows.outcome, points, gamma=1.0, n_bins=5
    )
    assert lce.mean() < before.mean()


def test_before_and_after_have_one_colour_scale(open_page, dataset):
    page = open_page("recalibrate", dataset, methods=METHODS, bins=5, gamma=1.0, maps="two")
    first, second = (
        next(t for t in page.figure(key)["data"] if t["type"] == "heatmap")
        for key in ("landscape_before", "landscape_after")
    )
    assert first["zmin"] == second["zmin"] == -first["zmax"] == -second["zmax"]
    assert first["colorscale"] == second["colorscale"]
    assert array(first["z"]).shape == array(second["z"]).shape
    assert first["z"] != second["z"]


def test_a_curve_does_not_wait_for_what_chance_shows(open_page, dataset, monkeypatch):
    _, line = open_page("bandwidth", dataset).figure("curve")["data"]
    # What takes long is not there yet, and the reader leaves meanwhile.
    monkeypatch.setattr(tasks, "is_ready", lambda request, *seconds: False)
    monkeypatch.setattr(tasks, "await_result", lambda request, into: st.stop())
    waiting = open_page("bandwidth", dataset, why=True)
    assert "Simulating what a calibrated model would show" in waiting.text
    (alone,) = waiting.figure("curve")["data"]
    np.testing.assert_array_equal(array(alone["y"]), array(line["y"]))
    assert "would take too long" not in waiting.text
    assert "suggestion" in waiting.figures
