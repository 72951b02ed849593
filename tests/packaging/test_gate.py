from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.web.server.starlette.starlette_websocket import create_websocket_handler

from pages.shared.gate import Gate


class Runtime:
    """As much of Streamlit's runtime as a connection asks for: a reader who is told something."""

    left = False

    def connect_session(self, client, user_info, existing_session_id):
        client.write_forward_msg(ForwardMsg(delta=None, script_finished=0))
        return "session"

    def handle_backmsg(self, session_id, message, client):
        pass

    def disconnect_session(self, session_id, client):
        self.left = True


def visit(gate: bool) -> Runtime:
    """Ask for a page, and leave before the answer is sent."""
    runtime = Runtime()
    app = Starlette(routes=[WebSocketRoute("/", create_websocket_handler(runtime))])
    coming = [
        {"type": "websocket.connect"},
        {"type": "websocket.receive", "bytes": BackMsg(clear_cache=True).SerializeToString()},
        {"type": "websocket.disconnect", "code": 1005},
    ]

    async def receive():
        for _ in range(5):
            await asyncio.sleep(0)
        return coming.pop(0)

    async def send(message):
        if message["type"] != "websocket.accept":
            raise OSError("the reader has left")

    scope = {"type": "websocket", "path": "/", "subprotocols": []}
    scope["headers"] = [(b"host", b"localhost")]
    visited = (Gate(app) if gate else app)(scope, receive, send)
    # (The thread of the browser tests has a loop of its own that always runs.)
    with ThreadPoolExecutor(1) as elsewhere:
        elsewhere.submit(asyncio.run, visited).result()
    return runtime


def test_a_reader_who_leaves_in_the_middle_is_no_failure():
    with pytest.raises(RuntimeError, match="close message"):
        visit(gate=False)
    assert visit(gate=True).left
