"""Run Streamlit on the dashboard: ``python serve.py run app.py …``, or :func:`serve` from Python.

The script also ends when its standard input does. The library starts this file by its path and
never imports Streamlit itself.
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import uvicorn
from streamlit.runtime.pages_manager import PagesManager
from streamlit.web.cli import main
from streamlit.web.server.starlette import starlette_server

#: Seconds that exit functions may take, seconds after the signal until which killed processes are
#: waited for, and seconds after which one that was just being started can be seen.
_EXIT_SECONDS, _KILL_SECONDS, _START_SECONDS = 1.0, 1.8, 0.03
_END_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


def serve(arguments: Sequence[str], notify: Callable[[], None] = lambda: None) -> None:
    """Run ``streamlit`` with these arguments until it is interrupted.

    ``notify`` is called once the port is this process's own.

    A folder called ``pages`` beside the script makes a fresh server run its older page discovery
    once; a deep link as the very first visit then shows "Page not found" over the right page. So
    pages are left to the script.
    """
    PagesManager.uses_pages_directory = False
    starlette_server._bind_socket = answering_at_once(starlette_server._bind_socket, notify)
    # Its own handlers wait for open connections first, for as long as those like.
    uvicorn.Server.capture_signals = _leave_signals  # type: ignore[assignment, method-assign]
    for number in _END_SIGNALS:
        signal.signal(number, _end)
    main(list(arguments), prog_name="streamlit")


def answering_at_once(
    bind: Callable[..., socket.socket], notify: Callable[[], None] = lambda: None
) -> Callable[..., socket.socket]:
    """Let what is written to a reader leave at once: ``TCP_NODELAY``, which connections inherit.

    Else the body of an answer waits until its head is acknowledged, which the other end puts off:
    40 ms for each of the hundred files of a page, and for a message in several parts. (asyncio sets
    it only where the listening socket names its protocol; that of Streamlit, as of uvicorn, does
    not: https://github.com/Kludex/uvicorn/issues/3149.) ``notify`` is called when it listens.
    """

    def bound(*where: object) -> socket.socket:
        listening = bind(*where)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        notify()
        return listening

    return bound


@contextlib.contextmanager
def _leave_signals(_: uvicorn.Server) -> Iterator[None]:
    yield


def _end(*_: object) -> None:
    """End this process and those it started within two seconds, whatever they are doing.

    A handler runs in the middle of anything: nothing here waits for a lock, but exit functions may,
    and then the process ends without them. Threads that still make a map would abort a Python that
    is taken down.
    """
    for number in _END_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    deadline, groups, code = time.monotonic() + _KILL_SECONDS, set[int](), 1
    try:
        # Threads neither put others in the place of what is killed, nor complain that it was.
        sys.addaudithook(_refuse_processes)
        threading.excepthook = lambda _: None
        _kill_children(groups)
        with Path(os.devnull).open("wb") as nowhere:
            faulthandler.dump_traceback_later(_EXIT_SECONDS, exit=True, file=nowhere)
            atexit._run_exitfuncs()
            with contextlib.suppress(OSError, RuntimeError):  # closed, or in the middle of a write
                sys.stdout.flush()
                sys.stderr.flush()
            faulthandler.cancel_dump_traceback_later()
        time.sleep(_START_SECONDS)
        while _kill_children(groups) and time.monotonic() < deadline:
            time.sleep(_START_SECONDS)
        code = 0
    finally:
        os._exit(code)


def _refuse_processes(event: str, _: object) -> None:
    if event in ("subprocess.Popen", "os.fork"):
        raise OSError("this process is ending")


def _kill_children(groups: set[int]) -> bool:
    """Kill the processes that this one started; return whether any of them still runs.

    ``groups``: process groups of those that have their own, to which new ones are added (Linux;
    elsewhere they end as their pipes close).
    """
    # Workers that compared runs wait five minutes for more, and would be waited for.
    for worker in multiprocessing.active_children():
        worker.terminate()
    running = False
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has just ended
            state, *ids = path.read_bytes().rpartition(b")")[2].split()[:3]
            parent, group = map(int, ids)
            if parent == os.getpid() and group != os.getpgrp():
                groups.add(group)
            running |= state != b"Z" and group in groups
    for group in groups:
        with contextlib.suppress(OSError):
            os.killpg(group, signal.SIGKILL)
    return running


def _end_with_input() -> None:
    """End when standard input does: who started this process has ended, and cannot stop it."""
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=_end_with_input, daemon=True).start()
    serve(sys.argv[1:])
