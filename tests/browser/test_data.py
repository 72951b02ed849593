import re

import numpy as np
import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


def drop(app, *paths):
    app.page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(list(map(str, paths)))


def test_a_pair_of_files_takes_the_place_of_what_was_shown_and_stays(
    open_app, tmp_path, write_classifier, light, server, open_tab
):
    app = open_app("landscape", gamma=0.5)
    app.drawn("landscape")
    app.lasso([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    app.sees("Selected region")
    app.settle()
    app.go("Data")
    shown_before = app.query()["data"]
    drop(
        app,
        write_classifier(tmp_path / "other_cal.npz", 60, 11),
        write_classifier(tmp_path / "other_test.npz", 130, 12),
    )
    app.sees("130 evaluation + 60 calibration rows")
    app.until(lambda: app.query()["data"] != shown_before, "a link of its own")
    app.settle()
    app.sees(re.compile("Read 60 rows from 'other_cal.npz'"))
    app.sees(re.compile("Nothing of it is kept on a disk"))  # as the server was told
    app.go("Landscape")
    app.drawn("landscape")
    expect(app.page.get_by_text("Selected region")).to_have_count(0)
    key = app.query()["data"]
    with open_tab(light, server) as second:
        # A t-SNE map starts by itself; ready, it is shown when the reader asks for it.
        second.page.goto(f"{server.url}/landscape?data={key}")
        second.sees("130 evaluation + 60 calibration rows")
        show = second.page.get_by_role("button", name="Show t-SNE 2-D")
        expect(show).to_be_enabled(timeout=180_000)  # its threads wait where others are busy
        assert "on PCA 2-D" in second.map.get_attribute("aria-label")
        show.click()
        second.until(
            lambda: "on t-SNE 2-D" in second.map.get_attribute("aria-label"), "a landscape on t-SNE"
        )
        second.settle()
        with second.settings():
            assert second.chosen("Similar by") == "t-SNE 2-D"


def test_addresses_in_a_file_are_text_and_no_links(open_app, tmp_path):
    """Streamlit makes links of addresses even where every sign of Markdown is escaped."""
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 2, 400)
    confidence = rng.uniform(0.6, 0.9, 400)
    groups = np.where(
        labels == 0,
        "http://evil.example/group",
        np.where(confidence < 0.8, "www.evil.example", "mail@evil.example"),
    )
    path = tmp_path / "WWW.evil.example.npz"
    np.savez(
        path,
        probs=np.column_stack([1 - confidence, confidence]),
        labels=labels,
        features=rng.normal(size=(400, 3)),
        class_names=np.array(["HTTPS://evil.example/class", "class@evil.example"]),
        groups=groups[:, None],
        group_names=np.array(["https://evil.example/column"]),
    )
    app = open_app("data")
    drop(app, path)
    app.sees("200 evaluation + 200 calibration rows")
    links = app.page.locator("a:is([href*=evil i], [*|href*=evil i])")
    for title in ("Data", "Landscape", "Fairness"):
        app.go(title)
        app.sees(re.compile("www.?\\.evil\\.example", re.IGNORECASE))
        if title == "Fairness":
            app.sees(re.compile("http:.?//evil"))
        expect(links).to_have_count(0)


def test_a_job_shows_its_progress_and_can_be_cancelled(open_app, tmp_path, write_classifier):
    app = open_app()
    drop(app, write_classifier(tmp_path / "large.npz", 4000, 21))
    app.sees("2,000 evaluation + 2,000 calibration rows")
    app.settle()
    app.page.get_by_role("tab", name="Feature maps").click()
    app.page.locator(".st-key-card_t-SNE-2-D button").click()
    progress = app.page.get_by_test_id("stProgress")
    expect(progress).to_contain_text("t-SNE 2-D")
    expect(progress).to_contain_text(re.compile(r"\d+ s of about \d+ s"))
    app.keeps_rules("progress", {"include": [["[data-testid=stProgress]"]]})
    app.button("Cancel").click()
    app.sees("t-SNE 2-D was cancelled; nothing else changed.")
    expect(progress).to_have_count(0)
    app.settle()
    expect(app.page.locator(".st-key-card_t-SNE-2-D button")).to_be_enabled()
