"""Streamlit's own files, 120 a page: answered from memory, and named before a browser asks.

From the disk each waits for the interpreter; those of controls are asked for only with the first.
"""

from __future__ import annotations

import re
from functools import cache
from mimetypes import guess_type
from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.file_util import get_static_dir

#: What a page begins with; of other versions of Streamlit those that are there.
FIRST = (
    "BidiComponent",
    "Slider",
    "Selectbox",
    "ButtonGroup",
    "PageLink",
    "Checkbox",
    "TextInput",
    "Html",
    "Button",
    "DownloadButton",
)
_IMPORT = re.compile(r'(?:from|import)"\./([^"]+\.js)"')
_HEADERS = {"Cache-Control": "public, immutable, max-age=31536000"}


class Assets:
    """Answer for files whose name says their content; let pages say which of them come next."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass the request on."""
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        before, _, name = scope["path"].rpartition("/static/")
        if name in _names() and not before.endswith("/app"):
            kind = guess_type(name)[0] or "application/octet-stream"
            await Response(_content(name), headers=_HEADERS, media_type=kind)(scope, receive, send)
        elif "text/html" in Headers(scope=scope).get("accept", ""):
            # As it is written, not packed, so that something can be added to it.
            headers = [item for item in scope["headers"] if item[0] != b"accept-encoding"]
            await self._app({**scope, "headers": headers}, receive, _with_links(send))
        else:
            await self._app(scope, receive, send)


@cache
def _names() -> frozenset[str]:
    root = Path(get_static_dir()) / "static"
    return frozenset(
        path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()
    )


@cache
def _content(name: str) -> bytes:
    return (Path(get_static_dir()) / "static" / name).read_bytes()


@cache
def first_scripts() -> tuple[str, ...]:
    """Names of the scripts that pages begin with, and of those that these import."""
    known = {name.removeprefix("js/") for name in _names() if name.startswith("js/")}
    found: dict[str, None] = {}
    wanted = [name for first in FIRST for name in known if name.split(".")[0] == first]
    while wanted:
        name = wanted.pop()
        if name in found or name not in known:
            continue
        found[name] = None
        wanted += _IMPORT.findall(_content(f"js/{name}").decode())
    return tuple(found)


def _with_links(send: Send) -> Send:
    start: Message | None = None
    page = b""

    async def send_with_links(message: Message) -> None:
        nonlocal start, page
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            is_page = headers.get("content-type", "").startswith("text/html")
            if is_page and message["status"] == 200:
                start = message
                return
        elif start is not None:
            page += message.get("body", b"")
            if message.get("more_body"):
                return
            body = _linked(page)
            headers = MutableHeaders(scope=start)
            headers["Content-Length"] = str(len(body))
            del headers["ETag"], headers["Last-Modified"]
            await send(start)
            start = None
            message = {**message, "body": body}
        await send(message)

    return send_with_links


def _linked(page: bytes) -> bytes:
    links = (
        f'<link rel="modulepreload" crossorigin href="./static/js/{name}">'
        for name in first_scripts()
        if f"/{name}".encode() not in page
    )
    return page.replace(b"</head>", "".join(links).encode() + b"</head>", 1)
