"""Which account of this machine asks: others reach its ports, too."""

from __future__ import annotations

import os
import time
from pathlib import Path

from starlette.types import Scope

_LOCAL = ("127.0.0.1", "::1", "::ffff:127.0.0.1")
_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
#: Seconds for which an end of a connection is taken to be whose it was.
_KNOWN_FOR = 2.0
_MOST_KNOWN = 500
_known: dict[int, tuple[float, int | None]] = {}


def is_another_account(scope: Scope) -> bool:
    """Whether a request comes from a program of another account of this machine.

    Linux tells whose the other end of a connection is; the administrator is let through. Where it
    does not tell, nobody is another.
    """
    client = scope.get("client")
    if not hasattr(os, "getuid") or not client or client[0] not in _LOCAL:
        return False
    account = _account_at(int(client[1]), int((scope.get("server") or client)[1] or 0))
    return account not in (None, 0, os.getuid())


def _account_at(port: int, served: int) -> int | None:
    """Return the account whose connection goes from one port to the one that is served."""
    now = time.monotonic()
    when, account = _known.get(port, (-_KNOWN_FOR, None))
    if now - when < _KNOWN_FOR:
        return account
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    found = _looked_up(port, served)
    _known[port] = now, found
    return found


def _looked_up(port: int, served: int) -> int | None:
    ends = f":{port:04X}", f":{served:04X}"
    for table in _TABLES:
        try:
            lines = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            _, here, there, state, _, _, _, account, *_ = line.split()
            if state == _ESTABLISHED and here.endswith(ends[0]) and there.endswith(ends[1]):
                return int(account)
    return None


#: How the tables call a connection that is open.
_ESTABLISHED = f"{1:02X}"
