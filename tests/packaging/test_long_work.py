"""Fits beside a real server: they are cancelled, begun again, and go on when their page is left."""

from contextlib import contextmanager, suppress

import psutil
import pytest
from watched_server import serving

import lore_core as lore
from benchmarks.attack.reader import Reader

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("launch")]
MODULE = "lore_core.dashboard.worker"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("long")
    lore.save_npz(lore.demo.synthetic(150_000).dataset, folder / "rows.npz")
    with serving(folder / "log.txt", folder / "rows.npz") as server:
        yield server


def workers(server):
    """The processes that fit, by their ids."""
    found = set()
    for one in psutil.Process(server.process.pid).children(recursive=True):
        with suppress(psutil.Error):  # it has just ended
            if any(MODULE in word for word in one.cmdline()):
                found.add(one.pid)
    return found


def told(page):
    """What a page has said so far of a fit that can be cancelled."""
    if page.named("button", "stop_fit_methods") is None:
        return ""
    texts = [item.progress.text for item in page.elements if item.WhichOneof("type") == "progress"]
    return "\n".join(text for text in texts if text.startswith("**Fitting"))


def is_at_work(page):
    """Whether methods are being fitted by then: those that take longest come first."""
    return "LoRe" in told(page)


@contextmanager
def held(server):
    """Let no fit go on, so that none is done before the readers have done what they do."""
    processes = [psutil.Process(one) for one in workers(server)]
    for process in processes:
        process.suspend()
    yield {process.pid for process in processes}
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.resume()


def test_a_fit_is_cancelled_begun_again_left_and_shared(served):
    with Reader(served.url) as reader, Reader(served.url) as other:
        page = reader.open("recalibrate", until=is_at_work)
        with held(served) as at_first:
            page = reader.press(page, "stop_fit_methods")
            assert "Fitting the recalibrators: cancelled; nothing else changed." in page.text
        page = reader.press(page, "begin_again", until=is_at_work)
        with held(served) as again:
            assert not at_first <= again  # the one that was at work has ended
            assert "What did I load?" in reader.go("").text
            waiting = other.open("recalibrate", until=told)
            page = reader.go("recalibrate", until=told)
            assert "cancelled" in reader.press(page, "stop_fit_methods").text
            assert again <= workers(served)  # it was left, and is another's, too
            assert "cancelled" in other.press(waiting, "stop_fit_methods").text
        assert not again <= workers(served)
    assert "Traceback" not in served.said
