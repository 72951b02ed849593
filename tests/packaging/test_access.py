import asyncio
import os
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.web.server.starlette.starlette_websocket import create_websocket_handler

from lore_core import InputError
from lore_core.cli import main
from lore_core.dashboard.access import TOKEN, TOKEN_FILE, AccessMiddleware, base_path, new_token
from lore_core.dashboard.server import public_origin

TOKEN_TEXT = "s3cret-of-tests-0"
SECRET = base_path(TOKEN_TEXT)
OLD_SECRET = base_path("another-token-than-this")
HERE, PUBLIC = "127.0.0.1:8501", "lens.example.com"
BEARER = {"authorization": f"Bearer {TOKEN_TEXT}"}


def run(awaited):
    # The thread of the browser tests has a loop of its own that always runs.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, awaited).result()


def ask(address, kind="http", *, proxied=False, prefix="", **headers):
    path, _, query = address.partition("?")
    sent = []
    hosts = ["localhost", "127.0.0.1", *[PUBLIC] * proxied]
    origins = [f"https://{PUBLIC}"] * proxied

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        sent.append(scope["root_path"])

    async def send(message):
        sent.append(message)

    headers = {"host": HERE} | {key.replace("_", "-"): text for key, text in headers.items()}
    scope = {"type": kind, "path": path, "query_string": query.encode(), "scheme": "http"}
    scope["headers"] = [(key.encode(), text.encode()) for key, text in headers.items()]
    run(AccessMiddleware(app, TOKEN_TEXT, hosts, origins, prefix)(scope, None, send))
    if isinstance(sent[-1], str):
        return sent[-1]
    if kind == "websocket":
        return sent[0]["type"]
    found = {name.decode(): text.decode() for name, text in sent[0]["headers"]}
    assert found["referrer-policy"] == "same-origin"
    assert found["x-frame-options"] == "SAMEORIGIN"
    assert "set-cookie" not in found
    return found.get("location", sent[0]["status"])


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/overview", "/?token=", "/?token=wrong", "/static/js/index.js", "/lore/ask/x"),
        *("/media/x.png", "/_stcore/host-config", "/_stcore/stream", "/_stcore/upload_file/a/b"),
        *(SECRET, f"{SECRET[:-1]}/", f"{SECRET}0/", f"/x{SECRET}/", f"{OLD_SECRET}/overview"),
        *(f"/overview{SECRET}/", "/_stcore/health/", "//_stcore/health", "/é/"),
    ],
)
def test_without_the_secret_nobody_is_answered(path):
    assert ask(path) == 403
    assert ask(path, "websocket") == "websocket.close"
    assert ask(path, cookie=f"token={TOKEN_TEXT}; lore_token_8501={TOKEN_TEXT}") == 403


def test_the_path_with_the_secret_is_answered_and_health_without():
    for path in (f"{SECRET}/", f"{SECRET}/overview", f"{SECRET}/_stcore/stream"):
        assert ask(path) == ask(path, "websocket") == SECRET
    assert ask("/_stcore/health") == ""
    assert ask("/_stcore/health", "websocket") == "websocket.close"


@pytest.mark.parametrize(
    ("address", "page"),
    [
        ("/?token={}", "/"),
        ("/landscape?gamma=0.4&token={}&features=PCA+2-D", "/landscape?gamma=0.4&features=PCA+2-D"),
        (f"{OLD_SECRET}/overview?bins=&token={{}}", "/overview?bins="),
        (f"{SECRET}/overview?token={{}}", "/overview"),
        ("//elsewhere.example/?token={}", "/elsewhere.example/"),
        ("/a b\r\nx?token={}", "/a%20b%0D%0Ax"),
    ],
)
def test_a_link_with_the_token_leads_below_the_secret(address, page):
    assert ask(address.format(TOKEN_TEXT)) == SECRET + page
    assert ask(address.format(TOKEN_TEXT), sec_fetch_mode="navigate") == SECRET + page
    assert ask(address.format(TOKEN_TEXT), sec_fetch_mode="no-cors") == 403


