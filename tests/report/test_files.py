import dataclasses
import io
import json
import re

import numpy as np
import pandas as pd
import pytest

import lore_core as lore
from lore_core.data.progress import Cancelled
from lore_core.kernel_sums.schedule import fewer_threads
from lore_core.report import ReportSettings, report_files


def read(files, name):
    return pd.read_csv(io.BytesIO(files[f"tables/{name}.csv"]))


def test_the_same_inputs_give_the_same_bytes(files, make_dataset, view, settings):
    again = make_dataset()
    maps = {"PCA 2-D": lore.embed(again.features, "pca", 2, random_state=0)}
    with fewer_threads(1):  # one part after the other, not two at the same time
        others = report_files(view.with_(dataset=again, maps=maps), settings)
    assert [name for name in {**files, **others} if files.get(name) != others.get(name)] == []


def test_the_numbers_are_the_librarys(files, dataset, embedding, settings):
    rows = dataset.evaluation
    z = embedding.coordinates[dataset.in_split("evaluation")]
    local = lore.local_errors(rows.confidence, rows.outcome, z, gamma=0.4, n_bins=5)
    table = read(files, "rows")
    np.testing.assert_allclose(table["signed_error"], local.signed, atol=1e-12)
    np.testing.assert_array_equal(table["outcome"], rows.outcome.astype(bool))
    tempered = lore.TemperatureScaling().fit(dataset.calibration).recalibrate(rows)
    np.testing.assert_allclose(
        table["confidence after Temperature scaling"], tempered.confidence, atol=1e-12
    )
    long = read(files, "recalibrators").set_index(["method", "metric"])
    nll = lore.negative_log_likelihood(tempered.probabilities, rows.labels)
    assert long.loc[("Temperature scaling", "NLL"), "value"] == pytest.approx(nll, abs=1e-12)
    long = read(files, "recalibrators")
    nll = long[long["metric"] == "NLL"]["value"].to_numpy()
    assert len(nll) == 3
    assert (np.diff(nll) >= 0).all()


def test_csv_and_parquet_hold_the_same(files):
    names = {name[7:-4] for name in files if name.endswith(".csv")}
    assert {"metrics", "rows", "subgroups", "recalibrators", "groups", "decisions"} <= names
    for name in names:
        parquet = pd.read_parquet(io.BytesIO(files[f"tables/{name}.parquet"]))
        csv = read(files, name)
        assert list(csv) == list(parquet)
        assert len(csv) == len(parquet)
        for column in csv.select_dtypes("number"):
            # (pandas before 3 reads the last digits of a text as others.)
            np.testing.assert_allclose(csv[column], parquet[column].astype(float), rtol=1e-12)


def test_config_says_with_what(files, dataset, settings, make_dataset):
    config = json.loads(files["config.json"])
    assert config["settings"]["gamma"] == 0.4
    assert config["settings"]["methods"] == list(settings.methods)
    assert config["settings"]["n_draws"] == 20
    assert config["data"]["sha256"] == dataset.content_digest
    assert config["data"]["evaluation_rows"] == len(dataset.evaluation)
    assert config["seeds"] == {"simulations": 0, "feature map": 0}
    assert config["versions"]["numpy"] == np.__version__
    assert config["left_out"] == {}
    # (Every copy of a dataset rescales its probabilities, and with them their last bit.)
    digest = dataclasses.replace(dataset, name="one").content_digest
    assert dataclasses.replace(dataset, name="another").content_digest == digest
    labels = dataset.labels.copy()
    labels[7] = (labels[7] + 1) % 3
    predictions = dataset.predictions
    changed = dataclasses.replace(dataset, labels=labels, predictions=predictions)
    assert changed.content_digest != digest
    assert make_dataset(calibration=0.4).content_digest != digest
    assert make_dataset(images=False).content_digest != digest


def test_interactive_figures_need_no_network(files):
    pages = [name for name in files if re.fullmatch(r"figures/\w+\.html", name)]
    assert {"figures/landscape.html", "figures/decisions.html"} <= set(pages)
    assert len(files["figures/plotly.min.js"]) > 1_000_000
    assert re.findall(r'src="([^"]*)"', files[pages[0]].decode()) == ["plotly.min.js"]
    from xml.etree import ElementTree

    for page in pages:
        text = files[page.replace(".html", ".svg")]
        assert ElementTree.fromstring(text).attrib["width"] == "84mm"
        assert b"var(" not in text  # editors know no variables
        assert files[page.replace(".html", ".pdf")].startswith(b"%PDF")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_draws": -1}, "'n_draws' must be a whole number"),
        ({"unsure_cost": 3.0, "wrong_cost": 2.0}, "'unsure_cost' must not exceed 'wrong_cost'"),
        ({"methods": ("Magic",)}, "'methods' must be some of .* got 'Magic'"),
        ({"methods": ()}, "'methods' must name at least one"),
        ({"group_column": "town"}, r"'group_column' must be one of \['site'\]; got 'town'"),
    ],
)
def test_settings_are_checked_first(view, change, message):
    with pytest.raises(lore.InputError, match=message):
        report_files(view, ReportSettings(**change))
    with pytest.raises(lore.InputError, match="'target' must be one of top-label, 0, 1, 2; got 9"):
        report_files(view.with_(target=9), ReportSettings())


def test_progress_rises_and_may_stop_it(view, settings):
    shares = []

    def stop(share, words):
        shares.append(share)
        if share > 0.5:
            raise Cancelled

    with pytest.raises(Cancelled):
        report_files(view, settings, progress=stop)
    assert len(shares) > 5
    assert shares == sorted(shares)
