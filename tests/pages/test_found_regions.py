"""Regions on the Landscape page: found, outlined, looked into; and what chance hides."""

from __future__ import annotations

import base64

import numpy as np
import pytest

import lore_core as lore


@pytest.fixture(scope="module")
def planted():
    """Rows of two features with one place far too confident."""
    made = lore.demo.synthetic(3000, random_state=1)
    return made.dataset


@pytest.fixture(scope="module")
def places(planted):
    points = lore.embed(planted.features, "pca", 2, random_state=0).coordinates
    return points[planted.in_split("evaluation")]


@pytest.fixture(scope="module")
def search(planted, places):
    rows = planted.evaluation
    return lore.find_regions(rows.confidence, rows.outcome, places, gamma=0.2)


def _traces(page):
    return page.figure("landscape")["data"]


def test_regions_are_listed_and_outlined(open_page, planted, search):
    page = open_page("landscape", planted)
    assert len(search.regions) >= 1
    for region in search.regions:
        assert region.sentence[1:] in page.text
    assert "mistakes than promised" in page.text
    outlines = [trace for trace in _traces(page) if trace.get("name", "").startswith("region ")]
    assert len(outlines) == len(search.regions)
    numbers = [note["text"] for note in page.figure("landscape")["layout"]["annotations"]]
    assert "1" in numbers


def test_looking_closer_reports_on_the_region(open_page, planted, search):
    page = open_page("landscape", planted)
    page.app.button(key="found_0").click()
    page.run()
    rows = planted.evaluation
    inside = search.label == 0
    report = lore.region_report(rows.confidence, rows.outcome, inside)
    assert f"**Region 1** · {report.sentence}" in page.text
    outlines = [trace for trace in _traces(page) if trace.get("name", "").startswith("region ")]
    assert len(outlines) == 1
    page.app.button(key="clear_region").click()
    page.run()
    assert "**Region 1**" not in page.text


def test_settings_of_the_search_come_with_the_link(open_page, planted, places):
    rows = planted.evaluation
    narrow = lore.find_regions(rows.confidence, rows.outcome, places, gamma=0.2, q=0.01, edge=0.8)
    page = open_page("landscape", planted, q="0.01", edge="0.8")
    assert narrow.regions[0].sentence[1:] in page.text
    assert "q = 0.01" in page.text


def test_only_what_is_beyond_chance_is_coloured(open_page, planted, places):
    rows = planted.evaluation
    page = open_page("landscape", planted, beyond="true")
    tests = lore.local_significance(rows.confidence, rows.outcome, places)
    found = lore.local_errors(rows.confidence, rows.outcome, places)
    field = lore.regions.smoothed_field(
        found.signed, found.effective_size, places, significant=tests.significant(0.05)
    )
    raster = next(trace for trace in _traces(page) if trace["type"] == "heatmap")
    sent = np.frombuffer(base64.b64decode(raster["z"]["bdata"]), raster["z"]["dtype"])
    assert np.isfinite(sent).sum() == np.isfinite(field.signed).sum()
    assert (
        f"{field.chance_share:.0%} of the area with enough neighbours could be chance" in page.text
    )


def test_a_calibrated_model_has_none(open_page):
    page = open_page("landscape", lore.demo.synthetic(3000, calibrated=True).dataset)
    assert "No region is beyond chance" in page.text
    page.go("overview")
    assert "**Worst place**: none is beyond chance" in page.text


def test_the_overview_names_the_worst_place(open_page, planted, search):
    page = open_page("overview", planted)
    assert search.regions[0].sentence in page.text
    assert "A calibrated model with these confidences shows an MLCE of" in page.text
    assert "debiased" in page.text
