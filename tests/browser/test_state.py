import re

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


def test_a_deep_link_its_settings_on_other_pages_and_the_way_back(open_app, server):
    app = open_app("no_such_page")
    app.sees("What did I load?")
    link = "/landscape?gamma=0.5&bins=14&features=PCA+2-D&picture=rows&"
    app.page.goto(server.link.replace("/?", link))
    app.settle()
    app.drawn("landscape")
    expect(app.page).to_have_url(re.compile(r"/[0-9a-f]{32}/landscape\?.*gamma=0\.5.*data="))
    expect(app.page.get_by_role("dialog")).to_have_count(0)
    expect(app.page.get_by_text("Page not found")).to_have_count(0)
    app.gamma.focus()
    app.page.keyboard.press("ArrowRight")
    app.until_query("gamma", "0.6")
    app.go("Overview")
    with app.settings() as shown:
        for name, value in (("Bandwidth γ", "0.6"), ("Confidence bins", "14")):
            slider = shown.get_by_role("slider", name=name)
            expect(slider).to_have_attribute("aria-valuetext", value)
        assert app.chosen("Similar by") == "PCA 2-D"
    assert (app.query()["gamma"], app.query()["bins"]) == ("0.6", "14")
    app.page.get_by_role("link", name=re.compile("^Next: .*landscape$", re.I)).click()
    app.until(lambda: app.path == "landscape", "landscape after overview")
    app.drawn("landscape")
    assert app.query()["picture"] == "rows"
    app.go("Data")
    app.sees("What did I load?")
    # (Who leaves before the page has named its data in the address is led back to it.)
    app.until(lambda: app.query().get("data"), "the address of the data")
    expect(app.page.get_by_role("link", name=re.compile("^Next: "))).to_be_visible()  # its end
    app.settle()
    app.page.go_back()
    if not app.path:  # on a busy machine the page, and the page with its data, are two steps
        app.page.go_back()
    app.sees("Where is the confidence wrong?")
    assert app.path == "landscape"


def test_leaving_at_once_after_moving_the_map(light, server, open_tab):
    """What the map says before `leave` (hub.js) is answered, late here, must not empty the page."""
    held, is_slow = [], False

    def through(socket):
        wire = socket.connect_to_server()
        wire.on_message(lambda said: held.append((socket, said)) if is_slow else socket.send(said))

    with open_tab(light, server) as app:
        app.page.route_web_socket("**/_stcore/stream", through)
        app.open("landscape", gamma=0.5)
        app.map_drawn()
        app.map.focus()
        app.page.keyboard.press("ArrowLeft")
        is_slow = True
        app.page.get_by_role("link", name="Variables", exact=True).first.click()
        # The map tells of its view after half a second: what ends later was begun later.
        app.page.evaluate("() => new Promise(done => setTimeout(done, 600))")
        app.until(lambda: held, "an answer")
        while held:  # what comes meanwhile comes after
            socket, said = held.pop(0)
            socket.send(said)
        is_slow = False
        app.sees("Along which variable")
        app.settle()
