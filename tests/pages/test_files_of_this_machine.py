import sys

import pytest
import streamlit as st

from lore_core import InputError
from lore_core.reading.formats import sources_of
from pages.shared import files

SECRET = "password hunter2"


@pytest.fixture
def folders(tmp_path, monkeypatch):
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "secret.csv").write_text(SECRET)
    monkeypatch.setattr(sys, "argv", ["app.py", "--data-root", str(inside)])
    return inside, outside


def refused(place, there):
    with pytest.raises(InputError, match="lies outside .* the folder this dashboard reads") as said:
        files.named_path(str(place))
    assert SECRET not in str(said.value)
    return str(said.value).replace(str(there), "")


def test_what_lies_outside_or_leads_there_is_refused_whether_or_not_it_is_there(folders):
    inside, outside = folders
    assert len({refused(outside / name, outside / name) for name in ("secret.csv", "none")}) == 1
    refused("../outside/secret.csv", "")
    assert files.named_path("a/b.csv") == inside.resolve() / "a/b.csv"
    for name in ("run_cal.csv", "run_2.csv"):
        (inside / name).symlink_to(outside / "secret.csv")
    refused(inside / "run_cal.csv", "")
    for found in (inside.iterdir(), sources_of(inside / "run*.csv")):
        with pytest.raises(InputError, match="lies outside"):
            files.check_inside(found)


def test_pages_say_so_and_read_nothing(folders, open_page, monkeypatch):
    inside, outside = folders
    page = open_page("data")
    monkeypatch.setattr(sys, "argv", ["app.py", "--data-root", str(inside)])
    page.app.button_group(key="source").set_value("Path")
    page.run().app.text_input(key="path").set_value(str(outside / "secret.csv"))
    page.run()
    assert "lies outside" in page.errors[0]
    page.go("runs").app.text_input(key="runs_path").set_value(str(outside))
    page.run()
    assert "lies outside" in page.errors[0]
    for name in ("run_cal.csv", "run_test.csv"):
        (inside / name).symlink_to(outside / "secret.csv")
    page.set("runs_path", str(inside))
    assert "lies outside" in page.errors[0]
    assert SECRET not in page.text


@pytest.mark.parametrize(
    "name",
    ["a" * 5000, "b/" * 2500, "~nobody-of-this-name/x", "c\0d"],
    ids=["long name", "long path", "no account", "NUL"],
)
def test_a_path_the_system_cannot_look_at_is_said_in_a_sentence(
    folders, open_page, monkeypatch, name
):
    page = open_page("data")
    monkeypatch.setattr(sys, "argv", ["app.py", "--data-root", str(folders[0])])
    page.app.button_group(key="source").set_value("Path")
    for address, key in (("data", "path"), ("runs", "runs_path"), ("watch", "watch_path")):
        page.go(address).app.text_input(key=key).set_value(name)
        page.run()
        assert "cannot be read" in page.errors[0]
        assert len(page.errors[0]) < 250


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("server.allowedHosts", ["localhost", "lore.example"]),
        ("server.corsAllowedOrigins", ["http://localhost:9000"]),
    ],
)
def test_paths_are_nobodys_to_name_behind_a_proxy(option, value):
    assert files.is_local()
    before = st.get_option(option)
    st.config.set_option(option, value)
    try:
        assert not files.is_local()
    finally:
        st.config.set_option(option, before)
