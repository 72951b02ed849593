"""A login before everything, where the dashboard was started with one (OpenID Connect)."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote, urlencode

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.auth_util import encode_provider_token, get_cookie_with_chunks
from streamlit.web.server.starlette.starlette_app_utils import decode_signed_value
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

from lore_core.dashboard.login import CALLBACK, Login, read_login
from pages.shared.files import arguments

#: How long a login holds, in days; Streamlit's own thirty are long for what may be confidential.
_HOLDS = 0.5
#: Where a login begins, and the cookie that says where the reader wanted to go.
_BEGIN, _WANTED = "lore/login", "lore_wanted"
#: Characters of an address that is remembered; a cookie holds some 4,000.
_LONGEST = 3000
#: What is answered without a login: how one is made and ended, and whether the server is well.
_OPEN = ("auth/login", "auth/logout", CALLBACK, "_stcore/health")
_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>LoRe Lens</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 28rem; margin: 20vh auto; padding: 1rem }}
a {{ color: light-dark(#0f766e, #2dd4bf) }}</style>
<h1>LoRe Lens</h1><p>{text}</p><p><a href="{address}">{link}</a></p></html>"""


def demanded() -> list[Middleware]:
    """Return what lets only readers in who have logged in; nothing where none is demanded.

    What the file says is read once, so that nobody is let in because it is gone.
    """
    file = arguments().login
    if file is None:
        return []
    base = str(st.get_option("server.baseUrlPath")).strip("/")
    hosts = st.get_option("server.allowedHosts")
    return [Middleware(Door, login=read_login(file, hosts, base), base=base)]


def reader() -> None:
    """Say who is logged in, and let the reader log out."""
    if arguments().login is None:
        return
    with st.popover("", icon=":material/account_circle:", type="tertiary", width="content"):
        st.text(str(st.user.get("email") or st.user.get("name") or st.user.get("sub") or ""))
        st.button("Log out", icon=":material/logout:", on_click=st.logout, width="stretch")


class Door:
    """Let those in who have logged in and are among the readers; nobody else is answered.

    ``base``: what stands before the pages in the address. A reader who is sent to log in arrives
    afterwards at the link that was opened.
    """

    def __init__(self, app: ASGIApp, login: Login, base: str) -> None:
        self._app, self._login = app, login
        self._root = f"/{base}/" if base else "/"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, send its reader to log in, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        if scope["type"] == "http" and self._login.is_encrypted:
            send = _with_secure_cookies(send)
        asked = HTTPConnection(scope)
        path = scope["path"]
        # (Streamlit leads to the beginning without its last stroke.)
        place = "" if f"{path}/" == self._root else None
        if path.startswith(self._root):
            place = path.removeprefix(self._root)
        user = self._user(asked.cookies)
        admitted = user is not None and self._login.admits(user)
        if place in _OPEN and scope["type"] == "http":
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            if admitted:
                await self._app(scope, receive, send)
            else:
                await send({"type": "websocket.close", "code": 1008, "reason": "not logged in"})
        elif place == _BEGIN:
            await self._begin(asked.query_params.get("to", ""))(scope, receive, send)
        elif not admitted:
            await self._refusal(asked, user)(scope, receive, send)
        elif place == "" and _WANTED in asked.cookies:
            answer = RedirectResponse(self._own(unquote(asked.cookies[_WANTED])), 302)
            answer.delete_cookie(_WANTED, self._root)
            await answer(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _user(self, cookies: Mapping[str, str]) -> dict[str, Any] | None:
        """Return what the provider said of a reader, by the cookie that Streamlit has signed."""

        def signed(name: str) -> bytes | None:
            value = cookies.get(name, "")
            return decode_signed_value(self._login.cookie_secret, name, value, _HOLDS)

        try:
            user = json.loads(get_cookie_with_chunks(signed, USER_COOKIE_NAME) or b"null")
        except ValueError:
            return None
        known = isinstance(user, dict) and user.get("is_logged_in") is True
        return user if known and user.get("origin") == self._login.origin else None

    def _begin(self, wanted: str) -> Response:
        """Go to the provider, and remember where the reader wanted to go."""
        token = urlencode({"provider": encode_provider_token("default")})
        answer = RedirectResponse(f"{self._root}auth/login?{token}", 302)
        if wanted and len(quote(wanted, safe="")) <= _LONGEST:
            answer.set_cookie(
                _WANTED, quote(self._own(wanted), safe=""), 600, path=self._root, httponly=True
            )
        return answer

    def _own(self, wanted: str) -> str:
        """Return an address of this dashboard: that which is wanted, or its beginning."""
        is_own = wanted.startswith(self._root) and not wanted.startswith(("//", "/\\"))
        return wanted if is_own and wanted.isprintable() else self._root

    def _refusal(self, asked: HTTPConnection, user: Mapping[str, Any] | None) -> Response:
        if user is not None:
            named = html.escape(str(user.get("email") or user.get("sub") or "This account"))
            return HTMLResponse(
                _PAGE.format(
                    text=f"{named} is not among the readers of this dashboard, or its address is "
                    "not verified. Whoever runs it can change that.",
                    address=f"{self._root}auth/logout",
                    link="Log out",
                ),
                403,
            )
        if "text/html" not in Headers(scope=asked.scope).get("accept", ""):
            return PlainTextResponse("Log in first: open the address in a browser.", 401)
        url = asked.url
        wanted = f"{url.path}?{url.query}" if url.query else url.path
        address = f"{self._root}{_BEGIN}?{urlencode({'to': wanted})}"
        return HTMLResponse(
            _PAGE.format(
                text="This dashboard is shown to readers who have logged in.",
                address=html.escape(address),
                link="Log in",
            ),
            401,
            headers={"Cache-Control": "no-store"},
        )


def _with_secure_cookies(send: Send) -> Send:
    """Let cookies be sent by HTTPS alone: behind a proxy Streamlit cannot know that it is so."""

    async def send_secure(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            cookies = headers.getlist("set-cookie")
            del headers["set-cookie"]
            for cookie in cookies:
                secure = "secure" in cookie.lower().split("; ")
                headers.append("set-cookie", cookie if secure else f"{cookie}; Secure")
        await send(message)

    return send_secure
