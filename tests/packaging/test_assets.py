import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from streamlit.file_util import get_static_dir
from streamlit.web.server.starlette import starlette_server

from pages.shared.requests import Assets
from pages.shared.serve import answering_at_once


async def below(request):
    return PlainTextResponse("from below")


MIDDLEWARE = [Middleware(Assets), Middleware(GZipMiddleware)]
APP = Starlette(routes=[Route("/{path:path}", below)], middleware=MIDDLEWARE)


def get(path):
    sent = []
    headers = [(b"accept", b"text/html,*/*"), (b"accept-encoding", b"gzip")]
    scope = {"type": "http", "method": "GET", "path": f"/prefix{path}", "headers": headers}

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    answered = APP({**scope, "query_string": b"", "root_path": "/prefix"}, receive, send)
    with ThreadPoolExecutor(1) as apart:  # here a loop may run already, that of the browser's tests
        apart.submit(asyncio.run, answered).result()
    start, *bodies = sent
    headers = {name.decode(): value.decode() for name, value in start["headers"]}
    return headers, b"".join(part["body"] for part in bodies)


def test_they_are_what_lies_on_the_disk_and_nothing_else_is_answered():
    scripts = [path.name for path in (Path(get_static_dir()) / "static" / "js").glob("*.js")][:9]
    for name in scripts:
        headers, body = get(f"/static/js/{name}")
        assert body == (Path(get_static_dir()) / "static" / "js" / name).read_bytes()
        assert "javascript" in headers["content-type"]
        assert "immutable" in headers["cache-control"]
    for path in ("static/js/../../index.html", "static/js/none.js", "static/", "other"):
        assert get(f"/{path}")[1] == b"from below", path
    assert get(f"/app/static/js/{scripts[0]}")[1] == b"from below"


def test_what_is_written_to_a_reader_leaves_at_once():
    bind = answering_at_once(starlette_server._bind_socket)
    with bind("127.0.0.1", 0, 1) as listening:
        listening.setblocking(True)
        with socket.create_connection(listening.getsockname()):
            connection, _ = listening.accept()
            with connection:
                assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
