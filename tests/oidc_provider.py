"""A provider of OpenID Connect on this machine: it believes whoever says who they are."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote_plus, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, SECRET, COOKIE_SECRET = "lens", "a secret of the client's", "0123456789abcdef" * 4
#: What is said of who; the tokens of ``mallory`` are signed by another key.
PEOPLE = {
    "ana": {"sub": "1", "email": "Ana@example.com", "email_verified": True},
    "bob": {"sub": "2", "email": "bob@elsewhere.org", "email_verified": True},
    "eve": {"sub": "3", "email": "eve@example.com", "email_verified": False},
    "kim": {"sub": "kim-4"},
    "mallory": {"sub": "5", "email": "ana@example.com", "email_verified": True},
}


class Provider(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.key = RSAKey.generate_key(2048, {"kid": "one"})
        self.other_key = RSAKey.generate_key(2048, {"kid": "one"})
        self.codes: dict[str, tuple[str, dict[str, str]]] = {}


class Handler(BaseHTTPRequestHandler):
    server: Provider

    def do_GET(self) -> None:
        parts, url = urlsplit(self.path), self.server.url
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.path == "/.well-known/openid-configuration":
            self.say(
                {
                    "issuer": url,
                    **{
                        f"{name}_endpoint": f"{url}/{name}"
                        for name in ("authorization", "token", "end_session")
                    },
                    "jwks_uri": f"{url}/keys",
                    "id_token_signing_alg_values_supported": ["RS256"],
                    "code_challenge_methods_supported": ["S256"],
                }
            )
        elif parts.path == "/keys":
            self.say({"keys": [self.server.key.as_dict(private=False)]})
        elif parts.path == "/authorization" and "who" not in asked:
            links = (f'<a href="?{parts.query}&who={name}">{name}</a>' for name in PEOPLE)
            self.say("<!doctype html><h1>Who are you?</h1>" + " ".join(links))
        elif parts.path == "/authorization":
            assert asked["client_id"] == CLIENT
            assert "openid" in asked["scope"]
            code = secrets.token_urlsafe()
            self.server.codes[code] = (asked["who"], asked)
            self.lead(asked["redirect_uri"], code=code, state=asked["state"])
        elif parts.path == "/end_session":
            self.lead(asked["post_logout_redirect_uri"])
        else:
            self.send_error(404)

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        told = parse_qs(self.rfile.read(length).decode())
        sent = {name: values[0] for name, values in told.items()}
        who, asked = self.server.codes.pop(sent["code"])
        named = base64.b64decode(self.headers["Authorization"].removeprefix("Basic ")).decode()
        digest = hashlib.sha256(sent["code_verifier"].encode()).digest()
        assert base64.urlsafe_b64encode(digest).decode().rstrip("=") == asked["code_challenge"]
        assert unquote_plus(named) == f"{CLIENT}:{SECRET}"
        now = int(time.time())
        claims = {
            "iss": self.server.url,
            "aud": CLIENT,
            "iat": now,
            "exp": now + 60,
            "nonce": asked["nonce"],
            **PEOPLE[who],
        }
        key = self.server.other_key if who == "mallory" else self.server.key
        token = jwt.encode({"alg": "RS256", "kid": "one"}, claims, key)
        self.say({"access_token": "x", "token_type": "Bearer", "id_token": token})

    def say(self, what: str | dict) -> None:
        content = (what if isinstance(what, str) else json.dumps(what)).encode()
        self.send_response(200)
        kind = "text/html" if isinstance(what, str) else "application/json"
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def lead(self, to: str, **said: str) -> None:
        self.send_response(302)
        self.send_header("Location", f"{to}?{urlencode(said)}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def providing() -> Iterator[Provider]:
    with Provider() as provider:
        threading.Thread(target=provider.serve_forever, daemon=True).start()
        try:
            yield provider
        finally:
            provider.shutdown()


def login_file(provider: Provider, port: int, *readers: str, prefix: str = "") -> str:
    return f"""
[auth]
redirect_uri = "http://127.0.0.1:{port}{prefix}/oauth2callback"
cookie_secret = "{COOKIE_SECRET}"
client_id = "{CLIENT}"
client_secret = "{SECRET}"
server_metadata_url = "{provider.url}/.well-known/openid-configuration"
readers = {json.dumps(readers)}
"""
