import dataclasses
import gzip
import io
import json
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import lore_core as lore
from lore_core import figures
from lore_core.cli import main
from lore_core.data.defaults import ROUND_GAMMAS
from lore_core.metrics import answer_threshold, risk_curve


class TestMetrics:
    def test_rows_by_a_pipe_and_where_p_is_clipped(self, run, monkeypatch):
        rows = gzip.compress(
            b'{"label": 1, "p": 0.8}\n{"label": 0, "p": 0.3}\n{"label": 1, "p": 1e-7}\n'
        )
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(rows)))
        text = run("metrics", "-", "--calibration-share", "0")
        full = -np.log([0.8, 0.7, 1e-7]).mean()
        assert f"1e-6 as 1e-6; without that it is {full:.3f} (1 such row)." in text

    def test_values(self, run_json, file, dataset, points):
        found = run_json("metrics", file, "--draws", "0", "--gamma", "0.3", "--bins", "5")
        summary = lore.summarize(dataset.evaluation, points, gamma=0.3, n_bins=5)
        for name, value in summary.values.items():
            assert found["metrics"][name]["value"] == value
        metrics = found["metrics"]
        errors = ("ECE", "MCE", "ALCE", "MLCE", "MLCE supported")  # simulated only when asked for
        assert {metrics[name]["low"] for name in errors} == {None}
        assert found["gamma"] == 0.3
        assert (found["evaluation_rows"], found["calibration_rows"]) == (800, 800)

    def test_intervals_and_chance(self, run_json, file, points, known):
        found = run_json("metrics", file, "--draws", "60", "--seed", "3")["metrics"]
        intervals = lore.calibration_intervals(*known, points, n_draws=60, random_state=3)
        assert found["MLCE"]["high"] == intervals.loc["MLCE", "high"]
        chance = lore.null_errors(known[0], points, n_draws=60, random_state=3)
        assert found["ALCE"]["p_value"] == chance.p_value("alce", found["ALCE"]["value"])
        assert found["ALCE"]["p_value"] < 0.05 < found["ECE"]["p_value"]

    def test_one_class_and_without_a_map_only_what_is_global(self, run_json, file, dataset):
        found = run_json("metrics", file, "--target", "positive", "--draws", "0")
        rows = dataset.evaluation.target(1)
        ece = lore.expected_calibration_error(rows.confidence, rows.outcome)
        assert found["metrics"]["ECE"]["value"] == ece
        assert found["target"] == "class positive"
        found = run_json("metrics", file, "--map", "none", "--draws", "0")
        assert "MLCE" not in found["metrics"]
        assert {item["kind"] for item in found["subgroups"]} <= {"slice"}
        assert found["gamma"] is None

    def test_rows_without_a_split_are_divided_as_in_the_dashboard(self, run, dataset, tmp_path):
        undivided = tmp_path / "undivided.npz"
        lore.save_npz(dataclasses.replace(dataset, split=None), undivided)
        note = (
            "lore: undivided names no split: 800 rows, chosen at random, are evaluated "
            "(--calibration-share 0: all).\n"
        )
        options = ("--map", "none", "--draws", "0", "--json")
        found = json.loads(run("metrics", undivided, *options, error=note))
        halves = lore.load(undivided).with_split(0.5, random_state=0)
        assert found["metrics"]["accuracy"]["value"] == halves.evaluation.outcome.mean()
        everything = json.loads(run("metrics", undivided, *options, "--calibration-share", "0"))
        assert everything["evaluation_rows"] == 1600


