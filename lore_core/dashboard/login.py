"""Who may read a dashboard that demands a login: what its file says, checked at start."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from lore_core.data.validation import InputError

#: What Streamlit's section ``[auth]`` must hold.
_KEYS = ("redirect_uri", "cookie_secret", "client_id", "client_secret", "server_metadata_url")
#: Where a provider sends its readers back to; Streamlit answers there.
CALLBACK = "oauth2callback"
_HERE = ("127.0.0.1", "localhost", "::1")
_SHORTEST_SECRET = 32


@dataclass(frozen=True)
class Login:
    """Which readers are let in, and how their cookies are known.

    ``readers``: ``"*"``, whoever the provider lets in; ``"*@example.com"`` or
    ``"ana@example.com"``, by an address that the provider has verified; anything else by the
    provider's own name for somebody (``sub``).
    """

    readers: tuple[str, ...]
    origin: str  #: Scheme, name and port under which the dashboard is read
    cookie_secret: str

    @property
    def is_encrypted(self) -> bool:
        """Whether readers come by HTTPS."""
        return self.origin.startswith("https:")

    def admits(self, user: Mapping[str, Any]) -> bool:
        """Whether somebody of whom the provider says so much is one of the readers."""
        names = {str(user.get("sub") or "")}
        if user.get("email_verified") in (True, "true"):  # (Some providers send a text.)
            address = str(user.get("email") or "").lower()
            names |= {address, "*@" + address.rpartition("@")[2]}
        return "*" in self.readers or any(
            name in self.readers for name in names if name not in ("", "*", "*@")
        )


def read_login(path: Path, host_names: Iterable[str] = (), path_prefix: str = "") -> Login:
    """Read the section ``[auth]`` of a file in TOML, as Streamlit has it, and ``readers`` in it.

    ``host_names``, ``path_prefix``: under which a proxy shows the dashboard.

    Raises InputError if something is missing, or would let in others than it says.
    """
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8")).get("auth")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or f"no TOML: {error}"
        raise InputError(f"the login file '{path}' cannot be read ({reason}).") from error
    auth: dict[str, Any] = found if isinstance(found, dict) else {}
    for key in _KEYS:
        if not isinstance(auth.get(key), str) or not auth[key]:
            raise InputError(
                f"the login file '{path}' has no text '{key}' in its section [auth]. It needs "
                f"{', '.join(_KEYS)} and readers; see SECURITY.md."
            )
    readers = auth.get("readers")
    if not isinstance(readers, list) or not readers or not all(map(_is_reader, readers)):
        raise InputError(
            f"the login file '{path}' must list who is let in: readers = "
            '["ana@example.com", "*@example.org"] in its section [auth], or ["*"] for everybody '
            "whom the provider lets in."
        )
    if len(auth["cookie_secret"]) < _SHORTEST_SECRET:
        raise InputError(
            f"the 'cookie_secret' of the login file '{path}' must have {_SHORTEST_SECRET} "
            "characters or more, or it can be guessed. Make one with: python -c "
            '"import secrets; print(secrets.token_hex())".'
        )
    back = _checked(auth["redirect_uri"], "redirect_uri", path)
    _checked(auth["server_metadata_url"], "server_metadata_url", path)
    expected = "/" + f"{path_prefix.strip('/')}/{CALLBACK}".lstrip("/")
    if back.path != expected:
        raise InputError(
            f"the 'redirect_uri' of the login file '{path}' must end with '{expected}'; got "
            f"'{back.path}'."
        )
    if back.hostname not in {*_HERE, *(name.lower() for name in host_names)}:
        raise InputError(
            f"the 'redirect_uri' of the login file '{path}' leads to '{back.hostname}', a name "
            f"that is not answered to. Add: --host-name {back.hostname}."
        )
    return Login(
        tuple(str(name).lower() if "@" in name else str(name) for name in readers),
        f"{back.scheme}://{back.netloc}",
        auth["cookie_secret"],
    )


def _is_reader(name: object) -> bool:
    """Whether it is ``*``, ``*@domain``, or a name without a star."""
    return isinstance(name, str) and (
        name == "*" or bool(name.removeprefix("*@") and "*" not in name.removeprefix("*@"))
    )


def _checked(address: str, key: str, path: Path) -> SplitResult:
    """Return an address in parts; what is said to another machine must be encrypted."""
    try:
        parts = urlsplit(address)
        is_here = parts.hostname in _HERE and parts.port != 0
    except ValueError:
        parts, is_here = urlsplit(""), False
    if parts.hostname and (parts.scheme == "https" or (parts.scheme == "http" and is_here)):
        return parts
    raise InputError(
        f"the '{key}' of the login file '{path}' must be an address that begins with https:// "
        f"(http:// on this machine alone); got '{address}'."
    )
