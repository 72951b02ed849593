"""What the browser asks for by itself: files, and answers while a page rests."""

import os
import secrets
from collections.abc import Callable
from functools import cache
from mimetypes import guess_type
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit.file_util import get_static_dir

from lore_core.dashboard.access import TOKEN, base_path
from pages.shared.files import arguments

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


def offer_script(name: str, content: Callable[[], bytes], constant: str = "SCRIPT") -> str:
    """Offer a script whose ``name`` says its content; return a line that says where."""
    _SCRIPTS[name] = cache(content)
    return f'const {constant} = String(new URL("lore/{name}.js", document.baseURI));\n'


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
    """Answer for Streamlit's own files, 120 a page, from memory, and pack none of them anew."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass the request on."""
        answer = self._app
        if scope["type"] == "http" and scope["method"] == "GET":
            path = scope["path"].removeprefix(f"{scope['root_path']}/")
            name = path.removeprefix("static/")
            if name != path and name in _names():
                kind = guess_type(name)[0] or "application/octet-stream"
                headers = {"Cache-Control": f"public, {_STAYS}"}
                answer = Response(_content(name), headers=headers, media_type=kind)
        await answer(scope, receive, send)


@cache
def _names() -> frozenset[str]:
    root = Path(get_static_dir()) / "static"
    return frozenset(
        path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()
    )


@cache
def _content(name: str) -> bytes:
    return (Path(get_static_dir()) / "static" / name).read_bytes()
