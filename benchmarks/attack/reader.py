"""A reader of the dashboard without a browser: Streamlit's own messages over its websocket.

The server does all it does for a browser, and sends all of it; nothing is drawn. Meanwhile the
landscape's rows, what its slider lacks, and the field of a γ that is chosen are asked for as the
landscape's script does.
"""

from __future__ import annotations

import http.client
import json
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.BidiComponent_pb2 import BidiComponent
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

#: Seconds after which an answer is taken to never come.
PATIENCE = 180.0
_XSRF = "_streamlit_xsrf"


class ReaderError(Exception):
    """What the reader was shown instead, or that nothing came."""


@dataclass
class Page:
    """What one run of a page showed."""

    seconds: float
    n_bytes: int
    picture: float | None = None  #: Seconds until the landscape was sent
    exact: float | None = None  #: Seconds until the exact field of the γ chosen was answered
    elements: list[Element] = field(default_factory=list)

    def named(self, kind: str, key: str = "") -> Element | None:
        """Return the first element of a kind whose id holds a key."""
        for element in self.elements:
            if element.WhichOneof("type") == kind and key in getattr(element, kind).id:
                return element
        return None

    @property
    def text(self) -> str:
        """All that is said in words."""
        said = [
            getattr(element, kind).body
            for element in self.elements
            if (kind := element.WhichOneof("type")) in ("markdown", "alert", "text", "heading")
        ]
        return "\n".join(said)


#: Whether a page that is not whole yet shows what is waited for.
Until = Callable[[Page], bool]