@pytest.mark.parametrize(
    ("headers", "is_answered"),
    [
        ({}, True),
        ({"host": "localhost:9000", "origin": "http://localhost:9000"}, True),  # an SSH tunnel
        ({"origin": "http://127.0.0.1:8501"}, True),
        *(
            ({"origin": origin}, False)
            for origin in (
                *("http://127.0.0.1:8502", "http://127.0.0.1", "https://127.0.0.1:8501"),
                *("http://localhost:8501", "https://evil.example", "null", ""),
            )
        ),
        ({"host": "evil.example", "origin": "http://evil.example"}, False),
        *(
            ({"host": host}, False)
            for host in ("evil.example", "127.0.0.1.evil.example", "127.0.0.2:8501", "[", "")
        ),
    ],
)
def test_other_hosts_and_origins_are_refused_with_the_right_secret(headers, is_answered):
    path = f"{SECRET}/_stcore/stream"
    assert ask(path, **headers) == (SECRET if is_answered else 403)
    assert ask(path, "websocket", **headers) == (SECRET if is_answered else "websocket.close")
    assert ask(f"/?token={TOKEN_TEXT}", **headers) == (f"{SECRET}/" if is_answered else 403)
    assert ask("/_stcore/health", **headers) == ("" if is_answered else 403)


@pytest.mark.parametrize("host", [HERE, PUBLIC])
def test_behind_a_proxy_every_request_needs_the_token_and_the_secret(host):
    behind = {"proxied": True, "host": host, "prefix": "/tools/lens"}
    base = f"/tools/lens{SECRET}"
    for address in (f"{base}/", f"{base}/overview", f"/?token={TOKEN_TEXT}"):
        for sent in ({}, {"authorization": "Bearer wrong"}, {"authorization": TOKEN_TEXT}):
            assert ask(address, **behind, **sent) == 403
            assert ask(address, "websocket", **behind, **sent) == "websocket.close"
    assert ask(f"{base}/overview", **behind, **BEARER) == base
    assert ask(f"{base}/_stcore/stream", "websocket", **behind, **BEARER) == base
    assert ask("/tools/lens/_stcore/stream", "websocket", **behind, **BEARER) == "websocket.close"
    assert ask(f"{SECRET}/", "websocket", **behind, **BEARER) == "websocket.close"
    assert ask("/tools/lens/overview?gamma=1", **behind, **BEARER) == f"{base}/overview?gamma=1"
    # A page that another site's page includes leads nowhere.
    assert ask("/tools/lens/", **behind, **BEARER, sec_fetch_mode="no-cors") == 403
    assert ask("/tools/lens/_stcore/health", **behind) == "/tools/lens"
    assert ask("/_stcore/health", **behind) == 403


@pytest.mark.parametrize(
    "origin",
    [
        *(f"http://{PUBLIC}", f"https://{PUBLIC}:8443", f"https://x.{PUBLIC}"),
        *("http://127.0.0.1:8501", f"https://{PUBLIC}"),
    ],
)
def test_behind_a_proxy_only_its_origin_is_answered(origin):
    sent = {"proxied": True, "host": PUBLIC, "origin": origin, **BEARER}
    path, is_answered = f"{SECRET}/_stcore/stream", origin == f"https://{PUBLIC}"
    assert ask(path, **sent) == (SECRET if is_answered else 403)
    assert ask(path, "websocket", **sent) == (SECRET if is_answered else "websocket.close")


def test_the_address_of_a_proxy():
    assert public_origin("Lens.example.com") == "https://lens.example.com"
    assert public_origin("http://lens.intra:8080/") == "http://lens.intra:8080"
    for name in ("", "*", "*.example.com", "https://x/tools", "ftp://x", "a b", "x:y"):
        with pytest.raises(InputError, match="'--host-name' must be a name such as"):
            public_origin(name)


