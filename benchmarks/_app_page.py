"""What was measured of the dashboard, as the page docs/benchmarks-app.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from _app_rows import CALIBRATION_SHARE, CLASSES, FEATURES
from _measure import machine
from _report import markdown_table

_MEGABYTE = 2**20
#: What machine() says that matters here.
_FACTS = ("Processor", "Memory", "System", "Python", "numpy", "numba")


@dataclass
class Found:
    """What was measured at one size, in milliseconds, bytes and counts."""

    n_rows: int
    frames: list[float] = field(default_factory=list)  #: From one field to the next in a drag
    drag_task: float = np.nan  #: Longest task of the browser meanwhile
    taken: list[float] = field(default_factory=list)  #: From a key to the exact field of a γ
    line: list[float] = field(default_factory=list)  #: From a key to a line of two points
    bytes: list[float] = field(default_factory=list)  #: Over the wire, a γ move
    first_picture: float = np.nan  #: Of a fresh server
    fields: float = np.nan  #: All of them, of a fresh server
    picture: list[float] = field(default_factory=list)  #: From following a link
    mount_task: list[float] = field(default_factory=list)  #: Longest task of the browser then
    heap: float = np.nan  #: Of the page, at rest
    lasso: float = np.nan  #: From letting go to the count
    counts: tuple[int, int, int] = (-1, -1, -1)  #: By the browser, by the page, by the definition
    #: Of a map in space: from one picture to the next as it is turned, and as γ is dragged; from
    #: letting go of the lasso to the count, and the counts.
    turns: list[float] = field(default_factory=list)
    space_frames: list[float] = field(default_factory=list)
    space_lasso: float = np.nan
    space_counts: tuple[int, int, int] = (-1, -1, -1)
    #: From following a link: first content, and rest; None where one was not waited for.
    pages: dict[str, tuple[float | None, float | None]] = field(default_factory=dict)
    memory: float = np.nan  #: Most that the server held
    empty: float = np.nan  #: What a server holds that nobody has asked for anything
    data: float = np.nan  #: Bytes of the arrays of the data


def milliseconds(value: float | None) -> str:
    if value is None:
        return "not within three minutes"
    return f"{value:,.0f} ms" if value < 1000 else f"{value / 1000:.1f} s"


def spread(values: Sequence[float]) -> str:
    """Return the median, and the value that one in twenty exceeds."""
    return f"{milliseconds(np.median(values))}, {milliseconds(np.quantile(values, 0.95))}"


def ratio(values: Sequence[float], least: Sequence[float]) -> str:
    return f"{np.median(values) / np.median(least):.2f}"


#: What is said of a size, the goal, and how it is read off; goals are those of issues 12 and 14.
_LINES: tuple[tuple[str, str, Callable[[Found], str]], ...] = (
    ("γ dragged: from one field to the next", "≤ 33 ms", lambda f: spread(f.frames)),
    ("… over a line of two points", "", lambda f: ratio(f.frames, f.line)),
    ("… longest task of the browser meanwhile", "≤ 100 ms", lambda f: milliseconds(f.drag_task)),
    ("γ moved by a key: until the exact field is there", "", lambda f: spread(f.taken)),
    ("… over a line of two points", "", lambda f: ratio(f.taken, f.line)),
    ("… over the wire", "≤ 300 kB", lambda f: f"{np.median(f.bytes) / 1000:,.0f} kB"),
    ("A line of two points, moved by a key", "", lambda f: spread(f.line)),
    (
        "Link opened, warm server: first picture",
        "≤ 1.5 s, 3 s at 10⁶",
        lambda f: spread(f.picture),
    ),
    ("… longest task of the browser", "≤ 100 ms", lambda f: milliseconds(max(f.mount_task))),
    ("Link opened, fresh server: first picture", "", lambda f: milliseconds(f.first_picture)),
    (
        "… after it, until the fields of all γ are there",
        "≤ 1 s, 15 s at 10⁶",
        lambda f: milliseconds(f.fields - f.first_picture),
    ),
    ("Lasso: until the count", "≤ 500 ms", lambda f: milliseconds(f.lasso)),
    ("… rows counted by browser, page and definition", "equal", lambda f: counted(f.counts)),
    ("PCA 3-D turned: from one picture to the next", "", lambda f: spread(f.turns)),
    ("… γ dragged", "", lambda f: spread(f.space_frames)),
    ("… lasso: until the count", "≤ 500 ms", lambda f: milliseconds(f.space_lasso)),
    ("… rows counted by all three", "equal", lambda f: counted(f.space_counts)),
    ("Memory of the page", "≤ 300 MB", lambda f: megabytes(f.heap)),
    ("Memory of the server, peak", "", lambda f: megabytes(f.memory)),
    ("… of one that nobody has asked for anything", "", lambda f: megabytes(f.empty)),
    ("Data, as arrays", "", lambda f: megabytes(f.data)),
    (
        "Server beyond an empty one, in sizes of the data",
        "≤ 3 at 10⁶",
        lambda f: f"{(f.memory - f.empty) / f.data:.1f}",
    ),
)


def megabytes(value: float) -> str:
    return f"{value / _MEGABYTE:,.0f} MB"


def counted(counts: tuple[int, int, int]) -> str:
    return f"{counts[0]:,}" if len(set(counts)) == 1 else "**" + ", ".join(map(str, counts)) + "**"


def document(
    measured: Sequence[Found], loads: tuple[float | None, float | None], minutes: float
) -> str:
    """Return the page.

    ``loads``: load average at the start and at the end. ``minutes``: what the run took.
    """
    head = [f"{found.n_rows:,} rows" for found in measured]
    hand = [[what, goal, *(read(found) for found in measured)] for what, goal, read in _LINES]
    pages = [
        [page, *(f"{milliseconds(a)}, {milliseconds(b)}" for a, b in times)]
        for page in measured[0].pages
        if (times := [found.pages[page] for found in measured])
    ]
    facts = [[name, value] for name, value in machine().items() if name in _FACTS]
    facts.append(["Load average, start and end", " and ".join(f"{x or 0:.1f}" for x in loads)])
    opened = f"""
## Every page

A link opened on the running server in a new tab with an empty cache: until the first content that
depends on the data, and until nothing moves any more.

{markdown_table(["page", *head], pages)}
"""
    return f"""# The dashboard under a hand

Written by `python benchmarks/app.py` in {minutes:.0f} minutes; do not edit.

Headless Chromium, 1400 × 900 pixels, on the machine that also serves, which has no graphics card.
Synthetic rows: {CLASSES} classes, {FEATURES} features, “PCA 2-D”; beside the rows that are shown
{CALIBRATION_SHARE:.0%} as many to fit on. Medians and, after a comma, what one in twenty exceeds.
The line of two points is the least a chart can be: a Plotly chart that Streamlit draws anew as a
slider moves, in the same browser. The goals are for a machine that does nothing else; the load
average below says how far that was so. Before each opening, drag and turn the server is let come to
rest: it simulates, makes fields of other γ and, of few rows, fits what other pages compare, when
nobody waits.

{markdown_table(["machine", ""], facts)}

## The landscape

{markdown_table(["", "goal", *head], hand)}
{opened if pages else ""}"""