class _Landscape:
    """What the landscape's script asks for by itself while a page rests."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._news = threading.Condition()
        self._scene: dict[str, Any] = {}
        self._rows: set[str] = set()
        self._parts: dict[str, int] = {}
        self._whole: set[str] = set()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self.closed = False

    def take(self, sent: BidiComponent) -> bool:
        """Take what a component was sent; whether that is a picture to draw."""
        if not sent.id.endswith("-landscape"):
            return False
        with self._news:
            self._scene = _header(sent.bytes)
            if self._thread.ident is None:
                self._thread.start()
            self._news.notify()
        return True

    @property
    def is_shown(self) -> bool:
        """Whether there is a map that asks."""
        return bool(self._scene.get("address"))

    def close(self) -> None:
        with self._news:
            self.closed = True
            self._news.notify()

    def seconds_to_field(self, gamma: float) -> float | None:
        """Ask for the exact field of a γ; None where there is no answer."""
        start, scene = time.monotonic(), self._scene
        answer = self._ask(scene["address"], {"rows": scene["rows"], "gamma": gamma})
        return None if answer is None else time.monotonic() - start

    def _lacks(self) -> tuple[str, dict[str, Any]] | None:
        rows, fields = self._scene.get("rows"), self._scene.get("fields")
        if not self._scene.get("address"):
            return None
        if rows not in self._rows:
            return self._scene["address"], {"rows": rows, "all": True}
        if not fields or fields in self._whole:
            return None
        return fields, {"part": self._parts.get(fields, 0)}

    def _work(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: self.closed or self._lacks() is not None)
                lacks = self._lacks()
                if self.closed or lacks is None:
                    return
            try:
                said = self._ask(*lacks)
            except OSError:
                said = None
            if said is None:
                time.sleep(0.3)
            elif "rows" in lacks[1]:
                self._rows.add(lacks[1]["rows"])
            else:
                self._parts[lacks[0]] = said["nextPart"]
                if said["isAll"]:
                    self._whole.add(lacks[0])

    def _ask(self, address: str, asked: dict[str, Any]) -> dict[str, Any] | None:
        connection = http.client.HTTPConnection(self._host, timeout=PATIENCE)
        with closing(connection):
            connection.request("POST", address, json.dumps(asked))
            answer = connection.getresponse()
            content = answer.read()
        return _header(content) if answer.status == 200 else None


def _header(content: bytes) -> dict[str, Any]:
    """Return what is said in words in what ``figures/browser/landscape.py`` wrote."""
    length = int.from_bytes(content[-4:], "little")
    found: dict[str, Any] = json.loads(content[-4 - length : -4])
    return found


class Reader:
    """One session: opens pages, moves γ, uploads; ``with Reader(url) as reader``."""

    def __init__(self, url: str) -> None:
        self._host, self._base = urlsplit(url).netloc, urlsplit(url).path.rstrip("/")
        self._token = self._ask_token()
        self._open = ExitStack()
        self._socket: ClientConnection = self._open.enter_context(
            connect(
                f"ws://{self._host}{self._base}/_stcore/stream",
                subprotocols=[Subprotocol("streamlit"), Subprotocol(self._token)],
                origin=Origin(f"http://{self._host}"),
                additional_headers={"Cookie": f"{_XSRF}={self._token}"},
                max_size=None,
                open_timeout=PATIENCE,
            )
        )
        self._landscape = _Landscape(self._host)
        self._query = ""
        self._states: dict[str, WidgetState] = {}
        self._pages: dict[str, str] = {}
        self._session = self._now = ""

    def _ask_token(self) -> str:
        connection = http.client.HTTPConnection(self._host, timeout=PATIENCE)
        connection.request("GET", f"{self._base}/_stcore/health")
        answer = connection.getresponse()
        answer.read()
        connection.close()
        for cookie in answer.headers.get_all("Set-Cookie") or ():
            name, _, value = cookie.partition(";")[0].partition("=")
            if name == _XSRF:
                return value
        raise ReaderError("no token against foreign forms")

    @property
    def link(self) -> dict[str, str]:
        """What the address of the page says."""
        return {name: values[-1] for name, values in parse_qs(self._query).items()}

    def open(self, page: str, *, until: Until | None = None, **settings: object) -> Page:
        """Follow a link; ``until``: look no longer than this."""
        self._query, self._now = urlencode(settings), ""
        return self._run(page_name=page, until=until)

    def go(self, page: str, *, until: Until | None = None) -> Page:
        """Go to another page by the navigation; ``until``: look no longer than this."""
        self._now = self._pages[page]
        return self._run(until=until)

    def slide(self, page: Page, key: str, place: int) -> Page:
        """Move a slider of options to one of them, by its place."""
        element = page.named("slider", key)
        if element is None:
            raise ReaderError(f"no slider {key}")
        state = WidgetState(id=element.slider.id)
        options = element.slider.options
        state.string_array_value.data.append(options[place % len(options)])
        self._states[state.id] = state
        if key != "gamma" or not self._landscape.is_shown:
            return self._run()
        with ThreadPoolExecutor(1) as other:
            gamma = float(options[place % len(options)])
            exact = other.submit(self._landscape.seconds_to_field, gamma)
            found = self._run()
        found.exact = exact.result()
        return found

    def press(self, page: Page, key: str, *, until: Until | None = None) -> Page:
        """Press a button; ``until``: look no longer than this."""
        element = page.named("button", key)
        if element is None:
            raise ReaderError(f"no button {key}")
        self._states[element.button.id] = WidgetState(id=element.button.id, trigger_value=True)
        try:
            return self._run(until=until)
        finally:
            del self._states[element.button.id]

    def switch(self, page: Page, key: str, *, value: bool) -> Page:
        """Set a toggle."""
        element = page.named("checkbox", key)
        if element is None:
            raise ReaderError(f"no toggle {key}")
        identity = element.checkbox.id
        self._states[identity] = WidgetState(id=identity, bool_value=value)
        return self._run()

    def upload(self, page: Page, name: str, content: bytes) -> Page:
        """Drop a file into the page's uploader."""
        element = page.named("file_uploader")
        if element is None:
            raise ReaderError("no uploader")
        asked = BackMsg()
        asked.file_urls_request.request_id = secrets.token_hex(8)
        asked.file_urls_request.file_names.append(name)
        asked.file_urls_request.session_id = self._session
        self._send(asked)
        while True:
            said = self._receive(time.monotonic() + PATIENCE)
            if said.WhichOneof("type") == "file_urls_response":
                break
        (urls,) = said.file_urls_response.file_urls
        self._put(urls.upload_url, name, content)
        state = WidgetState(id=element.file_uploader.id)
        info = state.file_uploader_state_value.uploaded_file_info.add()
        info.name, info.size, info.file_id = name, len(content), urls.file_id
        info.file_urls.CopyFrom(urls)
        self._states[state.id] = state
        return self._run()

    def _put(self, address: str, name: str, content: bytes) -> None:
        edge = secrets.token_hex(12)
        head = f'Content-Disposition: form-data; name="{name}"; filename="{name}"'
        body = (
            f"--{edge}\r\n{head}\r\nContent-Type: application/octet-stream\r\n\r\n".encode()
            + content
            + f"\r\n--{edge}--\r\n".encode()
        )
        connection = http.client.HTTPConnection(self._host, timeout=PATIENCE)
        headers = {
            "Content-Type": f"multipart/form-data; boundary={edge}",
            "X-Xsrftoken": self._token,
            "Cookie": f"{_XSRF}={self._token}",
        }
        path = self._base + urlsplit(address).path.removeprefix(self._base)
        connection.request("PUT", path, body, headers)
        answer = connection.getresponse()
        answer.read()
        connection.close()
        if answer.status != 204:
            raise ReaderError(f"the upload was answered by {answer.status}")

    def _run(self, page_name: str = "", until: Until | None = None) -> Page:
        """Ask for the page as it is set, and take what comes until it is whole, or is enough."""
        asked = BackMsg()
        asked.rerun_script.query_string = self._query
        asked.rerun_script.page_script_hash = self._now
        asked.rerun_script.page_name = page_name
        asked.rerun_script.widget_states.widgets.extend(self._states.values())
        asked.rerun_script.context_info.SetInParent()
        self._send(asked)
        start = time.monotonic()
        found = Page(0.0, 0)
        while True:
            said = self._receive(start + PATIENCE)
            found.n_bytes += said.ByteSize()
            kind = said.WhichOneof("type")
            if kind == "new_session":
                self._session = said.new_session.initialize.session_id or self._session
                self._now = said.new_session.page_script_hash
                found.elements = []
            elif kind == "navigation":
                self._now = said.navigation.page_script_hash
                self._pages = {
                    item.url_pathname: item.page_script_hash for item in said.navigation.app_pages
                }
            elif kind == "page_info_changed":
                self._query = said.page_info_changed.query_string
            elif kind == "delta" and said.delta.WhichOneof("type") == "new_element":
                element = said.delta.new_element
                found.elements.append(element)
                if element.WhichOneof("type") == "bidi_component" and self._landscape.take(
                    element.bidi_component
                ):
                    found.picture = time.monotonic() - start
                if element.WhichOneof("type") == "exception":
                    raise ReaderError(f"{element.exception.type}: {element.exception.message}")
                if until is not None and until(found):
                    return found
            elif kind == "script_finished" and said.script_finished in (
                ForwardMsg.FINISHED_SUCCESSFULLY,
                ForwardMsg.FINISHED_WITH_COMPILE_ERROR,
            ):
                found.seconds = time.monotonic() - start
                return found

    def _send(self, asked: BackMsg) -> None:
        try:
            self._socket.send(asked.SerializeToString())
        except ConnectionClosed as error:
            raise ReaderError(type(error).__name__) from error

    def _receive(self, until: float) -> ForwardMsg:
        try:
            content = self._socket.recv(timeout=max(until - time.monotonic(), 0.01))
        except (TimeoutError, ConnectionClosed) as error:
            raise ReaderError(type(error).__name__) from error
        assert isinstance(content, bytes)
        said = ForwardMsg()
        said.ParseFromString(content)
        return said

    def close(self) -> None:
        """Close the tab."""
        self._landscape.close()
        self._open.close()

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
