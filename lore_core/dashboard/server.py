"""Serve the dashboard on this machine: which script, which port, which settings."""

from __future__ import annotations

import contextlib
import os
import runpy
import secrets
import socket
import sys
import threading
import time
import urllib.request
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import quote

from lore_core.data.validation import InputError, check_integer

_ADDRESS = "127.0.0.1"
DEFAULT_PORT = 8501
#: Seconds a server may take to answer before it counts as failed; a cold disk can take ten.
_START_TIMEOUT = 60.0
#: The environment's name for what a link must carry: arguments are seen by other accounts.
TOKEN = "LORE_TOKEN"


def serve(
    data: Sequence[Path],
    port: int,
    *,
    open_browser: bool,
    notify: Callable[[str], None],
    host_names: Sequence[str] = (),
    data_root: Path | None = None,
    kept: Path | None = None,
    address: str = _ADDRESS,
    path_prefix: str = "",
    login: Path | None = None,
    whole: Path | None = None,
) -> None:
    """Serve the dashboard in this process until it is interrupted; without files the demo.

    ``host_names`` and what follows: see :func:`streamlit_command`. ``open_browser``: whether to
    open a tab, where there is a screen. ``notify`` gets one sentence with the address once it
    answers.
    """
    here = "/".join(filter(None, [local_url(port), path_prefix.strip("/")]))
    # A login, or a proxy's, decides who is let in.
    token = None if login is not None or host_names else new_token()
    os.environ.pop(TOKEN, None)
    if token is not None:
        os.environ[TOKEN] = token
    link = link_to(here, token)

    def announce() -> None:
        if wait_until_served(here, lambda: True):
            notify(f"LoRe Lens is open at {link} (Ctrl-C closes it).")
            if open_browser:
                open_in_browser(link)

    # OpenMP threads that spin while they wait steal the processor from the page being drawn.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    script, arguments = streamlit_command(
        find_app(),
        data,
        port,
        host_names,
        data_root,
        kept,
        address=address,
        path_prefix=path_prefix,
        login=login,
        whole=whole,
    )
    # Streamlit belongs to the app: its half second is spent only when there is something to serve.
    run = runpy.run_path(script)["serve"]
    threading.Thread(target=announce, daemon=True).start()
    run(arguments)


def streamlit_command(
    app: Path,
    data: Sequence[Path],
    port: int,
    host_names: Sequence[str] = (),
    data_root: Path | None = None,
    kept: Path | None = None,
    told: Path | None = None,
    address: str = _ADDRESS,
    path_prefix: str = "",
    login: Path | None = None,
    whole: Path | None = None,
) -> tuple[str, list[str]]:
    """Return the script that runs Streamlit on ``app``, and its arguments.

    ``host_names``: names a proxy shows it under; it answers to no others but this machine's own.
    ``data_root``: folder below which readers at this machine may name files; None: where it starts.
    ``kept``: folder in which what readers load and make outlives the server; None: it does not.
    ``told``: file in which it says which rows are marked.
    ``address``: of this machine to listen at; beside its own, all who reach it may ask.
    ``path_prefix``: what a proxy's address has before the pages.
    ``login``: the file that says who is let in, and who tells who somebody is; None: all who ask.
    ``whole``: the folder with sums of all rows, where ``data`` are a sample of them.
    The dashboard's own arguments stand after the ``--``.
    """
    script = str(app.parent / "pages" / "shared" / "serve.py")
    arguments = [
        "run",
        str(app),
        # Repeated from .streamlit/config.toml, because these must also win over the user's own
        # configuration and environment.
        f"--server.address={address}",
        f"--server.port={port}",
        f"--server.baseUrlPath={path_prefix.strip('/')}",
        *(f"--server.allowedHosts={name}" for name in (_ADDRESS, "localhost", *host_names)),
        "--browser.gatherUsageStats=false",
        "--runner.magicEnabled=false",
        # Programs have the library and the command, which say what they do.
        "--server.enableAgentApi=false",
        # Looking through all objects of all readers, 0.2 s that everybody waits for, need not come
        # after each page: Python does it when many are new.
        "--runner.postScriptGC=false",
        # The address is announced, and the browser opened, once and by us.
        "--server.headless=true",
        "--logger.hideWelcomeMessage=true",
        # Its warnings speak to those who write pages, with a stack each; errors are still shown.
        "--logger.level=error",
        # Those who edit the sources use `streamlit run app.py`.
        "--server.fileWatcherType=none",
    ]
    arguments += ["--", "--data-root", str((data_root or Path.cwd()).resolve())]
    if kept is not None:
        arguments += ["--kept", str(kept)]
    if login is not None:
        arguments[2:2] = [f"--secrets.files={login.resolve()}"]
        arguments += ["--login", str(login.resolve())]
    if told is not None:
        arguments += ["--told", str(told)]
    if whole is not None:
        arguments += ["--whole", str(whole.resolve())]
    for path in data:
        arguments += ["--data", str(path.resolve())]
    return script, arguments


