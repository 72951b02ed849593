"""Readers who come and go: what stays of them."""

import time

import numpy as np

from benchmarks.attack.reader import Reader
from benchmarks.attack.served import rows, serving

_ROWS = 2_000
#: Seconds that a closed tab's session is kept for a reload, and a little more.
_GONE = 130.0


def attack(count: int) -> tuple[list[str], bool]:
    """Open and close so many tabs; return lines of a table, and whether memory stayed flat."""
    held = []
    with serving() as server:
        with Reader(server.url) as reader:
            page = reader.open("", features="PCA 2-D")
            reader.upload(page, "rows.npz", rows(_ROWS, 0))
            link = reader.link
        for number in range(count):
            with Reader(server.url) as reader:
                page = reader.open("landscape", **link)
                reader.slide(page, "gamma", 3 + number % 12)
                reader.go("overview")
            held.append(server.memory[0])
        time.sleep(_GONE)
        after = server.memory[0]
        n_errors = server.tracebacks
    half = count // 2
    before = float(np.mean(held[half - 5 : half]))
    grown = float(np.mean(held[-5:])) / before - 1
    return [
        f"| {count} tabs opened and closed, each with a landscape, a γ and an overview | goal | |",
        "|---|---|---|",
        f"| memory of the server's process after {half} | | {before:,.0f} MiB |",
        f"| after {count} | within 10 % | {held[-1]:,.0f} MiB ({grown:+.1%}) |",
        f"| when their sessions have ended | | {after:,.0f} MiB |",
        f"| errors | 0 | {n_errors} |",
    ], abs(grown) <= 0.1 and not n_errors
