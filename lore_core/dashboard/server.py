"""Serve the dashboard on this machine: which script, which port, which settings."""

import atexit
import contextlib
import html
import os
import re
import runpy
import shutil
import socket
import sys
import tempfile
import threading
import time
import urllib.request
import webbrowser
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from lore_core.dashboard.access import TOKEN, link_to
from lore_core.data.validation import InputError, check_integer

_ADDRESS = "127.0.0.1"
DEFAULT_PORT = 8501
#: Seconds a server may take to answer before it counts as failed; a cold disk can take ten.
_START_SECONDS = 60.0


@dataclass(frozen=True)
class ServerSettings:
    """What a dashboard is started with."""

    port: int
    data: Sequence[Path] = ()  #: Files to show; without any the demo
    #: Scheme, name and port of a proxy: no other names but this machine's own are answered to.
    origins: Sequence[str] = ()
    #: Folder below which readers at this machine may name files; None: where it starts.
    data_root: Path | None = None
    #: Folder in which what readers load and make outlives the server; None: it does not.
    cache: Path | None = None
    selection: Path | None = None  #: File in which it says which rows are selected
    address: str = _ADDRESS  #: Of this machine, to listen at
    path_prefix: str = ""  #: What a proxy's address has before the pages
    against: Sequence[Path] = ()  #: Files of another model, to compare with
    whole: Path | None = None  #: Folder with sums of all rows, where ``data`` are a sample of them

    @property
    def base(self) -> str:
        """The path prefix with a stroke before it and none after; nothing is nothing."""
        return f"/{self.path_prefix.strip('/')}".rstrip("/")

    def command(self, app: Path) -> tuple[str, list[str]]:
        """Return the script that runs Streamlit on ``app``, and arguments that hold no token."""
        script = str(app.parent / "pages" / "shared" / "serve.py")
        names = (urlsplit(origin).hostname or "" for origin in self.origins)
        own = {
            "data-root": (self.data_root or Path.cwd()).resolve(),
            "path-prefix": self.base or None,
            "cache": self.cache,
            "selection": self.selection,
            "whole": self.whole and self.whole.resolve(),
        }
        return script, [
            "run",
            str(app),
            # Also in .streamlit/config.toml: these must win over the user's own configuration.
            f"--server.address={self.address}",
            f"--server.port={self.port}",
            *(f"--server.allowedHosts={name}" for name in (_ADDRESS, "localhost", *names)),
            *(f"--server.corsAllowedOrigins={origin}" for origin in self.origins),
            *_STREAMLIT_SETTINGS,
            "--",
            *(text for name, at in own.items() if at for text in (f"--{name}", str(at))),
            *(
                text
                for name, paths in (("--data", self.data), ("--against", self.against))
                for path in paths
                for text in (name, str(path.resolve()))
            ),
        ]


_STREAMLIT_SETTINGS = (
    # The path begins with the prefix and the secret, which the dashboard's middleware takes.
    "--server.baseUrlPath=",
    "--browser.gatherUsageStats=false",
    "--runner.magicEnabled=false",
    # Programs have the library and the command, which say what they do.
    "--server.enableAgentApi=false",
    # Collecting garbage after each page would make everybody wait 0.2 s.
    "--runner.postScriptGC=false",
    # The address is announced, and the browser opened, once and by us.
    "--server.headless=true",
    "--logger.hideWelcomeMessage=true",
    # Its warnings speak to those who write pages, with a stack each; errors are still shown.
    "--logger.level=error",
    # Those who edit the sources use `streamlit run app.py`.
    "--server.fileWatcherType=none",
)


def serve(
    settings: ServerSettings, token: str, *, open_browser: bool, notify: Callable[[str], None]
) -> None:
    """Serve the dashboard here until it is interrupted; ``notify`` gets a sentence with a link."""
    os.environ[TOKEN] = token
    here, origins = local_url(settings.port) + settings.base, settings.origins
    link = f"{origins[0]}{settings.base}/" if origins else link_to(here, token)
    bound = threading.Event()

    def announce() -> None:
        # Another account's program that has taken the port since must not be given the link.
        bound.wait()
        if wait_until_served(here, lambda: True):
            notify(f"LoRe Lens is open at {link} (Ctrl-C closes it).")
            if open_browser and not origins:
                folder = Path(tempfile.mkdtemp(prefix="lore-lens-"))
                atexit.register(shutil.rmtree, folder, ignore_errors=True)
                open_in_browser(link, folder)

    script, arguments = settings.command(find_app())
    # Streamlit belongs to the app: its half second is spent only when there is something to serve.
    run = runpy.run_path(script)["serve"]
    threading.Thread(target=announce, daemon=True).start()
    run(arguments, bound.set)


def public_origin(name: str) -> str:
    """Return scheme, name and port of a proxy, HTTPS if only a name; InputError if it is none."""
    origin = (name if "://" in name else f"https://{name}").lower().rstrip("/")
    if re.fullmatch(r"https?://[a-z0-9.-]+(:\d{1,5})?", origin) is None:
        raise InputError(
            "'--host-name' must be a name such as lens.example.com, or with scheme and port what "
            f"the browser's address shows: https://lens.example.com:8443; got {name!r}."
        )
    return origin


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
    """Return a free port on this machine: the one asked for, or the first from 8501 on."""
    if port is None:
        for candidate in range(DEFAULT_PORT, DEFAULT_PORT + 200):
            if _is_free(candidate):
                return candidate
        raise InputError(f"no port from {DEFAULT_PORT} to {DEFAULT_PORT + 199} is free; name one.")
    check_integer(port, "port", maximum=65535)
    if not _is_free(port):
        raise InputError(
            f"port {port} is taken or not allowed. Choose another, or leave it out: then a free "
            "one is found."
        )
    return port


def wait_until_served(url: str, alive: Callable[[], bool]) -> bool:
    """Wait for the server's health page; False if it died or took longer than a minute."""
    # A proxy for the world outside has no business with this machine's own server.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + _START_SECONDS
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


def open_in_browser(link: str, folder: Path) -> None:
    """Open a tab, where there is a screen, by a private page: a browser's arguments are seen."""
    # Without a screen the standard library would start a text browser in the terminal.
    screen = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    if screen or sys.platform in ("darwin", "win32"):
        page = folder / "open.html"
        page.touch(0o600)
        text = html.escape(link)
        page.write_text(f'<meta http-equiv="refresh" content="0; url={text}">', encoding="utf-8")
        with contextlib.suppress(webbrowser.Error):
            webbrowser.open(page.as_uri())


def local_url(port: int) -> str:
    """Address of a server on this machine."""
    return f"http://{_ADDRESS}:{port}"