class Runtime:
    """As much of Streamlit's runtime as a connection asks for: a reader who is told something."""

    left = False

    def connect_session(self, client, user_info, existing_session_id):
        client.write_forward_msg(ForwardMsg(delta=None, script_finished=0))
        return "session"

    def handle_backmsg(self, session_id, message, client):
        pass

    def disconnect_session(self, session_id, client):
        self.left = True


def visit(*, checked: bool) -> Runtime:
    runtime = Runtime()
    app = Starlette(routes=[WebSocketRoute("/", create_websocket_handler(runtime))])
    coming = [
        {"type": "websocket.connect"},
        {"type": "websocket.receive", "bytes": BackMsg(clear_cache=True).SerializeToString()},
        {"type": "websocket.disconnect", "code": 1005},
    ]

    async def receive():
        for _ in range(5):
            await asyncio.sleep(0)
        return coming.pop(0)

    async def send(message):
        if message["type"] != "websocket.accept":
            raise OSError("the reader has left")

    scope = {"type": "websocket", "path": f"{SECRET}/" if checked else "/", "subprotocols": []}
    scope["headers"] = [(b"host", b"localhost")]
    behind = AccessMiddleware(app, TOKEN_TEXT, ["localhost"], [], "")
    run((behind if checked else app)(scope, receive, send))
    return runtime


def test_a_reader_who_leaves_in_the_middle_is_no_failure():
    with pytest.raises(RuntimeError, match="close message"):
        visit(checked=False)
    assert visit(checked=True).left


@pytest.fixture
def no_token(monkeypatch):
    monkeypatch.delenv(TOKEN, raising=False)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("no_token")
def test_the_token_of_an_account_stays_and_is_its_own(tmp_path):
    folder = tmp_path / "cache" / "kept"
    first = new_token(folder)
    assert len(first) >= 32
    assert new_token(folder) == first
    assert new_token() != first
    assert new_token() != new_token()
    path = folder / TOKEN_FILE
    assert (mode(folder), mode(path)) == (0o700, 0o600)
    path.chmod(0o640)
    second = new_token(folder)  # others may have read it
    assert second != first
    assert mode(path) == 0o600
    elsewhere = tmp_path / "planted"
    elsewhere.write_text("planted-by-somebody")
    elsewhere.chmod(0o600)
    path.unlink()
    path.symlink_to(elsewhere)
    assert new_token(folder) != "planted-by-somebody"
    path.unlink()
    path.mkdir(mode=0o700)
    with pytest.raises(InputError, match="it is a directory"):
        new_token(folder)


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="needs two accounts")
@pytest.mark.usefixtures("no_token")
def test_the_token_of_another_account_is_not_taken(tmp_path):
    path = tmp_path / TOKEN_FILE
    path.write_text("planted-by-somebody")
    path.chmod(0o600)
    os.chown(path, 65534, -1)
    assert new_token(tmp_path) != "planted-by-somebody"
    assert path.stat().st_uid == 0


def test_a_token_of_ones_own_must_be_hard_to_guess(tmp_path, monkeypatch):
    monkeypatch.setenv(TOKEN, TOKEN_TEXT)
    assert new_token(tmp_path) == TOKEN_TEXT
    assert not list(tmp_path.iterdir())
    for weak in ("short", "with a space in it, but long", "not–of–ascii–letters"):
        monkeypatch.setenv(TOKEN, weak)
        with pytest.raises(InputError, match="LORE_TOKEN must hold 16 or more letters"):
            new_token(tmp_path)


@pytest.mark.usefixtures("no_token")
def test_lore_clean_removes_the_token(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "lore-lens" / "kept"
    new_token(folder)
    assert (folder / TOKEN_FILE).exists()
    assert main(["clean"]) == 0
    assert "Removed the token of links" in capsys.readouterr().out
    assert not folder.exists()
    assert main(["clean"]) == 0
    assert "Nothing is kept" in capsys.readouterr().out