class TestLandscape:
    @pytest.mark.parametrize("beyond_chance", [False, True])
    def test_one_bin_is_the_exact_field(
        self, run, file, dataset, points, known, tmp_path, beyond_chance
    ):
        out = tmp_path / "nodes.parquet"
        more = ["--significant-only", "--against", "zero"] if beyond_chance else []
        run("landscape", file, "--bin", "0.7", "--bins", "3", "--gamma", "0.4", "-o", out, *more)
        search = lore.find_subgroups(dataset.evaluation, points, gamma=0.4, against="zero")
        table = lore.reliability_table(*known, n_bins=3)
        rows = table.bins.assign(known[0]) == table.bins.assign([0.7])[0]
        only = search.inside() if beyond_chance else None
        field = lore.error_field(*known, points, gamma=0.4, rows=rows, only=only)
        nodes, shown = pd.read_parquet(out), field.signed[np.isfinite(field.signed)]
        assert 0 < len(shown) == len(nodes)
        np.testing.assert_array_equal(nodes["signed_error"], shown)

    def test_what_is_drawn(self, run, file, monkeypatch, tmp_path):
        drawn, draw, out = [], figures.landscape_figure, tmp_path / "map.html"

        def watched(*arguments, **options):
            drawn.append((arguments, options))
            return draw(*arguments, **options)

        monkeypatch.setattr(figures, "landscape_figure", watched)
        said = run("landscape", file, "-o", out, "--gamma", "0.4", "--theme", "dark")
        assert said.endswith(f"Wrote {out}.\n")
        assert b"Plotly.newPlot" in out.read_bytes()
        assert figures.style.PAPER["dark"].encode() in out.read_bytes()
        run("landscape", file, "-o", out, "--absolute")
        (field, _), options = drawn[0]
        assert not field.exact
        assert options["value"] == "signed"
        assert [name for name, _ in options["found"]][:1] == ["1"]
        assert drawn[1][1]["value"] == "absolute"


class TestCurve:
    def test_numbers(self, run_json, file, dataset, points, known):
        found = run_json("curve", file, "--draws", "20")
        curve = lore.bandwidth_curve(*known, points, ROUND_GAMMAS)
        table = pd.DataFrame(found["curve"])
        for name in ("gamma", "mlce", "alce"):
            np.testing.assert_array_equal(table[name], getattr(curve, name))
        band = lore.null_band(known[0], points, ROUND_GAMMAS, n_draws=20)
        np.testing.assert_array_equal(table["mlce_chance_high"], band.band("mlce")[1])
        assert found["limits"]["PCA 2-D"]["mlce_infinity"] == curve.mlce_infinity

    def test_several_maps(self, run, file, tmp_path):
        out, figure = tmp_path / "curve.csv", tmp_path / "curve.html"
        arguments = ("--map", "pca", "--map", "identity", "--draws", "0")
        run("curve", file, *arguments, "--metric", "alce", "-o", out, "-o", figure)
        table = pd.read_csv(out)
        assert list(table["map"].unique()) == ["PCA 2-D", "All features"]
        assert len(table) == 2 * len(ROUND_GAMMAS)
        assert "mlce_chance_low" not in table
        assert b"ALCE against bandwidth" in figure.read_bytes()


class TestPlaces:
    def test_are_those_of_the_library(self, run, run_json, file, dataset, points):
        options = ("subgroups", file, "--gamma", "0.3", "--against", "zero")
        found = run_json(*options)
        search = lore.find_subgroups(dataset.evaluation, points, gamma=0.3, against="zero")
        assert len(search.subgroups) >= 1
        for item, place in zip(found["subgroups"], search.subgroups, strict=True):
            assert item["sentence"] == lore.regions.describe_subgroup(place)
            assert item["evidence"] == lore.regions.evidence_of(place, search)
            assert item["gap"] == place.gap
            assert item["held_out_p_adjusted"] == place.held.p_adjusted
        assert (found["tried"], found["against"]) == (search.tried, "zero")
        text = run(*options)
        assert all(item["sentence"] in text for item in found["subgroups"])
        assert f"of {search.tried} subgroups tested" in text
        # A region is described.
        found = run_json("subgroups", file, "--gamma", "0.3")["subgroups"]
        search = lore.find_subgroups(dataset.evaluation, points, gamma=0.3)
        coded = lore.regions.variables.attributes.telling_attributes(dataset.evaluation)
        for number, (item, place) in enumerate(zip(found, search.subgroups, strict=True)):
            made_of = lore.composition(dataset.evaluation, search.mask(number), coded=coded)
            assert item["made_of"] == (lore.describe_composition(made_of) * place.is_region)

    def test_saved_subgroups_are_measured_again(self, run, run_json, file, dataset, tmp_path):
        saved = tmp_path / "subgroups.json"
        found = run_json("subgroups", file, "--map", "none", "--against", "zero", "--save", saved)
        assert found["subgroups"]
        known = lore.regions.load_subgroups(saved)
        assert [item.id for item in known] == [item["id"] for item in found["subgroups"]]
        again = run_json("subgroups", file, "--file", saved)["subgroups"]
        table = lore.regions.measure_subgroups(dataset.evaluation, known)
        assert [item["gap"] for item in again] == table["gap"].tolist()
        assert all(item["found_here"] for item in again)
        text = run("subgroups", file, "--file", saved)
        assert all(sentence in text for sentence in table["sentence"])
        assert "No subgroup was measured on rows that had no part in finding it" in text


