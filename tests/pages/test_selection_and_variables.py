import dataclasses

import numpy as np
import pandas as pd
import pytest

import lore_core as lore
from lore_core.regions import Selection

MAP = "PCA 2-D"


@pytest.fixture
def dataset(made):
    data = made(n=900, n_classes=3, seed=4)
    site = np.where(data.features[:, 0] > 0.5, "north", "south")
    frame = pd.DataFrame({"site": site, "age": data.features[:, 1] * 10 + 40})
    return dataclasses.replace(data, metadata=frame, groups=frame[["site"]])


@pytest.fixture
def embedding(dataset):
    return lore.embed(dataset.features, "pca", 2, random_state=0).coordinates


def inside(dataset, embedding, region, split):
    return region.contains(embedding[dataset.in_split(split)])


@pytest.fixture
def region(embedding):
    low, high = np.quantile(embedding, 0.1, axis=0), np.quantile(embedding, 0.75, axis=0)
    return lore.Region.box([low[0], high[0]], [low[1], high[1]])


@pytest.fixture
def selected(open_page, dataset, region):
    def open_(data=dataset, **settings):
        page = open_page("landscape", data, **settings)
        page.app.session_state["_region"] = (MAP, Selection(((1, region),)))
        return page.run()

    return open_


def test_rows_asked_for_in_words(open_page, dataset):
    page = open_page("landscape", dataset, find="site: north, age > 45")
    rows = dataset.evaluation.metadata
    asked = ((rows["site"] == "north") & (rows["age"] > 45)).to_numpy()
    count = int(asked.sum())
    assert f"Rows with “site\\: north, age \\> 45”** · {count} rows: mean confidence" in page.text
    marks = np.unpackbits(page.scene["marked"], bitorder="little")[: len(rows)].astype(bool)
    np.testing.assert_array_equal(marks, asked)
    page.click("clear_region")
    assert "Rows with" not in page.text
    assert page.app.text_input(key="find").value == ""
    assert "marked" not in page.scene


class TestRegion:
    def test_what_it_is_made_of(self, selected, dataset, embedding, region):
        page = selected()
        assert page.errors == []
        rows = dataset.evaluation
        mask = inside(dataset, embedding, region, "evaluation")
        known = lore.regions.variables.attributes.telling_attributes(rows)
        expected = lore.composition(rows, mask, coded=known)
        clear = expected[expected["p_adjusted"] < 0.05].head(9)
        assert len(clear) >= 1
        shown = page.table("attribute", "value", "share_inside")
        pd.testing.assert_series_equal(shown["share_inside"], clear["share_inside"] * 100)
        assert f"{expected.attrs['looked_at']} values tested" in page.text
        table = lore.reliability_table(rows.confidence[mask], rows.outcome[mask], n_bins=10)
        bars = next(t for t in page.figure("inside")["data"] if t.get("name") == "rows")
        assert len(bars["hovertext"]) == (table.count > 0).sum()


class TestVariables:
    def test_the_first_is_the_one_with_the_strongest_evidence(self, open_page, dataset):
        page = open_page("variables", dataset)
        rows = dataset.evaluation
        ranking = lore.rank_variables(rows)
        assert ranking["variable"].iloc[0] in ("site", "f_0")
        shown = page.table("variable", "p_adjusted")
        assert shown["variable"].tolist() == ranking["variable"].tolist()
        np.testing.assert_allclose(shown["spread"], ranking["spread"] * 100)
        assert "a significant difference" in page.text
        assert page.figures == ["along", "grid"]

    def test_a_variable_and_its_bars(self, open_page, dataset):
        page = open_page("variables", dataset, variable="site", second="none")
        rows = dataset.evaluation
        table = lore.gap_along(rows.confidence, rows.outcome, rows.groups["site"])
        (bars,) = page.figure("along")["data"]
        assert bars["hovertext"][0].startswith(f"<b>north</b><br>{table['rows'][0]} rows")
        assert page.figures == ["along"]
        page = open_page("variables", dataset, variable="age", second="site", parts=6)
        names = [trace["name"] for trace in page.figure("along")["data"]]
        assert "smoothed" in names
        assert page.figure("grid")["data"][0]["type"] == "heatmap"

    def test_the_answer_itself_is_warned_of(self, open_page, dataset):
        page = open_page("variables", dataset, variable="true class")
        assert "do not judge by it" in page.text
