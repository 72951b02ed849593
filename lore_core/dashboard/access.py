"""Access control of the dashboard: the secret in its address, host, origin and headers.

Whoever knows the token T opens ``http://127.0.0.1:8501/?token=T``. The answer leads to the same
page below ``/S/``, where S is derived from T, and nothing is answered outside that path but whether
the server is well. (A cookie would be sent by pages of every port of the machine.)
"""

from __future__ import annotations

import contextlib
import hmac
import os
import re
import secrets
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from lore_core.dashboard.disk_cache import make_private
from lore_core.data.atomic_files import replaced_at_once
from lore_core.data.validation import InputError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: The environment's name for the token: other accounts see a process's arguments.
TOKEN = "LORE_TOKEN"
TOKEN_FILE = "token"  #: of an account, in its private cache folder
#: Names and addresses of this machine for itself.
LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")
_HEADERS = (
    (b"x-frame-options", b"SAMEORIGIN"),
    (b"content-security-policy", b"frame-ancestors 'self'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # The address holds the secret.
)
_SECRET = re.compile(r"\A/[0-9a-f]{32}(?=/)")  #: this or an older one, before a page's path
_NO_SECRET = (
    "This link has no secret, or an older one. Open the link that LoRe Lens printed when it "
    "started (it ends in ?token=…), or add that token to this address."
)
_NO_PROXY = "This dashboard is read through its proxy, which must send the token: see SECURITY.md."
_NOT_OURS = (
    "This address, or the page that asks, is not LoRe Lens's own. Open the link that it printed; "
    "behind a proxy, name what the browser shows: lore app --host-name lens.example.com."
)


def new_token(folder: Path | None = None) -> str:
    """Return ``LORE_TOKEN``, else the token saved in a private folder, else a new one.

    Raises InputError if that of the environment is weak, or the folder cannot be used.
    """
    if token := os.environ.get(TOKEN):
        if re.fullmatch(r"[!-~]{16,}", token) is None:
            raise InputError(
                f"{TOKEN} must hold 16 or more letters, digits and signs without spaces. Make one "
                'with: python -c "import secrets; print(secrets.token_urlsafe())".'
            )
        return token
    if folder is None:
        return secrets.token_urlsafe(24)
    make_private(folder)
    path = folder / TOKEN_FILE
    if not _is_private(path):
        with replaced_at_once(path) as written:
            written.chmod(0o600)
            written.write_text(secrets.token_urlsafe(24), encoding="ascii")
    return path.read_text(encoding="ascii")


def _is_private(path: Path) -> bool:
    try:
        state = path.lstat()
    except FileNotFoundError:
        return False
    is_own = os.name != "posix" or (state.st_uid == os.getuid() and not state.st_mode & 0o077)
    return is_own and stat.S_ISREG(state.st_mode)


def base_path(token: str, prefix: str = "") -> str:
    """Return what every address begins with: a proxy's path such as /tools/lens, and the secret."""
    return f"{prefix}/{hmac.digest(token.encode(), b'path', 'sha256').hex()[:32]}"


def link_to(url: str, token: str) -> str:
    """Return the link by which a browser comes in."""
    return f"{url}/?{urlencode({'token': token})}"


class AccessMiddleware:
    """Answer to those who know the secret, under this server's names and from its own pages.

    ``token``: opens a link. ``hosts``: names answered to. ``origins``: scheme, name and port that a
    proxy shows it under; then every request must hold the token. ``prefix``: its path there.
    """

    def __init__(
        self, app: ASGIApp, token: str, hosts: Sequence[str], origins: Sequence[str], prefix: str
    ) -> None:
        self._app, self._token, self._origins = app, token, origins
        self._hosts = [host.lower() for host in hosts]
        self._prefix, self._base = prefix, base_path(token, prefix)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, lead it below the secret path, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        is_http = scope["type"] == "http"
        send = _guarded(send)
        status, text = self._judge(scope)
        if status == 200:
            await self._app({**scope, "root_path": text}, receive, send)
        elif is_http:
            location = [(b"location", text.encode())] if status == 302 else []
            headers = [(b"content-type", b"text/plain; charset=utf-8"), *location]
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": text.encode()})
        else:
            await send({"type": "websocket.close", "code": 1008, "reason": "not allowed"})

    def _judge(self, scope: Scope) -> tuple[int, str]:
        """Return 200 and the path the app lies below, 302 and an address, or 403 and a sentence."""
        path, is_http = scope["path"], scope["type"] == "http"
        headers = {
            name.decode("latin-1"): text.decode("latin-1") for name, text in scope["headers"]
        }
        query = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
        is_proxy = _equal(headers.get("authorization", ""), f"Bearer {self._token}")
        is_link = _equal(dict(query).get("token", ""), self._token)
        if not self._is_ours(headers.get("host", ""), headers.get("origin")):
            return 403, _NOT_OURS
        if is_http and path == f"{self._prefix}/_stcore/health":
            return 200, self._prefix
        if self._origins and not is_proxy:
            return 403, _NO_PROXY
        if _equal(path[: len(self._base) + 1], f"{self._base}/") and not is_link:
            return 200, self._base
        if (is_proxy or is_link) and headers.get("sec-fetch-mode", "navigate") == "navigate":
            page = _SECRET.sub("", path.removeprefix(self._prefix), count=1).lstrip("/")
            settings = urlencode([item for item in query if item[0] != "token"])
            return 302, f"{self._base}/{quote(page)}{'?' if settings else ''}{settings}"
        return 403, _NO_SECRET

    def _is_ours(self, host: str, origin: str | None) -> bool:
        """Whether a request is for a name of this server, and no other site's page makes it."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        is_same = name in LOCAL_HOSTS and origin == f"http://{host}"
        return name in self._hosts and (origin is None or is_same or origin in self._origins)


def _equal(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(), expected.encode())


def _guarded(send: Send) -> Send:
    """Let no page of another site show this one inside itself, nor learn its address."""

    async def send_guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *_HEADERS]}
        # (To a reader who has left: Streamlit would end the connection twice.)
        with contextlib.suppress(OSError):
            await send(message)

    return send_guarded
