"""Which account of this machine asks: others reach its ports, too."""

from __future__ import annotations

import os
import socket
import struct
from pathlib import Path

from starlette.types import Scope

_LOCAL = ("127.0.0.1", "::1", "::ffff:127.0.0.1")
_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
#: How they call a connection that is open; and the same as a number.
_ESTABLISHED, _OPEN = "01", 1
#: Of <linux/sock_diag.h>: whom to ask, what for, and any cookie of a socket.
_SOCK_DIAG, _BY_FAMILY, _REQUEST, _ANY = 4, 20, 1, 0xFFFFFFFF
#: Length, kind, flags, number, port; family, protocol, extensions, states; then the connection:
#: its ports, its addresses, interface and cookie.
_HEADER, _ASKED = struct.Struct("=IHHII"), struct.Struct("=BBBxI")
_ENDS, _SOCKET = struct.Struct("!HH16s16s"), struct.Struct("=III")
#: Family and state; after the connection: expiry, two queues, account.
_FOUND, _COUNTS = struct.Struct("=BB2x"), struct.Struct("=IIII")

End = tuple[str, int]


def is_another_account(scope: Scope) -> bool:
    """Whether a request comes from a program of another account of this machine.

    Linux tells whose the other end of a connection is; the administrator is let through. Where it
    does not tell, nobody is another.
    """
    client = scope.get("client")
    if not hasattr(os, "getuid") or not client or client[0] not in _LOCAL:
        return False
    account = account_of(tuple(client), tuple(scope.get("server") or (client[0], 0)))
    return account not in (None, 0, os.getuid())


def account_of(client: End, served: End) -> int | None:
    """Return the account whose open connection goes from one address and port to another.

    None where there is none, or the system does not tell. It is asked anew each time (12 µs): a
    port may be another's a moment later.
    """
    try:
        return _asked(client, served)
    except (AttributeError, OSError, struct.error):
        return _looked_up(client[1], served[1])


def _asked(client: End, served: End) -> int | None:
    """Ask the kernel for one connection; OSError where it may not be asked."""
    addresses = [host.removeprefix("::ffff:") for host, _ in (client, served)]
    family = socket.AF_INET6 if ":" in addresses[0] else socket.AF_INET
    ends = (socket.inet_pton(family, address) for address in addresses)
    asked = _ASKED.pack(family, socket.IPPROTO_TCP, 0, _ANY)
    asked += _ENDS.pack(client[1], served[1], *ends) + _SOCKET.pack(0, _ANY, _ANY)
    head = _HEADER.pack(_HEADER.size + len(asked), _BY_FAMILY, _REQUEST, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
        kernel.settimeout(1.0)
        kernel.send(head + asked)
        said = kernel.recv(4096)
    if _HEADER.unpack_from(said)[1] != _BY_FAMILY:
        return None  # no such connection
    _, state = _FOUND.unpack_from(said, _HEADER.size)
    after = _HEADER.size + _FOUND.size + _ENDS.size + _SOCKET.size
    account: int = _COUNTS.unpack_from(said, after)[3]
    return account if state == _OPEN else None


def _looked_up(port: int, served: int) -> int | None:
    """Look for a connection in the tables of all of them, 0.7 ms."""
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
