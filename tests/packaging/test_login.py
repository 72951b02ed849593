"""A dashboard that demands a login: who is let in, and that nobody else gets anything."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import numpy as np
import pytest
from itsdangerous import TimestampSigner
from oidc_provider import COOKIE_SECRET, PEOPLE, login_file, providing
from streamlit.web.server.starlette.starlette_app_utils import create_signed_value

import lore_core as lore
from lore_core import InputError
from lore_core.cli import main
from lore_core.dashboard.login import read_login
from lore_core.dashboard.server import wait_until_served

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("launch")]
PREFIX = "/tools/lens"
PAGE = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator[str]:
    """Address of a dashboard with data, under a path, for ana@example.com and kim-4."""
    folder = tmp_path_factory.mktemp("login")
    rng = np.random.default_rng(0)
    rows = lore.Dataset(rng.random(60), rng.integers(0, 2, 60), rng.normal(size=(60, 2)))
    lore.save_npz(rows, folder / "secret rows.npz")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    file = folder / "login.toml"
    with providing() as provider:
        file.write_text(login_file(provider, port, "*@example.com", "kim-4", prefix=PREFIX))
        command = [sys.executable, "-m", "lore_core.cli", "app", "--headless", "--no-cache"]
        command += ["--port", str(port), "--path-prefix", PREFIX, "--login", str(file)]
        command += ["--data", str(folder / "secret rows.npz")]
        log = folder / "log.txt"
        with log.open("wb") as said:
            process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
        try:
            url = f"http://127.0.0.1:{port}{PREFIX}"
            assert wait_until_served(url, lambda: process.poll() is None), log.read_text()
            yield url
        finally:
            process.terminate()
            process.wait(timeout=20)
    assert "Traceback" not in log.read_text()


def logged_in(url: str, who: str, wanted: str = "/overview?gamma=0.3") -> tuple:
    """Return a client that went to a page, logged in as somebody, and where that led."""
    client = httpx.Client(follow_redirects=True, headers=PAGE, timeout=60)
    found = client.get(url + wanted)
    assert found.status_code == 401
    address = found.text.partition('href="')[2].partition('"')[0].replace("&amp;", "&")
    asked = client.get(httpx.URL(url).join(address))
    assert "Who are you?" in asked.text
    return client, client.get(asked.url.copy_merge_params({"who": who}))


def asks_for_a_stream(client: httpx.Client, url: str) -> int:
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    }
    with client.stream("GET", f"{url}/_stcore/stream", headers=headers) as found:
        return found.status_code


def test_who_has_not_logged_in_gets_nothing(served):
    with httpx.Client(timeout=60) as client:
        assert client.get(f"{served}/_stcore/health").status_code == 200
        for path in ("/", "/overview", "/_stcore/host-config", "/media/x.png", "/static/x.js"):
            for headers in ({}, PAGE, {"Cookie": "_streamlit_user=e30.x"}):
                assert client.get(served + path, headers=headers).status_code == 401
        assert client.put(f"{served}/_stcore/upload_file/a/b").status_code == 401
        assert client.post(f"{served}/lore/ask/x").status_code == 401
        assert asks_for_a_stream(client, served) == 403
        # Without its path it is another address, below which nothing is.
        assert client.get(served.removesuffix(PREFIX) + "/_stcore/health").status_code == 401


@pytest.mark.parametrize("who", ["ana", "kim"])
def test_a_reader_arrives_where_the_link_leads(served, who):
    client, found = logged_in(served, who)
    with closing(client):
        assert (found.status_code, found.url) == (200, f"{served}/overview?gamma=0.3")
        assert "<title>Streamlit" in found.text or "LoRe Lens" in found.text
        assert asks_for_a_stream(client, served) == 101
        assert client.get(f"{served}/_stcore/host-config").status_code == 200
        cookie = next(c for c in client.cookies.jar if c.name == "_streamlit_user")
        assert cookie.path == PREFIX
        assert cookie.has_nonstandard_attr("HttpOnly")
        client.get(f"{served}/auth/logout")
        assert client.get(f"{served}/overview").status_code == 401
        assert asks_for_a_stream(client, served) == 403


@pytest.mark.parametrize(("who", "status"), [("bob", 403), ("eve", 403), ("mallory", 401)])
def test_nobody_else_gets_in(served, who, status):
    client, found = logged_in(served, who)
    with closing(client):
        assert found.status_code == status
        assert client.get(f"{served}/_stcore/host-config").status_code == status
        assert asks_for_a_stream(client, served) == 403
        assert "secret rows" not in found.text


@pytest.mark.parametrize(
    ("changed", "age", "status"),
    [
        ({}, 11, 200),
        ({}, 13, 401),
        ({"origin": "https://other.example"}, 0, 401),
        ({"is_logged_in": False}, 0, 401),
        ({"email_verified": False}, 0, 403),
    ],
)
def test_a_cookie_counts_here_and_for_half_a_day(served, monkeypatch, changed, age, status):
    made = int(time.time()) - 3600 * age
    monkeypatch.setattr(TimestampSigner, "get_timestamp", lambda _: made)
    user = {"is_logged_in": True, "origin": served.removesuffix(PREFIX), **PEOPLE["ana"], **changed}
    cookie = create_signed_value(COOKIE_SECRET, "_streamlit_user", json.dumps(user)).decode()
    with httpx.Client(timeout=60, cookies={"_streamlit_user": cookie}) as client:
        assert client.get(f"{served}/_stcore/host-config").status_code == status


@pytest.mark.parametrize("to", ["//evil.example", "/\\evil.example", "https://evil.example", "/x"])
def test_a_login_leads_nowhere_else(served, to):
    with httpx.Client(timeout=60) as client:
        found = client.get(f"{served}/lore/login", params={"to": to})
        assert found.status_code == 302
        assert client.cookies["lore_wanted"] == "%2Ftools%2Flens%2F"


def file_of(folder: Path, **changed: str) -> Path:
    held = {
        "redirect_uri": '"https://lens.example.com/oauth2callback"',
        "cookie_secret": f'"{"k" * 32}"',
        "client_id": '"lens"',
        "client_secret": '"s"',
        "server_metadata_url": '"https://id.example.com/.well-known/openid-configuration"',
        "readers": '["Ana@Example.com"]',
    } | changed
    lines = [f"{name} = {value}" for name, value in held.items() if value]
    (folder / "login.toml").write_text("\n".join(["[auth]", *lines]))
    return folder / "login.toml"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"client_id": ""}, "has no text 'client_id'"),
        ({"readers": ""}, "must list who is let in"),
        ({"readers": '["*.example.com"]'}, "must list who is let in"),
        ({"readers": '["*@"]'}, "must list who is let in"),
        ({"cookie_secret": '"short"'}, "must have 32 characters"),
        ({"redirect_uri": '"https://lens.example.com/"'}, "must end with '/oauth2callback'"),
        ({"redirect_uri": '"https://other.example/oauth2callback"'}, "Add: --host-name other"),
        ({"redirect_uri": '"http://lens.example.com/oauth2callback"'}, "begins with https://"),
        ({"server_metadata_url": '"http://id.example.com/"'}, "begins with https://"),
        ({"client_id": "lens"}, "no TOML"),
    ],
)
def test_a_file_that_lets_in_others_than_it_says_is_refused(tmp_path, changed, said):
    with pytest.raises(InputError, match=said.replace("*", r"\*")):
        read_login(file_of(tmp_path, **changed), ["lens.example.com"])


def test_who_is_a_reader(tmp_path):
    named = read_login(file_of(tmp_path), ["lens.example.com"])
    assert named.is_encrypted
    assert named.admits({"email": "ANA@example.com", "email_verified": True})
    assert not named.admits({"email": "ana@example.com"})
    assert not named.admits({"sub": "", "email": "", "email_verified": True})
    assert not named.admits({"email": "x@ana@example.com", "email_verified": True})
    everybody = read_login(file_of(tmp_path, readers='["*"]'), ["lens.example.com"])
    assert everybody.admits({"sub": "7"})


def test_what_a_login_needs_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("lore_core.data.extras.find_spec", lambda name: name != "authlib" or None)
    assert main(["app", "--login", str(file_of(tmp_path))]) == 1
    said = capsys.readouterr().err
    assert "A login needs the package 'Authlib'" in said
    assert "lore-lens[login]" in said
