"""What the browser asks for by itself while a page rests, without running the page."""

from __future__ import annotations

import os
import secrets
from typing import Any
from weakref import WeakValueDictionary

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lore_core.dashboard.access import TOKEN, base_path
from pages.shared.files import arguments

_PATH = "lore/ask"


#: Whose ``answer(asked)`` gives bytes, or None where there is nothing to say.
_OFFERS: WeakValueDictionary[str, Any] = WeakValueDictionary()


def offer(answers: object) -> str:
    """Return an address, which nobody guesses, to ask at as long as ``answers`` is held."""
    name = secrets.token_urlsafe(24)
    _OFFERS[name] = answers
    return address_of(f"{_PATH}/{name}")


def address_of(path: str) -> str:
    """Return where a browser finds what this server has under a path."""
    return f"{base_path(os.environ.get(TOKEN, ''), arguments().path_prefix)}/{path}"


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


ROUTES = [Route(f"/{_PATH}/{{name}}", _ask, methods=["POST"])]