class TestCompare:
    METHODS = ("--method", "No recalibration", "--method", "LoRe")

    def test_one_dataset(self, run, run_json, file, dataset, points, tmp_path):
        out = tmp_path / "methods.parquet"
        options = (*self.METHODS, "--draws", "40", "--gamma", "0.3")
        found = run_json("compare", file, *options)
        coordinates = lore.embed(dataset.features, "pca", 2).coordinates
        places = {
            "calibration_embedding": coordinates[dataset.in_split("calibration")],
            "evaluation_embedding": points,
        }
        groups = {"groups": dataset.evaluation.groups["region"], "min_group_size": 30}
        methods = [lore.NoRecalibration(), lore.LoRe(gamma=0.3)]
        halves = dataset.calibration, dataset.evaluation
        result = lore.compare(*halves, methods, **places, **groups, gamma=0.3, n_draws=40)
        expected = result.table.to_dict(orient="index")
        assert {name: found["methods"][name] for name in expected} == expected
        assert found["low"]["LoRe"] == result.low.to_dict(orient="index")["LoRe"]
        text = run("compare", file, *options, "-o", out)
        assert f"{result.table['MLCE supported']['LoRe'] * 100:.1f}" in text
        long = pd.read_parquet(out).set_index(["method", "metric"])
        apart = result.differences["Brier"].loc["LoRe"]
        assert long["difference_high"]["LoRe", "Brier"] == apart["high"]
        assert found["differences"]["Brier"]["LoRe"] == apart.to_dict()

    def test_without_a_map_or_features_only_global_methods(
        self, run_json, capsys, file, dataset, tmp_path
    ):
        found = run_json("compare", file, "--map", "none", "--draws", "0")
        assert "LoRe" not in found["methods"]
        assert "Temperature scaling" in found["methods"]
        path = tmp_path / "plain.npz"
        lore.save_npz(dataclasses.replace(dataset, features=None, feature_names=None), path)
        assert main(["compare", str(path), "--draws", "0"]) == 0
        out, err = capsys.readouterr()
        assert "none of 7 methods" in out or "best of 7" in out
        assert err == "lore: Left out, for the rows have no features: LoRe, LoRe smooth.\n"

    def test_a_directory_of_runs(self, run, run_json, dataset, tmp_path):
        (runs := tmp_path / "runs").mkdir()
        for seed in range(2):
            made = lore.demo.synthetic(400, n_features=4, random_state=seed).dataset
            p = made.probabilities.copy()
            row = made.in_split("evaluation").argmax()
            p[row] = [made.labels[row], 1 - made.labels[row]]  # None for the true class
            made = dataclasses.replace(made, probabilities=p)
            for split, ending in (("calibration", "cal"), ("evaluation", "test")):
                lore.save_npz(made.rows(made.in_split(split)), runs / f"run{seed}_{ending}.npz")
        options = (*self.METHODS, "--map", "pca-3", "--group", "region", "--jobs", "1")
        found = run_json("compare", runs, *options, "-o", out := tmp_path / "runs.parquet")
        settings = {"feature_map": "pca-3", "gamma": 0.4, "group_column": "region", "n_jobs": 1}
        result = lore.compare_runs(runs, [lore.NoRecalibration(), lore.LoRe(gamma=0.4)], **settings)
        assert found["mean"] == result.table.to_dict(orient="index")
        assert found["sd"] == result.sd.to_dict(orient="index")
        correlation = found["correlation_with_worst_group"]
        assert correlation["MLCE"] == result.correlation()["MLCE"]
        pd.testing.assert_frame_equal(pd.read_parquet(out), result.runs)
        text = run("compare", runs, *options)
        assert "Correlation with max group-wise MCE:" in text
        assert "2 runs. NLL counts p below 1e-6 as 1e-6; without that it is infinite (2 su" in text


