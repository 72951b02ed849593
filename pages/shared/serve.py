"""Run Streamlit on the dashboard: ``python serve.py run app.py …``, ending with standard input."""

import atexit
import contextlib
import gc
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

#: Seconds from a signal to the last kill and to the end, and for a new process to be seen.
_KILL_SECONDS, _END_SECONDS, _START_SECONDS = 1.0, 1.7, 0.03
_END_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
#: In the command line of the process that readers of files are forked from (none of a zombie's).
_FORK_SERVER = b"multiprocessing.forkserver"
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
    """Run ``streamlit`` until it is interrupted; ``notify`` is called once the port is its own."""
    gc.disable()  # until the app is imported: nothing is garbage yet
    # Streamlit's own folder ``pages`` would show "Page not found" over a first deep link.
    PagesManager.uses_pages_directory = False
    starlette_server._bind_socket = answering_at_once(starlette_server._bind_socket, notify)
    # Its own handlers wait for open connections first, for as long as those like.
    uvicorn.Server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]
    for number in _END_SIGNALS:
        signal.signal(number, _end)
    if os.name == "posix":
        _start_guard()
    # Other processes load their modules while Streamlit loads its own.
    sys.path.insert(0, str(Path(arguments[1]).parent))  # as Streamlit does
    from lore_core.data import processes  # found there, if it is not installed

    processes.preload(processes.DASHBOARD)
    main(list(arguments), prog_name="streamlit")


def answering_at_once(
    bind: Callable[..., socket.socket], notify: Callable[[], None] = lambda: None
) -> Callable[..., socket.socket]:
    """Let what is written to a reader leave at once: a body would wait 40 ms for its head.

    asyncio sets it if the socket names its protocol: https://github.com/Kludex/uvicorn/issues/3149.
    """

    def bound(*where: object) -> socket.socket:
        listening = bind(*where)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        notify()
        return listening

    return bound


def _start_guard() -> None:
    """Start a process that kills this one if it runs on after a signal, as threads may let it."""
    heard, signalled = os.pipe()
    os.set_blocking(signalled, False)
    signal.set_wakeup_fd(signalled, warn_on_full_buffer=False)
    numbers = ",".join(str(int(number)) for number in _END_SIGNALS)
    script = _GUARD.format(numbers=numbers, seconds=_END_SECONDS, process=os.getpid())
    subprocess.Popen([sys.executable, "-ISc", script], stdin=heard)
    os.close(heard)


def _end(*_: object) -> None:
    """End this process and those it started at once; the guard ends what takes too long."""
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
    """Kill this process's children; True if any still runs. Adds their own ``groups`` (Linux)."""
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
            # It ends by itself, but not before it has imported what it was told to.
            if parent == os.getpid() and _FORK_SERVER in path.with_name("cmdline").read_bytes():
                os.kill(int(path.parent.name), signal.SIGKILL)
                running = True
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
