"""Streamlit's own files, 120 a page: answered from memory, and named before a browser asks.

From the disk each waits for the interpreter; those of controls are asked for only with the first.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from mimetypes import guess_type
from pathlib import Path

from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
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
_STAYS = {"Cache-Control": "public, immutable, max-age=31536000"}


class Assets:
    """Answer for ``pages`` by their names in addresses, and for files named by their content.

    Inside of Streamlit's own middleware each file would be packed anew for each reader.
    """

    def __init__(self, app: ASGIApp, pages: Collection[str]) -> None:
        self._app, self._pages = app, {"", *pages}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass the request on."""
        response = None
        if scope["type"] == "http" and scope["method"] == "GET":
            response = self._response(scope["path"].removeprefix(f"{scope['root_path']}/"))
        await (response or self._app)(scope, receive, send)

    def _response(self, path: str) -> Response | None:
        if path in self._pages:
            return HTMLResponse(_page(), headers={"Cache-Control": "no-cache"})
        name = path.removeprefix("static/")
        if name == path or name not in _names():
            return None
        kind = guess_type(name)[0] or "application/octet-stream"
        return Response(_content(name), headers=_STAYS, media_type=kind)


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


@cache
def _page() -> str:
    """Return Streamlit's page, the same for all of ours, with the names of scripts that follow."""
    page = (Path(get_static_dir()) / "index.html").read_text(encoding="utf-8")
    links = (
        f'<link rel="modulepreload" crossorigin href="./static/js/{name}">'
        for name in first_scripts()
        if f"/{name}" not in page
    )
    return page.replace("</head>", "".join(links) + "</head>", 1)
