"""A server that is killed at random moments: what was finished must be found again."""

import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from benchmarks.attack.reader import Page, Reader, ReaderError
from benchmarks.attack.served import Server, rows

_ROWS = 150
#: Seconds after the first upload within which the server is killed.
_WITHIN = 25.0
_MAP = "t-SNE 2-D"
#: What of one reader can be finished, in its order.
_STAGES = ("upload", "map", "recalibration", "report")


class Work:
    """One reader's work, and how far it is known to be finished."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.link: dict[str, str] = {}
        self.done: list[str] = []

    def run(self, server: Server) -> None:
        """Upload, make a map, recalibrate, make a report, until the server is gone."""
        try:
            with Reader(server.url) as reader:
                page = reader.open("", features=_MAP, gamma=0.4)
                page = reader.upload(page, f"rows {self.number}.npz", rows(_ROWS, self.number))
                self._finish("upload", reader)
                reader.press(page, f"card_{_MAP}")
                _until(reader, "", _is_ready)
                self._finish("map", reader)
                reader.go("recalibrate")
                self._finish("recalibration", reader)
                page = reader.go("report")
                page = reader.switch(page, "report_images", value=False)
                reader.press(page, "make_report")
                _until(reader, "report", _is_reported)
                self._finish("report", reader)
        except (ReaderError, OSError):
            return  # killed in the middle

    def _finish(self, stage: str, reader: Reader) -> None:
        self.link = reader.link
        self.done.append(stage)

    def lost(self, server: Server) -> list[str]:
        """Return what was finished and is not found by its link."""
        if not self.done:
            return []
        lost = []
        with Reader(server.url) as reader:
            page = reader.open("", **self.link)
            if f"rows {self.number}" not in page.text or reader.link != self.link:
                lost.append("upload")
            if "map" in self.done and not _is_ready(page):
                lost.append("map")
            if "report" in self.done:
                page = reader.open("report", **self.link)
                page = reader.switch(page, "report_images", value=False)
                if not _is_reported(page):
                    lost.append("report")
        return lost


def _is_ready(page: Page) -> bool:
    return f"ready · {_MAP}" in page.text


def _is_reported(page: Page) -> bool:
    return "The report is ready" in page.text


def _until(reader: Reader, name: str, is_so: Callable[[Page], bool]) -> None:
    end = time.monotonic() + 120
    while not is_so(reader.go(name)):
        if time.monotonic() > end:
            raise ReaderError(f"the page '{name}' never came to rest")
        time.sleep(0.3)


def attack(count: int) -> tuple[list[str], bool]:
    """Kill so many times; return lines of a table, and whether nothing finished was lost."""
    reached: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    works: list[Work] = []
    with tempfile.TemporaryDirectory(prefix="lore-attack-") as name:
        folder = Path(name)
        for number in range(count + 1):
            server = Server(folder / "log.txt", folder / "kept")
            if works:
                lost.update(works[-1].lost(server))
            if number < count:
                works.append(Work(number))
                busy = threading.Thread(target=works[-1].run, args=(server,))
                busy.start()
                time.sleep(random.Random(number).uniform(0.2, _WITHIN))
            server.kill()
            busy.join()
            if number < count:
                reached.update(works[-1].done)
        # What the first ones left is there still.
        server = Server(folder / "log.txt", folder / "kept")
        for work in works:
            lost.update(work.lost(server))
        tracebacks = server.tracebacks
        server.kill()
        if tracebacks:
            sys.stderr.write(server.log.read_text(errors="replace"))
    finished = ", ".join(f"{reached[stage]} {stage}s" for stage in _STAGES)
    return [
        f"| {count} kills (SIGKILL) within {_WITHIN:.0f} s of a reader's arrival | goal | |",
        "|---|---|---|",
        f"| finished before them | | {finished} |",
        f"| finished and not found again | 0 | {sum(lost.values())} {dict(lost) or ''} |",
        f"| tracebacks of the servers | 0 | {tracebacks} |",
    ], not lost and not tracebacks