class TestVariables:
    def test_one_column(self, run, run_json, file, dataset, tmp_path, known):
        out = tmp_path / "region.csv"
        text = run("variables", file, "--variable", "region", "-o", out)
        table = pd.read_csv(out)
        assert text.startswith("Along region the gap runs from ")
        for value, gap in zip(table["value"], table["gap"], strict=True):
            rows = (dataset.evaluation.groups["region"] == value).to_numpy()
            assert gap == pytest.approx((known[0] - known[1])[rows].mean())
            assert f"{gap * 100:+.1f}".replace("-", "−") in text


class TestGroupsAndCosts:
    METHODS = ("--method", "No recalibration", "--method", "Temperature scaling")

    @pytest.fixture
    def recalibrated(self, dataset):
        method = lore.TemperatureScaling().fit(dataset.calibration)
        return {
            "No recalibration": dataset.evaluation,
            "Temperature scaling": method.recalibrate(dataset.evaluation),
        }

    def test_groups(self, run, run_json, file, dataset, recalibrated, tmp_path):
        out = tmp_path / "groups.parquet"
        found = run_json("fairness", file, *self.METHODS, "--bins", "5", "-o", out)
        groups = dataset.evaluation.groups["region"].astype(str)
        worst = lore.compare_groups(recalibrated, groups, n_bins=5, min_group_size=30)
        assert found["methods"] == worst.to_dict(orient="index")
        reports = pd.read_parquet(out).set_index("method").loc["Temperature scaling"]
        after = recalibrated["Temperature scaling"]
        report = lore.group_report(after.confidence, after.outcome, groups, n_bins=5)
        assert list(reports["ece"]) == list(report["ece"])
        text = run("fairness", file, *self.METHODS, "--bins", "5")
        assert f"{worst['max_group_mce'].iloc[0] * 100:.1f}" in text

    def test_costs(self, run, run_json, file, recalibrated, tmp_path):
        out, figure = tmp_path / "reward.csv", tmp_path / "reward.html"
        options = (*self.METHODS, "--unsure-cost", "2", "--wrong-cost", "7")
        found = run_json("decisions", file, *options, "-o", out, "-o", figure)
        before = recalibrated["No recalibration"].confidence
        curves = {
            name: lore.reward_curve(item.confidence, item.outcome, [3.5], baseline=before)
            for name, item in recalibrated.items()
        }
        said = lore.metrics.describe_rewards(curves, unsure_cost=2, wrong_cost=7)
        assert found["sentence"] == said
        for name, curve in curves.items():
            assert found["methods"][name]["reward"] == curve.reward[0]
        assert set(pd.read_csv(out)["method"]) == set(recalibrated)
        assert b"Plotly.newPlot" in figure.read_bytes()
        assert run("decisions", file, *options).startswith(said)

    def test_answers_with_a_guaranteed_error_rate(
        self, run, run_json, refuses, file, recalibrated, dataset, tmp_path
    ):
        out, model = tmp_path / "risk.csv", tmp_path / "m.lore"
        options = (*self.METHODS, "--risk", "0.3", "--group", "region", "-o", out)
        found = run_json("decisions", file, *options)
        rows, after = dataset.calibration, recalibrated["Temperature scaling"]
        reference = lore.TemperatureScaling().fit(rows).recalibrate(rows).confidence
        curve = risk_curve(after.confidence, after.outcome, reference)
        n_joint = 2 * dataset.evaluation.groups["region"].nunique()
        wanted = answer_threshold(curve, 0.3, n_joint=n_joint)
        assert found["thresholds"]["Temperature scaling"] == vars(wanted)
        assert len(found["thresholds"]) == n_joint // 2 + 2
        assert set(pd.read_csv(out)["method"]) == set(recalibrated)
        fit = ("recalibrate", "--method", "temperature", "--risk", "0.3", "--save", model, "--fit")
        alone = answer_threshold(curve, 0.3)
        assert alone.sentence in run(*fit, file)
        assert lore.load_recalibrator(model).answer_threshold == alone
        lore.save_npz(dataclasses.replace(dataset, split=None), tmp_path / "undivided.npz")
        refuses("needs evaluation rows", *fit, tmp_path / "undivided.npz")
        refuses("goes with '--risk'", "decisions", file, "--group", "region")
