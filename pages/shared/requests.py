"""What the browser asks for by itself: files, and answers while a page rests.

Streamlit's own files, 120 a page, are answered from memory and named before a browser asks: from
the disk each waits for the interpreter; those of controls are asked for only with the first.
"""

import os
import re
import secrets
from collections.abc import Callable, Collection
from functools import cache
from mimetypes import guess_type
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit.file_util import get_static_dir

from lore_core.dashboard.access import TOKEN, base_path
from pages.shared.files import arguments

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
_STAYS = "immutable, max-age=31536000"
#: Whose ``answer(asked)`` gives bytes, or None where there is nothing to say.
_OFFERS: WeakValueDictionary[str, Any] = WeakValueDictionary()
#: What makes each script, by its name.
_SCRIPTS: dict[str, Callable[[], bytes]] = {}


def offer(answers: object) -> str:
    """Return an address, which nobody guesses, to ask at as long as ``answers`` is held."""
    name = secrets.token_urlsafe(24)
    _OFFERS[name] = answers
    return f"{base_path(os.environ.get(TOKEN, ''), arguments().path_prefix)}/lore/ask/{name}"


def offer_script(name: str, content: Callable[[], bytes]) -> str:
    """Offer a script whose ``name`` says its content; return a line that says where, as SCRIPT."""
    _SCRIPTS[name] = cache(content)
    return f'const SCRIPT = String(new URL("lore/{name}.js", document.baseURI));\n'


async def _ask(request: Request) -> Response:
    answers = _OFFERS.get(request.path_params["name"])
    if answers is None:
        raise HTTPException(404)
    try:
        asked = await request.json()
    except ValueError as error:
        raise HTTPException(400) from error
    if not isinstance(asked, dict):
        raise HTTPException(400)
    content = await run_in_threadpool(answers.answer, asked)
    headers = {"Cache-Control": "no-store"}
    if content is None:
        return Response(status_code=204, headers=headers)
    return Response(content, media_type="application/octet-stream", headers=headers)


async def _send_script(request: Request) -> Response:
    content = _SCRIPTS.get(request.path_params["name"])
    if content is None:
        raise HTTPException(404)
    headers = {"Cache-Control": f"private, {_STAYS}"}
    return Response(content(), headers=headers, media_type="text/javascript")


ROUTES = [Route("/lore/ask/{name}", _ask, methods=["POST"]), Route("/lore/{name}.js", _send_script)]


class Assets:
    """Answer for ``pages`` by their names in addresses, and for files named by their content."""

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
        return Response(
            _content(name), headers={"Cache-Control": f"public, {_STAYS}"}, media_type=kind
        )


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
