"""A token in the link, where this machine does not tell whose account asks."""

from __future__ import annotations

import hmac
from urllib.parse import urlencode

from starlette.middleware import Middleware
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from lore_core.dashboard.server import wanted_token

_NAME = "token"
_REFUSED = "Open the link that LoRe Lens printed as it started: it ends in “?token=…”."


def demanded() -> list[Middleware]:
    """Return what answers only to who has the token; nothing where none was made."""
    token = wanted_token()
    return [] if token is None else [Middleware(TokenDoor, token=token)]


class TokenDoor:
    """Answer to a browser that came by the link with the token once, as Jupyter does.

    A cookie remembers that until the browser is closed; the link goes on without the token.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        asked = HTTPConnection(scope)
        # (Dashboards at other ports of this machine share its cookies.)
        cookie = f"lore_token_{(scope.get('server') or ('', 0))[1]}"
        is_open = scope["path"].endswith("/_stcore/health")
        if is_open or self._is_right(asked.cookies.get(cookie, "")):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": "no token"})
        elif self._is_right(asked.query_params.get(_NAME, "")):
            others = [item for item in asked.query_params.multi_items() if item[0] != _NAME]
            # (Two strokes would name another server.)
            path = "/" + scope["path"].lstrip("/")
            address = "?".join(filter(None, [path, urlencode(others)]))
            answer = RedirectResponse(address, 302)
            answer.set_cookie(cookie, self._token, httponly=True, samesite="lax")
            await answer(scope, receive, send)
        else:
            await PlainTextResponse(_REFUSED, 403)(scope, receive, send)

    def _is_right(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self._token.encode())
