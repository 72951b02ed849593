"""Run Streamlit on the dashboard: ``python serve.py run app.py …``, or :func:`serve` from Python.

The library starts this file by its path and never imports Streamlit itself.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence

from streamlit.runtime.pages_manager import PagesManager
from streamlit.web.cli import main
from streamlit.web.server.starlette import starlette_server


def serve(arguments: Sequence[str]) -> None:
    """Run ``streamlit`` with these arguments until it is interrupted.

    A folder called ``pages`` beside the script makes a fresh server run its older page discovery
    once; a deep link as the very first visit then shows "Page not found" over the right page. So
    pages are left to the script.
    """
    PagesManager.uses_pages_directory = False
    starlette_server._bind_socket = answering_at_once(starlette_server._bind_socket)
    # Once it has closed, the server raises again the signal that ended it: no error of ours.
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, _end)
    main(list(arguments), prog_name="streamlit")


def answering_at_once(bind: Callable[..., socket.socket]) -> Callable[..., socket.socket]:
    """Let what is written to a reader leave at once: ``TCP_NODELAY``, which connections inherit.

    Else the body of an answer waits until its head is acknowledged, which the other end puts off:
    40 ms for each of the hundred files of a page, and for a message in several parts. (asyncio sets
    it only where the listening socket names its protocol; that of Streamlit, as of uvicorn, does
    not: https://github.com/Kludex/uvicorn/issues/3149.)
    """

    def bound(*where: object) -> socket.socket:
        listening = bind(*where)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listening

    return bound


def _end(*_: object) -> None:
    """End at once: threads that still make a map would abort a Python that is taken down."""
    # Workers that compared runs wait five minutes for more, and would be waited for.
    for worker in multiprocessing.active_children():
        worker.terminate()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    serve(sys.argv[1:])
