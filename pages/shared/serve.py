"""Run Streamlit on the dashboard: ``python serve.py run app.py …``, or :func:`serve` from Python.

The script also ends when its standard input does. The library starts this file by its path and
never imports Streamlit itself.
"""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import uvicorn
from streamlit.runtime.pages_manager import PagesManager
from streamlit.web.cli import main
from streamlit.web.server.starlette import starlette_server

#: Seconds after a signal until which killed processes are waited for and after which the process
#: ends in any case, and seconds after which a process that was just being started can be seen.
_KILL_SECONDS, _END_SECONDS, _START_SECONDS = 1.0, 1.7, 0.03
_END_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
#: Ends with the process that holds the other end of its standard input.
_GUARD = """
import os, select, signal, time
for number in [{numbers}]:
    signal.signal(number, signal.SIG_IGN)
is_signalled = os.read(0, 1)
end = time.monotonic() + {seconds}
while is_signalled and (left := end - time.monotonic()) > 0:
    if select.select([0], [], [], left)[0]:
        is_signalled = os.read(0, 99)
if is_signalled:
    os.kill({process}, signal.SIGKILL)
"""


def serve(arguments: Sequence[str], notify: Callable[[], None] = lambda: None) -> None:
    """Run ``streamlit`` with these arguments until it is interrupted.

    ``notify`` is called once the port is its own. A folder called ``pages`` makes a fresh
    server show "Page not found" over a first deep link, so pages are left to the script.
    """
    PagesManager.uses_pages_directory = False
    starlette_server._bind_socket = answering_at_once(starlette_server._bind_socket, notify)
    # Its own handlers wait for open connections first, for as long as those like.
    uvicorn.Server.capture_signals = contextlib.nullcontext  # type: ignore[assignment, method-assign]
    for number in _END_SIGNALS:
        signal.signal(number, _end)
    if os.name == "posix":
        _start_guard()
    main(list(arguments), prog_name="streamlit")


def answering_at_once(
    bind: Callable[..., socket.socket], notify: Callable[[], None] = lambda: None
) -> Callable[..., socket.socket]:
    """Let what is written to a reader leave at once: ``TCP_NODELAY``, which connections inherit.

    Else the body of an answer waits 40 ms until its head is acknowledged. (asyncio sets it only
    where the socket names its protocol: https://github.com/Kludex/uvicorn/issues/3149.)
    """

    def bound(*where: object) -> socket.socket:
        listening = bind(*where)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        notify()
        return listening

    return bound


def _start_guard() -> None:
    """Start a process that kills this one if it still runs a moment after its first signal.

    A handler of Python waits for the interpreter, which threads that compute hold for seconds; the
    number of a signal is written to a pipe without waiting.
    """
    heard, signalled = os.pipe()
    os.set_blocking(signalled, False)
    signal.set_wakeup_fd(signalled, warn_on_full_buffer=False)
    numbers = ",".join(str(int(number)) for number in _END_SIGNALS)
    script = _GUARD.format(numbers=numbers, seconds=_END_SECONDS, process=os.getpid())
    subprocess.Popen([sys.executable, "-ISc", script], stdin=heard)
    os.close(heard)


def _end(*_: object) -> None:
    """End this process and those it started, whatever they are doing.

    A handler runs in the middle of anything, and exit functions may wait for a lock: the guard ends
    what takes too long. Threads that still make a map would abort a Python that is taken down.
    """
    for number in _END_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    begin, groups, code = time.monotonic(), set[int](), 1
    # Each of hundreds of small steps has to wait for the threads that compute, by default 5 ms.
    sys.setswitchinterval(1e-5)
    try:
        # Threads neither put others in the place of what is killed, nor complain that it was.
        sys.addaudithook(_refuse_processes)
        threading.excepthook = lambda _: None
        _kill_children(groups)
        atexit._run_exitfuncs()
        with contextlib.suppress(OSError, RuntimeError):  # closed, or in the middle of a write
            sys.stdout.flush()
            sys.stderr.flush()
        time.sleep(_START_SECONDS)
        while _kill_children(groups) and time.monotonic() < begin + _KILL_SECONDS:
            time.sleep(_START_SECONDS)
        code = 0
    finally:
        os._exit(code)


def _refuse_processes(event: str, _: object) -> None:
    if event in ("subprocess.Popen", "os.fork"):
        raise OSError("this process is ending")


def _kill_children(groups: set[int]) -> bool:
    """Kill the processes that this one started; return whether any still runs.

    ``groups``: process groups of those that have their own, to which new ones are added (Linux).
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
