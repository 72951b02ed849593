"""Many readers at once, each with data of their own."""

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.attack.reader import Page, Reader, ReaderError
from benchmarks.attack.served import Server, rows, serving

ROWS = 10_000
#: Seconds between what a reader has seen and what it does next; one in so many turns a page; one in
#: so many has a t-SNE map made.
_THINKING, _TURNS, _LEARNS = (4.0, 12.0), 6, 5
_PAGES = ("overview", "variables", "bandwidth", "recalibrate", "fairness", "decisions")
#: Seconds in which all arrive.
_ARRIVE = 20.0


@dataclass
class Found:
    """What the readers met, in seconds."""

    first: list[float] = field(default_factory=list)  #: From the address to the first page
    uploads: list[float] = field(default_factory=list)
    exact: list[float] = field(default_factory=list)  #: Of γ, to its exact field on the map
    pictures: list[float] = field(default_factory=list)  #: … to the landscape with its subgroups
    steps: list[float] = field(default_factory=list)  #: To the end of the page under it
    pages: dict[str, list[float]] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)


def _read(server: Server, number: int, until: float, found: Found) -> None:
    """Arrive, load data, look at the landscape, move γ, and now and then turn a page."""
    chance = random.Random(number)
    time.sleep(chance.uniform(0, _ARRIVE))
    start = time.monotonic()
    settings = {"gamma": "0.4"} if number % _LEARNS == 0 else {"features": "PCA 2-D"}
    try:
        with Reader(server.url) as reader:
            page = reader.open("", **settings)
            found.first.append(time.monotonic() - start)
            page = reader.upload(page, f"rows {number}.npz", rows(ROWS, number))
            found.uploads.append(page.seconds)
            page = _turned(reader, "landscape", found)
            while time.monotonic() < until:
                time.sleep(chance.uniform(*_THINKING))
                if chance.randrange(_TURNS) == 0:
                    _turned(reader, chance.choice(_PAGES), found)
                    time.sleep(chance.uniform(*_THINKING))
                    page = _turned(reader, "landscape", found)
                else:
                    page = reader.slide(page, "gamma", chance.randrange(2, 20))
                    picture = page.picture or page.seconds
                    found.exact.append(min(page.exact or picture, picture))
                    found.pictures.append(picture)
                    found.steps.append(page.seconds)
    except ReaderError as error:
        found.errors[str(error)] += 1


def _turned(reader: Reader, name: str, found: Found) -> Page:
    page = reader.go(name)
    found.pages.setdefault(name, []).append(page.seconds)
    return page


def attack(n_readers: int, minutes: float) -> tuple[list[str], bool]:
    """Let so many readers work for so long; return lines of a table, and whether all was well."""
    found, loads = Found(), [os.getloadavg()[0]]
    with serving() as server:
        began = server.processor_seconds
        start = time.monotonic()
        until = start + 60 * minutes
        crowd = [
            threading.Thread(target=_read, args=(server, number, until, found))
            for number in range(n_readers)
        ]
        for reader in crowd:
            reader.start()
        for reader in crowd:
            reader.join()
        took = time.monotonic() - start
        busy = (server.processor_seconds - began) / took
        now, most = server.memory
        tracebacks = server.tracebacks
    loads.append(os.getloadavg()[0])
    slowest = {name: float(np.quantile(times, 0.95)) for name, times in found.pages.items()}
    listed = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in sorted(slowest.items()))
    n_errors = sum(found.errors.values()) + tracebacks
    good = (
        not n_errors
        and np.quantile(found.exact, 0.95) <= 2.0
        and np.quantile(found.first, 0.95) <= 10.0
    )
    return [
        f"| {n_readers} readers, {minutes:g} minutes, {ROWS:,} rows each | goal | |",
        "|---|---|---|",
        f"| γ moved, until its exact field is sent | p95 ≤ 2 s | {_spread(found.exact)} |",
        f"| … until its subgroups are sent, too | | {_spread(found.pictures)} |",
        f"| … until the page under it is whole | | {_spread(found.steps)} |",
        f"| first page of a reader | ≤ 10 s | {_spread(found.first)} |",
        f"| upload, until its page | | {_spread(found.uploads)} |",
        f"| pages turned to, p95 | | {listed} |",
        f"| errors | 0 | {n_errors} {dict(found.errors) or ''} |",
        "| memory of the server's process, without its workers, at the end and at most | "
        f"| {now:,.0f} and {most:,.0f} MiB |",
        f"| processors that this process kept busy | | {busy:.1f} of {os.cpu_count()} |",
        f"| load average, start and end | | {loads[0]:.1f} and {loads[1]:.1f} |",
    ], bool(good)


def _spread(seconds: Sequence[float]) -> str:
    median, late, most = np.quantile(seconds, [0.5, 0.95, 1.0])
    return f"{median:.1f} s, p95 {late:.1f} s, at most {most:.1f} s ({len(seconds):,} times)"
