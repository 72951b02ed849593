"""What the browser asks for by itself: scripts, and answers while a page rests."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from functools import cache
from typing import Any
from weakref import WeakValueDictionary

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lore_core.dashboard.access import TOKEN, base_path
from pages.shared.files import arguments

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
    headers = {"Cache-Control": "private, immutable, max-age=31536000"}
    return Response(content(), headers=headers, media_type="text/javascript")


ROUTES = [
    Route("/lore/ask/{name}", _ask, methods=["POST"]),
    Route("/lore/{name}.js", _send_script),
]
