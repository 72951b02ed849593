"""A page that another port of this machine serves, in the browser that reads the dashboard."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

ASK = """async ([pages, streams]) => {
    const found = {};
    const note = async (what, done) => { found[what] = await done.catch(() => "refused"); };
    for (const page of pages) {
        for (const method of ["GET", "POST"]) {
            await note(`${method} ${page}`, fetch(page, {method, credentials: "include"})
                .then((answer) => answer.text()));
        }
        await note(`frame ${page}`, new Promise((seen, refused) => {
            const frame = document.createElement("iframe");
            frame.onload = () => frame.contentDocument ? seen("read") : refused();
            frame.src = page;
            document.body.append(frame);
        }));
    }
    for (const stream of streams) {
        await note(stream, new Promise((opened, refused) => {
            const socket = new WebSocket(stream.replace("http:", "ws:"), ["streamlit"]);
            socket.onopen = () => { socket.close(); opened("opened"); };
            socket.onerror = refused;
        }));
    }
    return found;
}"""


class Other(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(str(self.headers))
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><p>other</p>")

    def log_message(self, *_):
        pass


@pytest.fixture
def other():
    with ThreadingHTTPServer(("127.0.0.1", 0), Other) as server:
        server.asked = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_it_opens_no_connection_and_reads_nothing(light, server, open_tab, other):
    secret = urlsplit(server.url).path
    here = server.url.removesuffix(secret)
    pages = [f"{here}/", f"{server.url}/", f"{server.url}/_stcore/host-config", server.link]
    streams = [f"{here}/_stcore/stream", f"{server.url}/_stcore/stream"]
    with open_tab(light, server) as app:
        app.open("runs")
        own = app.page.evaluate(ASK, [pages[1:2], streams[1:]])
        assert own[f"frame {server.url}/"] == "read"
        assert "<title>" in own[f"GET {server.url}/"]
        assert own[streams[1]] == "opened"
        page = light.new_page()
        try:
            page.goto(f"http://127.0.0.1:{other.server_port}/")
            found = page.evaluate(ASK, [pages, streams])
        finally:
            page.close()
        assert len(found) == 14
        assert set(found.values()) == {"refused"}, found
        # Cookies are shared by all ports: none of them, nor the address they came from, opens it.
        assert len(other.asked) > 0
        assert not any(text in asked for asked in other.asked for text in (server.token, secret))
        app.page.evaluate(f"location.href = 'http://127.0.0.1:{other.server_port}/followed'")
        app.page.wait_for_url("**/followed")
        assert not any(text in asked for asked in other.asked for text in (server.token, secret))
        app.asked_elsewhere.clear()
