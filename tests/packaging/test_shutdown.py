import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress

import numpy as np
import psutil
import pytest
from watched_server import ROOT, Server, serving

import lore_core as lore
from benchmarks.attack.reader import Reader

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("launch"),
    pytest.mark.skipif(sys.platform != "linux", reason="files are read in other processes there"),
]
#: Seconds the end may take on a busy machine; without limits of its own it would take minutes.
SECONDS = 10.0
FORK_SERVER = "multiprocessing.forkserver"


def marked(mark):
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):  # it has just ended, or is another account's
            if mark in process.environ().values() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def running(module, processes):
    found = set()
    for process in processes:
        with suppress(psutil.Error):
            if any(module in word for word in process.cmdline()):
                found.add(process.pid)
    return found


def interrupt(server, seed):
    """Send all three signals a moment apart, and wait until the server has ended."""
    random = np.random.default_rng(seed)
    for number in random.permutation([signal.SIGTERM, signal.SIGINT, signal.SIGHUP]):
        server.process.send_signal(int(number))
        with suppress(subprocess.TimeoutExpired):
            server.process.wait(random.uniform(0.0, 0.1))
    server.process.wait(SECONDS)


def wait_for(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def told(page):
    if page.named("button", "stop_fit_methods") is None:
        return ""
    texts = [item.progress.text for item in page.elements if item.WhichOneof("type") == "progress"]
    return "\n".join(text for text in texts if text.startswith("**Fitting"))


def is_at_work(page):
    return "LoRe" in told(page)


def test_a_fit_is_cancelled_begun_again_left_and_shared(tmp_path_factory, tmp_path):
    rows = tmp_path_factory.mktemp("rows") / "rows.npz"
    lore.save_npz(lore.demo.synthetic(80_000).dataset, rows)
    with serving(tmp_path / "log.txt", rows) as server:

        def workers(seconds=0.0):
            found = set()  # that run; with ``seconds`` those that are at work meanwhile
            for one in psutil.Process(server.process.pid).children(recursive=True):
                with suppress(psutil.Error):  # it has just ended
                    forked = running(FORK_SERVER, [one.parent()]) and one.status() != "zombie"
                    if forked and (not seconds or one.cpu_percent(seconds)):
                        found.add(one)
            return found

        @contextmanager
        def held():
            """Let no fit go on, so that none is done before the readers have done what they do."""
            processes = workers(0.2)
            for process in processes:
                process.suspend()
            yield processes
            for process in processes:
                with suppress(psutil.NoSuchProcess):
                    process.resume()

        with Reader(server.url) as reader, Reader(server.url) as other:
            page = reader.open("recalibrate", until=is_at_work, features="PCA 2-D")
            with held() as at_first:
                page = reader.press(page, "stop_fit_methods")
                assert "Fitting the recalibrators: cancelled; nothing else changed." in page.text
            page = reader.press(page, "begin_again", until=is_at_work)
            with held() as again:
                assert at_first
                assert not at_first & again  # the one that was at work has ended
                assert "What did I load?" in reader.go("").text
                waiting = other.open("recalibrate", until=told, features="PCA 2-D")
                page = reader.go("recalibrate", until=told)
                assert "cancelled" in reader.press(page, "stop_fit_methods").text
                assert again <= workers()  # it was left, and is another's, too
                assert "cancelled" in other.press(waiting, "stop_fit_methods").text
            wait_for(lambda: not again <= workers())
        with Reader(server.url) as reader:
            reader.open("recalibrate", gamma=0.3, until=told)
            with Reader(server.url) as other:
                other.open("landscape", until=lambda page: True)
                assert workers()
                interrupt(server, 1)
        assert server.process.returncode == 0
        wait_for(lambda: not marked(str(server.outgoing)), SECONDS)
        assert "Traceback" not in server.said


@pytest.fixture
def reading(tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    written = []

    def is_read():
        with suppress(OSError):
            written.append(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        return written

    with serving(tmp_path / "log.txt", pipe) as server, Reader(server.url) as reader:
        reader.open("overview", until=lambda page: True)
        wait_for(is_read)
        yield server
    os.close(written[0])


def test_a_file_being_read_does_not_hold_it_up(reading):
    interrupt(reading, 0)
    wait_for(lambda: not marked(str(reading.outgoing)), SECONDS)


def test_a_killed_server_leaves_no_process(reading):
    reading.process.kill()
    wait_for(lambda: not marked(str(reading.outgoing)))


def test_it_ends_before_it_answers(tmp_path):
    """What readers are forked from is not left at its imports."""
    server = Server(tmp_path / "log.txt")
    try:
        wait_for(lambda: running(FORK_SERVER, marked(str(server.outgoing))))
        interrupt(server, 0)
    finally:
        server.process.kill()
        server.process.wait()
    wait_for(lambda: not marked(str(server.outgoing)), 2.0)


def test_an_exit_function_that_hangs_does_not_hold_it_up(tmp_path):
    script = tmp_path / "ended.py"
    script.write_text(
        "import atexit, runpy, signal, threading\n"
        f"run = runpy.run_path({str(ROOT / 'pages' / 'shared' / 'serve.py')!r})\n"
        "atexit.register(threading.Event().wait)\n"
        "run['serve'].__globals__['main'] = lambda *_, **__: signal.raise_signal(signal.SIGTERM)\n"
        "print('ending', flush=True)\n"
        "run['serve']([])\n"
    )
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, cwd=ROOT) as process:
        try:
            assert process.stdout.readline() == b"ending\n"
            process.wait(SECONDS)
        finally:
            process.kill()


def test_a_dashboard_ends_with_the_program_that_opened_it(tmp_path):
    script = tmp_path / "opens.py"
    script.write_text(
        "import sys, time\nimport lore_core as lore\n"
        "lore.launch(lore.demo.synthetic(500).dataset, open_browser=False)\n"
        "print('open', flush=True)\ntime.sleep(600)\n"
    )
    mark = str(tmp_path / "mark")
    environment = {**os.environ, "LORE_TEST_MARK": mark}
    command = [sys.executable, script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, cwd=ROOT) as process:
        try:
            assert process.stdout.readline() == b"open\n"
            assert len(marked(mark)) > 1
        finally:
            process.kill()
    wait_for(lambda: not marked(mark))


def test_what_never_lets_go_of_the_interpreter_does_not_hold_it_up(tmp_path):
    busy = "pages.shared.serve.main = lambda *_, **__: print(flush=True) or sum(range(10**12))"
    script = f"import pages.shared.serve; {busy}; pages.shared.serve.serve([])"
    environ = os.environ | {"PYTHONPATH": str(ROOT), "MARK": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", script], env=environ, stdout=-1) as process:
        process.stdout.readline()
        process.terminate()
        process.wait(SECONDS)
    wait_for(lambda: not marked(str(tmp_path)))
