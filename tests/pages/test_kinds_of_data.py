"""Every page opens, without an exception, on every kind of data it may be given."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import page_names
import pandas as pd
import pytest

#: Those of one evaluation; Runs and Watch have rows of their own.
PAGES = tuple(name for name in page_names.PAGES if name not in ("runs", "watch"))
NASTY = ("<b>x</b>", "a & b", "**[link](http://x)** $y$ :red[z]")

FIGURES = {
    "data": [],
    "overview": ["reliability"],
    "landscape": ["chooser", "cdf"],
    "variables": ["along", "grid"],
    "bandwidth": ["curve", "suggestion"],
    "recalibrate": [
        "reliability_before",
        "reliability_after",
        "cdf_compare",
        "method_curves",
    ],
    "fairness": [],  # these data name no groups
    "decisions": ["reward"],
    "report": [],
}
GROUP_FIGURES = ["group_chart", "group_before", "group_after", "place_before", "place_after"]


@pytest.mark.parametrize("name", PAGES)
def test_the_demo(open_page, name):
    page = open_page(name)
    assert page.errors == []
    assert page.figures == (GROUP_FIGURES if name == "fairness" else FIGURES[name])
    assert page.title


@pytest.mark.parametrize("name", PAGES)
def test_a_small_classifier(open_page, made, name):
    page = open_page(name, made())
    assert page.errors == []
    assert page.figures == FIGURES[name]


@pytest.mark.parametrize("name", PAGES)
def test_without_features(open_page, made, name):
    page = open_page(name, made(n_features=0))
    assert page.errors == []
    if name == "data":
        assert "No features were loaded" in page.text
    elif name != "variables":
        assert "These data hold no features" in page.text
    shown = {"overview": ["reliability"], "decisions": ["reward"], "variables": ["along"]}
    assert page.figures == shown.get(name, [])
    if name == "recalibrate":
        (methods,) = [item for item in page.app.multiselect if item.key == "methods"]
        assert "LoRe" not in methods.options
        assert "Temperature scaling" in methods.value


@pytest.mark.parametrize("name", ["overview", "landscape", "recalibrate", "decisions"])
def test_weighted_rows(open_page, made, name):
    data = made()
    data = dataclasses.replace(data, weights=np.random.default_rng(0).lognormal(size=len(data)))
    page = open_page(name, data)
    assert page.errors == []
    assert "weighted" in page.text
    assert ("Venn–Abers cannot" in page.text) == (name in ("recalibrate", "decisions"))
    assert ("not said of weighted rows" in page.text) == (name == "decisions")


@pytest.mark.parametrize("name", PAGES)
def test_without_calibration_rows(open_page, made, name):
    page = open_page(name, made(calibration=None))
    assert page.errors == []
    if name == "recalibrate":
        assert "these data have none" in page.text
        assert page.figures == []
    if name == "bandwidth":
        assert "these data have none" in page.text
        assert page.figures == ["curve"]


@pytest.mark.parametrize("name", PAGES)
def test_one_feature(open_page, made, name):
    page = open_page(name, made(n_features=1), features="All features")
    assert page.errors == []
    if name == "landscape":
        assert "at least two features" in page.text
    if name == "overview":
        assert {item.label: item.value for item in page.app.metric}["MLCE"] != "—"


@pytest.mark.parametrize("name", PAGES)
def test_one_probability_column(open_page, made, name):
    binary = made(n_classes=2)
    column = dataclasses.replace(binary, probabilities=binary.probabilities[:, 1])
    page = open_page(name, column)
    assert page.errors == []
    assert page.figures == FIGURES[name]


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("n", [2, 3, 9])
def test_a_handful_of_rows(open_page, made, name, n):
    page = open_page(name, made(n=n, n_features=3))
    # One sentence where there is nothing to choose a bandwidth by; nothing else.
    assert [text for text in page.errors if "Use fewer bins" not in text] == []


@pytest.mark.parametrize("name", PAGES)
def test_all_confidences_alike(open_page, made, name):
    rows = made(n=60, n_classes=2)
    alike = dataclasses.replace(rows, probabilities=np.full((60, 2), [0.3, 0.7]), predictions=None)
    page = open_page(name, alike, binning="equal-mass")
    assert page.errors == []


@pytest.mark.parametrize("name", PAGES)
def test_always_right_and_sure(open_page, made, name):
    rows = made(n=60, n_classes=2)
    sure = dataclasses.replace(rows, probabilities=np.eye(2)[rows.labels], predictions=rows.labels)
    page = open_page(name, sure)
    assert page.errors == []


@pytest.mark.parametrize("name", PAGES)
def test_constant_features(open_page, made, name):
    rows = made(n=60)
    page = open_page(name, dataclasses.replace(rows, features=np.ones((60, 4))))
    assert page.errors == []


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("target", [0, 1, 2])
def test_awkward_names(open_page, made, name, target):
    values = np.array(NASTY)[np.arange(200) % 3]
    frame = pd.DataFrame({"<i>site</i> *k*": values, "note": values})
    dataset = made(n=200, class_names=NASTY, metadata=frame, groups=frame[["<i>site</i> *k*"]])
    dataset = dataclasses.replace(dataset, name="`<b>x</b>` **file**.npz")
    page = open_page(name, dataset, target=NASTY[target])
    assert page.errors == []
    # Names may stand in a table, a list to choose from or a plain text, where they are shown as
    # they are; in Markdown they must be escaped and in a figure too.
    for kind in ("markdown", "caption", "info", "warning", "success", "error"):
        for item in page.app.get(kind):
            assert NASTY[2] not in str(item.value), f"st.{kind} renders a class name: {item.value}"
    for chart in page.charts.values():
        drawn = json.dumps(chart["figure"])
        assert "<b>x" not in drawn
        assert "<i>" not in drawn


@pytest.mark.parametrize("name", PAGES)
def test_images_and_a_column_called_image(open_page, made, name):
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 255, (200, 8, 8), dtype=np.uint8)
    metadata = pd.DataFrame({"image": [f"{i}.png" for i in range(200)], "row": 1, "lce": 2})
    page = open_page(name, made(n=200, images=pictures, metadata=metadata), gamma="2.0")
    assert page.errors == []


@pytest.mark.parametrize("name", ["overview", "landscape", "bandwidth", "recalibrate"])
@pytest.mark.parametrize(("bins", "binning"), [(1, "equal-width"), (50, "equal-mass")])
def test_bins(open_page, made, name, bins, binning):
    page = open_page(name, made(n=120), bins=bins, binning=binning)
    assert page.errors == []
    assert page.figures == FIGURES[name]


@pytest.mark.parametrize("features", ["PCA 3-D", "All features"])
@pytest.mark.parametrize("name", ["overview", "landscape", "bandwidth", "recalibrate"])
def test_maps(open_page, made, name, features):
    page = open_page(name, made(n=120), features=features)
    assert page.errors == []


@pytest.mark.parametrize("gamma", ["0.01", "100.0"])
@pytest.mark.parametrize("name", ["overview", "landscape", "bandwidth", "recalibrate"])
def test_the_ends_of_the_bandwidth(open_page, made, name, gamma):
    page = open_page(name, made(n=120), gamma=gamma)
    assert page.errors == []


@pytest.mark.parametrize(
    "link",
    [
        {"gamma": "-3"},
        {"gamma": "abc"},
        {"bins": "1000000"},
        {"bins": "x"},
        {"binning": "none"},
        {"features": "No such map"},
        {"map": "<script>"},
        {"bin": "0.5–0.4"},
        {"error": "?", "picture": "?"},
        {"target": "7"},
        {"data": "../../etc/passwd"},
        {"data": ""},
    ],
)
def test_a_link_with_nonsense_in_it(open_page, made, link):
    page = open_page("landscape", None if "data" in link else made(), **link)
    assert page.errors == []
    assert page.figures == FIGURES["landscape"]