def find_app() -> Path:
    """Return the dashboard's script: inside an installed package, else beside it in a checkout."""
    package = Path(__file__).resolve().parent.parent
    candidates = [package / "dashboard" / "app.py", package.parent / "app.py"]
    for app in candidates:
        if app.is_file() and (app.parent / "pages").is_dir():
            return app
    raise InputError(
        f"the dashboard is missing from this installation: there is no {candidates[0]}. "
        "Install LoRe Lens again."
    )


def choose_port(port: int | None = None) -> int:
    """Return a free port on this machine: the one asked for, or the first from 8501 on.

    Raises InputError if the port asked for is out of range or taken.
    """
    if port is not None:
        check_integer(port, "port", maximum=65535)
        if not _is_free(port):
            raise InputError(
                f"port {port} is taken or not allowed. Choose another, or leave it out: "
                "then a free one is found."
            )
        return port
    for candidate in range(DEFAULT_PORT, DEFAULT_PORT + 200):
        if _is_free(candidate):
            return candidate
    raise InputError(f"no port from {DEFAULT_PORT} to {DEFAULT_PORT + 199} is free; name one.")


def wait_until_served(url: str, alive: Callable[[], bool]) -> bool:
    """Wait for the server's health page; False if it died or took longer than a minute."""
    # A proxy for the world outside has no business with this machine's own server.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + _START_TIMEOUT
    while time.monotonic() < deadline and alive():
        with contextlib.suppress(OSError), opener.open(f"{url}/_stcore/health", timeout=2):
            return True
        time.sleep(0.05)
    return False


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As the server does it: a port in its last minute after a close counts as free.
        if os.name == "posix":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_ADDRESS, port))
        except (OSError, OverflowError):
            return False
    return True


def open_in_browser(url: str) -> None:
    """Open a browser tab, where there is a screen."""
    # Without a screen the standard library would start a text browser in the terminal.
    screen = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    if screen or sys.platform in ("darwin", "win32"):
        with contextlib.suppress(webbrowser.Error):
            webbrowser.open(url)


def wanted_token() -> str | None:
    """Return what a link to this process's server must carry; None: nothing."""
    return os.environ.get(TOKEN) or None


def new_token() -> str | None:
    """Return a token for a server: the user's own, or a new one; None where none is needed.

    Linux tells whose account asks (``pages/shared/accounts.py``); other systems do not.
    """
    if own := wanted_token():
        return own
    return None if sys.platform == "linux" else secrets.token_urlsafe(24)


def link_to(url: str, token: str | None) -> str:
    """Return the link by which a browser comes in."""
    return url if token is None else f"{url}/?token={quote(token, safe='')}"


def local_url(port: int) -> str:
    """Address of a server on this machine."""
    return f"http://{_ADDRESS}:{port}"
