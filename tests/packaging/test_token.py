"""A link with a token, where the system does not tell whose account asks."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.datastructures import Headers

from lore_core.dashboard import server
from pages.shared import token

REFUSED = (403, "Open the link that LoRe Lens printed as it started: it ends in “?token=…”.")


@pytest.fixture
def ask(monkeypatch):
    """Ask the door for an address; ("in", address) where what is behind it would answer."""
    monkeypatch.setenv(server.TOKEN, "s3cret")
    (door,) = token.demanded()

    def ask(link, *, cookie="", kind="http", port=8501):
        path, _, query = link.partition("?")
        sent = []

        async def behind(scope, receive, send):
            sent.append({"in": scope["path"]})

        async def send(message):
            sent.append(message)

        scope = {"type": kind, "method": "GET", "path": path, "query_string": query.encode()}
        scope |= {"server": ("127.0.0.1", port), "headers": [(b"cookie", cookie.encode())]}
        asked = door.cls(behind, *door.args, **door.kwargs)(scope, None, send)
        # (The thread of the browser tests has a loop of its own that always runs.)
        with ThreadPoolExecutor(1) as elsewhere:
            elsewhere.submit(asyncio.run, asked).result()
        return sent

    return ask


def test_nobody_comes_in_without_it(ask):
    for link in ("/", "/overview?token=wrong", "/static/js/index.js", "/?token=", "/lore/ask/x"):
        start, body = ask(link)
        assert (start["status"], body["body"].decode()) == REFUSED
    assert [item["type"] for item in ask("/_stcore/stream", kind="websocket")] == [
        "websocket.close"
    ]
    assert ask("/lens/_stcore/health") == [{"in": "/lens/_stcore/health"}]


def test_the_link_lets_in_and_goes_on_without_it(ask):
    start, _ = ask("/overview?gamma=0.5&token=s3cret&features=PCA+2-D")
    headers = Headers(raw=start["headers"])
    assert start["status"] == 302
    assert headers["location"] == "/overview?gamma=0.5&features=PCA+2-D"
    cookie, _, kept = headers["set-cookie"].partition(";")
    assert "httponly" in kept.lower()
    assert "max-age" not in kept.lower()
    assert ask("/overview", cookie=cookie) == [{"in": "/overview"}]
    assert ask("/_stcore/stream", cookie=cookie, kind="websocket") == [{"in": "/_stcore/stream"}]
    # A dashboard at another port of the machine is sent the same cookies.
    assert ask("/overview", cookie=cookie, port=8502)[0]["status"] == 403


def test_it_leads_to_no_other_server(ask):
    start, _ = ask("//elsewhere.example/?token=s3cret")
    assert Headers(raw=start["headers"])["location"] == "/elsewhere.example/"


@pytest.mark.parametrize(
    ("system", "needed"), [("linux", False), ("darwin", True), ("win32", True)]
)
def test_it_is_made_where_accounts_are_not_told(monkeypatch, system, needed):
    monkeypatch.setattr(server.sys, "platform", system)
    monkeypatch.delenv(server.TOKEN, raising=False)
    assert token.demanded() == []
    made = server.new_token()
    assert (made is not None) == needed
    if needed:
        assert len(made) >= 32
        assert server.new_token() != made
    monkeypatch.setenv(server.TOKEN, "my own")
    assert server.new_token() == "my own"
    assert server.link_to("http://here", "my own") == "http://here/?token=my%20own"
