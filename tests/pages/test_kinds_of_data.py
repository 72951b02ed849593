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
    "landscape": ["chooser"],
    "variables": ["along"],
    "bandwidth": ["curve"],
    "recalibrate": [
        "landscape_before",
        "landscape_after",
        "reliability_before",
        "reliability_after",
    ],
    "fairness": [],  # these data name no groups
    "compare": [],  # there is no other model
    "decisions": ["reward"],
    "report": [],
}
GROUP_FIGURES = ["group_chart", "group_before", "group_after", "place_before", "place_after"]

SET = ("overview", "landscape", "bandwidth", "recalibrate")


@pytest.fixture
def pages_on(open_page):
    def walk(dataset=None, names=PAGES, **settings):
        page = open_page("data", dataset, **settings)
        for name in names:
            if name != "data":
                page.go(name)
            yield name, page

    return walk


def test_a_small_classifier(pages_on, made):
    for name, page in pages_on(made()):
        assert page.errors == [], name
        assert page.figures == FIGURES[name], name
        assert page.title
        assert name not in SET or "Next: " in page.app.get("page_link")[-1].proto.label


def test_without_features(pages_on, made):
    figures = {"overview": ["reliability"], "decisions": ["reward"], "variables": ["along"]}
    figures["recalibrate"] = ["reliability_before", "reliability_after"]
    for name, page in pages_on(made(n_features=0)):
        assert page.errors == [], name
        if name == "data":
            assert "with 0 features" in page.text
        elif name != "variables":
            assert "These data hold no features" in page.text, name
        assert page.figures == figures.get(name, []), name
        if name == "recalibrate":
            (methods,) = [item for item in page.app.multiselect if item.key == "methods"]
            assert "LoRe" not in methods.options
            assert "Temperature scaling" in methods.value


def test_weighted_rows(pages_on, made):
    data = made()
    data = dataclasses.replace(data, weights=np.random.default_rng(0).lognormal(size=len(data)))
    for name, page in pages_on(data, ["overview", "landscape", "recalibrate", "decisions"]):
        assert page.errors == [], name
        assert "weighted" in page.text, name
        assert ("Venn–Abers cannot" in page.text) == (name in ("recalibrate", "decisions"))
        assert ("was not tested" in page.plain) == (name == "decisions")


def test_without_calibration_rows(pages_on, made):
    for name, page in pages_on(made(calibration=None)):
        assert page.errors == [], name
        if name == "recalibrate":
            assert "these data have none" in page.text
            assert page.figures == []
        if name == "bandwidth":
            assert "No bandwidth can be recommended" in page.text
            assert page.figures == ["curve"]


def test_one_feature(pages_on, made):
    for name, page in pages_on(made(n_features=1), features="All features"):
        assert page.errors == [], name
        if name == "landscape":
            assert "at least two features" in page.text
        if name == "overview":
            assert page.metrics["Supported MLCE"] != "—"


def test_one_probability_column(pages_on, made):
    binary = made(n_classes=2)
    column = dataclasses.replace(binary, probabilities=binary.probabilities[:, 1])
    figures = FIGURES | {"fairness": GROUP_FIGURES}  # a significant subgroup is a group
    for name, page in pages_on(column):
        assert page.errors == [], name
        assert page.figures == figures[name], name


@pytest.mark.parametrize("n", [2, 9])
def test_a_handful_of_rows(pages_on, made, n):
    allowed = "Use fewer bins", "must have two calibration rows or more; got one"
    for name, page in pages_on(made(n=n, n_features=3)):
        assert [text for text in page.errors if not any(a in text for a in allowed)] == [], name


@pytest.mark.parametrize("kind", ["alike", "always right and sure", "constant features"])
def test_rows_that_tell_nothing_apart(pages_on, made, kind):
    rows = made(n=60, n_classes=2)
    changed = {
        "alike": {"probabilities": np.full((60, 2), [0.3, 0.7]), "predictions": None},
        "always right and sure": {
            "probabilities": np.eye(2)[rows.labels],
            "predictions": rows.labels,
        },
        "constant features": {"features": np.ones((60, 4))},
    }[kind]
    binning = {"binning": "equal-mass"} if kind == "alike" else {}
    names = PAGES if kind == "alike" else SET
    for name, page in pages_on(dataclasses.replace(rows, **changed), names, **binning):
        assert page.errors == [], name


# The element and the Markdown as target of every page; what HTML writes otherwise on one.
@pytest.mark.parametrize(("target", "names"), [(0, SET), (1, ["overview"]), (2, PAGES)])
def test_awkward_names_and_images(pages_on, made, target, names):
    pictures = np.random.default_rng(0).integers(0, 255, (200, 8, 8), dtype=np.uint8)
    values = np.array(NASTY)[np.arange(200) % 3]
    frame = pd.DataFrame({"<i>site</i> *k*": values, "note": values, "row": 1, "lce": 2})
    frame["image"] = [f"{i}.png" for i in range(200)]
    groups = frame[["<i>site</i> *k*"]]
    dataset = made(n=200, class_names=NASTY, metadata=frame, groups=groups, images=pictures)
    dataset = dataclasses.replace(dataset, name="`<b>x</b>` **file**.npz")
    for name, page in pages_on(dataset, names, target=NASTY[target], gamma="2.0"):
        assert page.app.query_params["target"] == NASTY[target], name
        assert page.errors == [], name
        # Names stand as they are in a table, a list or plain text; Markdown must escape them.
        for kind in ("markdown", "caption", "info", "warning", "success", "error"):
            for item in page.app.get(kind):
                said = f"st.{kind} on {name} renders a class name: {item.value}"
                assert NASTY[2] not in str(item.value), said
        for chart in page.charts.values():
            drawn = json.dumps(chart["figure"])
            assert "<b>x" not in drawn
            assert "<i>" not in drawn


#: Ends of what can be set.
ENDS = [
    {"bins": bins, "binning": binning, "gamma": gamma, "features": features}
    for (bins, binning), gamma, features in (
        ((1, "equal-width"), "0.01", "PCA 3-D"),
        ((50, "equal-mass"), "100.0", "All features"),
    )
]


@pytest.mark.parametrize("settings", ENDS)
def test_the_ends_of_the_settings(pages_on, made, settings):
    for name, page in pages_on(made(n=120), SET, **settings):
        linked = {key: page.app.query_params.get(key, "equal-width") for key in settings}
        assert linked == {key: str(value) for key, value in settings.items()}, name
        assert page.errors == [], name
        assert page.figures == FIGURES[name], name


@pytest.mark.parametrize(
    "link",
    [
        {"gamma": "-3", "bins": "1000000", "binning": "none", "features": "No such map"},
        {"gamma": "abc", "bins": "x", "map": "<script>", "target": "7"},
        {"bin": "0.5–0.4", "color": "?", "picture": "?"},
    ],
)
def test_a_link_with_nonsense_in_it(open_page, made, link):
    page = open_page("landscape", made(), **link)
    assert page.errors == []
    assert page.figures == FIGURES["landscape"]
    assert not set(link.values()) & set(page.app.query_params.values())
