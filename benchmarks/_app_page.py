"""Measurements of the dashboard as the tables of docs/benchmarks-app.md."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from _app_memory import Memory
from _measure import machine
from _report import markdown_table

_MEGABYTE = 2**20
#: What machine() says that matters here.
_FACTS = ("Processor", "Memory", "System", "Python", "numpy", "numba")
_BEGIN, _END = "<!-- measured: {} -->", "<!-- end: {} -->"

#: Rows that a lasso holds, as counted by the browser, by the page and by the definition.
Counts = tuple[int, int, int]


@dataclass(frozen=True)
class Visit:
    """What it takes to open a page."""

    #: Milliseconds from following the link to the first content, and to the complete page; None
    #: where that was not waited for.
    content: float | None
    complete: float | None
    server: float  #: Processor seconds until then of the server and of all it started
    browser: float  #: … and of the browser
    wire: float  #: Bytes
    longest: float  #: Milliseconds of the longest task of the page's thread
    before: float  #: Processor seconds of the server while it came to rest before, if it did


Visits = dict[str, Visit]


@dataclass
class Measurement:
    """What was measured at one size, in milliseconds, bytes and counts."""

    n_rows: int
    cold: Visits = field(default_factory=dict)
    rested: Visits = field(default_factory=dict)  #: Cold, each once the server rests
    overview_first: Visits = field(default_factory=dict)  #: Cold, in another order
    warm: Visits = field(default_factory=dict)
    changed: dict[str, float] = field(default_factory=dict)  #: From a setting to the new picture
    pages_peak: Memory = field(default_factory=Memory)  #: While pages are opened
    rest: Memory = field(default_factory=Memory)  #: A minute after the last of them
    hand_peak: Memory = field(default_factory=Memory)  #: While the Landscape is acted on
    empty: Memory = field(default_factory=Memory)  #: Of a server that nobody has asked for anything
    data: float = np.nan  #: Of the arrays of the data
    frames: list[float] = field(default_factory=list)  #: From one field to the next in a drag
    drag_task: float = np.nan  #: Longest task of the browser meanwhile
    exact: list[float] = field(default_factory=list)  #: From a key to the exact field of a γ
    followed: list[float] = field(default_factory=list)  #: From a key to the page of a γ
    bytes: list[float] = field(default_factory=list)  #: Over the wire, a γ move
    first_picture: float = np.nan  #: Of a fresh server
    fields: float = np.nan  #: All of them, of a fresh server
    picture: list[float] = field(default_factory=list)  #: From following a link
    picture_again: list[float] = field(default_factory=list)  #: … in a browser that knows the page
    mount_task: list[float] = field(default_factory=list)  #: Longest task of the browser then
    heap: float = np.nan  #: Of the page, at rest
    lasso: float = np.nan  #: From letting go to the count
    counts: Counts = (-1, -1, -1)
    #: Of a map in space: from one picture to the next as it is turned, and as γ is dragged; from
    #: letting go of the lasso to the count, and the counts.
    turns: list[float] = field(default_factory=list)
    space_frames: list[float] = field(default_factory=list)
    space_lasso: float = np.nan
    space_counts: Counts = (-1, -1, -1)


def milliseconds(value: float | None) -> str:
    if value is None:
        return "not within ten minutes"
    return f"{value:,.0f} ms" if value < 1000 else f"{value / 1000:.1f} s"


def spread(values: Sequence[float]) -> str:
    """Return the median, and the value that one in twenty exceeds."""
    return f"{milliseconds(np.median(values))}, {milliseconds(np.quantile(values, 0.95))}"


def megabytes(value: float) -> str:
    return f"{value / _MEGABYTE:,.0f} MB"


def shared(memory: Memory) -> str:
    """Return the memory of the server and of each other process, the largest first."""
    others = " + ".join(f"{size / _MEGABYTE:,.0f}" for size in sorted(memory.others, reverse=True))
    return f"{memory.server / _MEGABYTE:,.0f} + ({others or 0}) MB"


def counted(counts: Counts) -> str:
    return f"{counts[0]:,}" if len(set(counts)) == 1 else "**" + ", ".join(map(str, counts)) + "**"


_MEMORY: tuple[tuple[str, Callable[[Measurement], str]], ...] = (
    ("Peak while every page is opened", lambda m: megabytes(m.pages_peak.total)),
    ("… the server + (other processes)", lambda m: shared(m.pages_peak)),
    ("Peak while the Landscape is acted on", lambda m: megabytes(m.hand_peak.total)),
    ("… the server + (other processes)", lambda m: shared(m.hand_peak)),
    ("One minute after the last page", lambda m: megabytes(m.rest.total)),
    ("… the server + (other processes)", lambda m: shared(m.rest)),
    ("A server that nobody has asked for anything", lambda m: megabytes(m.empty.total)),
    ("Data, as arrays", lambda m: megabytes(m.data)),
    (
        "Highest peak beyond an empty server, in sizes of the data",
        lambda m: f"{(max(m.pages_peak.total, m.hand_peak.total) - m.empty.total) / m.data:.1f}",
    ),
)

#: What is said of a size, the goal, and how it is read off.
_HAND: tuple[tuple[str, str, Callable[[Measurement], str]], ...] = (
    ("Link opened, fresh server: first picture", "", lambda m: milliseconds(m.first_picture)),
    (
        "… after it, until the fields of all γ are there",
        "≤ 1 s, 15 s at 10⁶",
        lambda m: milliseconds(m.fields - m.first_picture),
    ),
    ("Link opened, idle server: first picture", "≤ 1.5 s, 3 s at 10⁶", lambda m: spread(m.picture)),
    ("… longest task of the browser", "≤ 100 ms", lambda m: milliseconds(max(m.mount_task))),
    ("… opened again in the same browser", "≤ 1 s", lambda m: spread(m.picture_again)),
    (
        "γ moved by a key: until the exact field is there",
        "≤ 150 ms, 800 ms at 10⁶",
        lambda m: spread(m.exact),
    ),
    ("… until the page is of this γ, too", "", lambda m: spread(m.followed)),
    ("… over the wire", "≤ 300 kB", lambda m: f"{np.median(m.bytes) / 1000:,.0f} kB"),
    ("γ dragged: from one field to the next", "≤ 33 ms", lambda m: spread(m.frames)),
    ("… longest task of the browser meanwhile", "≤ 100 ms", lambda m: milliseconds(m.drag_task)),
    (
        "Bins, map changed: new picture",
        "≤ 400 ms",
        lambda m: ", ".join(map(milliseconds, m.changed.values())),
    ),
    ("Lasso: until the count", "≤ 500 ms", lambda m: milliseconds(m.lasso)),
    ("… rows counted by browser, page and definition", "equal", lambda m: counted(m.counts)),
    ("PCA 3-D turned: from one picture to the next", "", lambda m: spread(m.turns)),
    ("… γ dragged", "", lambda m: spread(m.space_frames)),
    ("… lasso: until the count", "≤ 500 ms", lambda m: milliseconds(m.space_lasso)),
    ("… rows counted by all three", "equal", lambda m: counted(m.space_counts)),
    ("Memory of the page in the browser", "≤ 300 MB", lambda m: megabytes(m.heap)),
)


def tables(
    measured: Sequence[Measurement], loads: tuple[float | None, float | None], minutes: float
) -> dict[str, str]:
    """Return the tables by the names of their markers.

    ``loads``: load average at the start and at the end. ``minutes``: what the run took.
    """
    sizes = [f"{one.n_rows:,} rows" for one in measured]
    facts = [[name, value] for name, value in machine().items() if name in _FACTS]
    facts.append(["Load average, start and end", " and ".join(f"{x or 0:.1f}" for x in loads)])
    facts.append(["The run took", f"{minutes:.0f} minutes"])
    memory = [[what, *map(read, measured)] for what, read in _MEMORY]
    hand = [[what, goal, *map(read, measured)] for what, goal, read in _HAND]
    return {
        "memory": markdown_table(["all processes together", *sizes], memory),
        "pages": "\n\n".join(map(page_table, measured)),
        "profile": "\n\n".join(map(profile_table, measured)),
        "landscape": markdown_table(["", "goal", *sizes], hand),
        "machine": markdown_table(["machine", ""], facts),
    }


def page_table(one: Measurement) -> str:
    """Return the times of every page at one size, in the order in which they were opened."""
    head = [
        f"{one.n_rows:,} rows",
        "cold, at rest",
        "cold, at once",
        "cold, Overview first",
        "warm",
    ]
    columns = (one.rested, one.cold, one.overview_first, one.warm)
    return markdown_table(head, [[page, *(times(of[page]) for of in columns)] for page in one.cold])


def times(visit: Visit) -> str:
    return f"{milliseconds(visit.content)}, {milliseconds(visit.complete)}"


def profile_table(one: Measurement) -> str:
    """Return where the time of each page goes, at one size."""
    head = [f"{one.n_rows:,} rows", "server, s", "browser, s", "wire, kB", "longest task"]
    cells = []
    for page in one.cold:
        visits = (one.rested[page], one.cold[page], one.warm[page])
        readings: tuple[Callable[[Visit], str], ...] = (
            lambda visit: f"{visit.server:.1f}",
            lambda visit: f"{visit.browser:.1f}",
            lambda visit: f"{visit.wire / 1000:,.0f}",
            lambda visit: milliseconds(visit.longest),
        )
        row = (", ".join(map(read, visits)) for read in readings)
        cells.append([page, *row, f"{visits[0].before:.1f}"])
    return markdown_table([*head, "while idle, s"], cells)


def shape_table(found: dict[str, tuple[Visits, Visits, Memory]]) -> str:
    """Return cold and warm times of every page for several shapes of rows, and the peak."""
    pages = [*next(iter(found.values()))[0]]
    rows = []
    for page in pages:
        each = [f"{times(cold[page])} / {times(warm[page])}" for cold, warm, _ in found.values()]
        rows.append([page, *each])
    rows.append(["peak of memory", *(megabytes(peak.total) for _, _, peak in found.values())])
    return markdown_table(["cold / warm", *found], rows)


def fill_in(page: Path, name: str, table: str) -> None:
    """Write a table between its markers in a page."""
    begin, end = _BEGIN.format(name), _END.format(name)
    before, rest = page.read_text(encoding="utf-8").split(begin)
    _, after = rest.split(end)
    page.write_text(f"{before}{begin}\n{table}\n{end}{after}", encoding="utf-8")
