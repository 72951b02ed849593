"""Who is answered: requests made for this server, from its own pages."""

from __future__ import annotations

import contextlib
from urllib.parse import urlsplit

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pages.shared.accounts import is_another_account

#: What a refused reader is told.
_REFUSED = (
    "This address is not one LoRe Lens answers to. Open the one it printed, or name this one: "
    "lore app --host-name NAME."
)
_REFUSED_ACCOUNT = (
    "LoRe Lens answers to the account of this machine that started it. To show it to others, see "
    "SECURITY.md."
)
#: Names and addresses of this machine for itself.
_HERE = ("127.0.0.1", "localhost", "::1")


class Gate:
    """Refuse what was asked under another name, by a page of another site, or another account.

    A page of the web may give its own name to this machine's address and then read what is served
    there; the name it was asked under tells. And it may open a connection to this machine; its
    origin tells. (Streamlit refuses the second as well, but asks an outside server for its own
    address before.)

    A reader may leave while something is sent. What was sent is lost then, and no fault of
    anybody's: Streamlit would end the connection a second time, and print the failure of that.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refused = None if _is_ours(headers) else _REFUSED
        if refused is None and answers_this_machine_only() and is_another_account(scope):
            refused = _REFUSED_ACCOUNT
        if scope["type"] == "websocket":
            if refused is None:
                await self._app(scope, receive, _to_whom_it_may_reach(send))
            else:
                await send({"type": "websocket.close", "code": 1008, "reason": "not allowed"})
        elif refused is None:
            await self._app(scope, receive, _in_no_frame(send))
        else:
            await PlainTextResponse(refused, 403)(scope, receive, send)


def _in_no_frame(send: Send) -> Send:
    """Let no page of another site show this one inside itself, and guide clicks on it."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["X-Frame-Options"] = "SAMEORIGIN"
            headers.append("Content-Security-Policy", "frame-ancestors 'self'")
            headers.setdefault("X-Content-Type-Options", "nosniff")
            headers.setdefault("Referrer-Policy", "same-origin")
        await send(message)

    return send_with_headers


def answers_this_machine_only() -> bool:
    """Whether nobody listed another name to answer to, nor another address to listen at."""
    hosts: list[str] = st.get_option("server.allowedHosts")
    listed = bool(hosts) and all(host.lower() in _HERE for host in hosts)
    return listed and st.get_option("server.address") in _HERE


def _to_whom_it_may_reach(send: Send) -> Send:
    async def send_if_there(message: Message) -> None:
        # (That nobody is there is told by what is received next, the end of the connection.)
        with contextlib.suppress(OSError):
            await send(message)

    return send_if_there


def _is_ours(headers: Headers) -> bool:
    hosts: list[str] = st.get_option("server.allowedHosts")
    if not hosts:
        return True  # Served to others on purpose, under names nobody has listed.
    if not _is_named(headers.get("host"), hosts):
        return False
    origin = headers.get("origin")
    if origin is None:
        return True
    elsewhere: list[str] = st.get_option("server.corsAllowedOrigins") or []
    return origin in elsewhere or _is_named(urlsplit(origin).netloc, hosts)


def _is_named(address: str | None, hosts: list[str]) -> bool:
    """Whether the name in ``name:port`` is one of some; ``*.example.com`` stands for all below."""
    try:
        name = (urlsplit(f"//{address or ''}").hostname or "").rstrip(".")
    except ValueError:
        return False
    return any(
        name.endswith(host[1:]) if host.startswith("*.") else host in ("*", name)
        for host in map(str.lower, hosts)
    )
