"""The tables as Markdown and the picture as SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lore_core.figures.chart import PanelPicture
from lore_core.figures.drawing import beside
from lore_core.figures.pictures.picture import Axis, Line, Panel, Tint

_COLORS = {
    "LoRe Lens": "m2",
    "scikit-learn": "m1",
    "torch": "m6",
    "KeOps": "m3",
    "numba O(n²)": "m0",
}
#: Size of a panel of the picture, and its ticks: powers of ten of a second.
_PANEL = {"width_mm": 95.0, "height_mm": 85.0, "font_pt": 9.0}
_TICKS = tuple((float(k), f"{10.0**k:g}") for k in range(-5, 5))


@dataclass(frozen=True)
class Row:
    """One measurement; ``skipped`` says why there is none."""

    d: int
    n: int
    gammas: int
    method: str
    seconds: float = np.nan
    repeats: int = 0
    peak: int | None = None
    disagreement: float = np.nan
    skipped: str = ""


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table, the first column to the left and the others to the right."""
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def seconds(value: float) -> str:
    """Return a time with three digits and its unit."""
    if np.isnan(value):
        return "–"
    return f"{value * 1e3:.3g} ms" if value < 1 else f"{value:.3g} s"


def results_table(rows: Sequence[Row], ours: str) -> str:
    """Return the times of one number of bandwidths, a line a size and a column a method."""
    found = {(row.d, row.n, row.method): row for row in rows}
    methods = list(dict.fromkeys(row.method for row in rows))
    lines = [
        [f"{d}", f"{n:,}", *(_time(found[d, n, name], found[d, n, ours]) for name in methods)]
        for d, n in dict.fromkeys((row.d, row.n) for row in rows)
    ]
    head = ["d", "n", *(f"**{name}**" if name == ours else name for name in methods)]
    return markdown_table(head, lines)


def _time(row: Row, ours: Row) -> str:
    if row.skipped or row is ours:
        return row.skipped or seconds(row.seconds)
    return f"{seconds(row.seconds)} ({row.seconds / ours.seconds:,.3g}×)"


def limits_table(rows: Sequence[Row]) -> str:
    """Return what each method disagreed by, and took of memory, at most."""
    lines = []
    for name in dict.fromkeys(row.method for row in rows):
        known = [row for row in rows if row.method == name and not row.skipped]
        peaks = [row.peak for row in known if row.peak is not None]
        lines.append(
            [
                name,
                f"{max((row.disagreement for row in known), default=np.nan):.0e}",
                f"{max(peaks) / 2**20:,.0f} MB" if peaks else "–",
            ]
        )
    return markdown_table(["", "largest disagreement", "peak memory"], lines)


def growth(rows: Sequence[Row], method: str, d: int) -> float:
    """Return the exponent p of time ~ n^p, by least squares over n ≥ 10,000; NaN if unknown."""
    found = [(r.n, r.seconds) for r in rows if r.method == method and r.d == d and r.n >= 10_000]
    found = [(n, t) for n, t in found if np.isfinite(t)]
    if len(found) < 2:
        return float("nan")
    n, t = np.log(np.array(found)).T
    return float(np.polyfit(n, t, 1)[0])


def growth_table(rows: Sequence[Row], methods: Sequence[str]) -> str:
    """Return the growth exponents, a line a method and a column a dimension."""
    dimensions = sorted({row.d for row in rows})
    lines = []
    for method in methods:
        exponents = [growth(rows, method, d) for d in dimensions]
        lines.append([method, *("–" if np.isnan(p) else f"{p:.2f}" for p in exponents)])
    return markdown_table(["", *(f"{d}-D" for d in dimensions)], lines)


def picture(rows: Sequence[Row], methods: Sequence[str], path: Path) -> None:
    """Draw time against n on log axes, a panel a dimension."""
    known = [row for row in rows if not row.skipped]
    seconds = np.log10([row.seconds for row in known])
    ends = float(seconds.min()) - 0.1, float(seconds.max()) + 0.1
    ticks = tuple(tick for tick in _TICKS if ends[0] <= tick[0] <= ends[1])
    panels = []
    for d in sorted({row.d for row in rows}):
        lines = [
            Line(*_points(known, d, name), Tint(_COLORS[name]), name=name, dots=True)
            for name in methods
        ]
        axes = (
            Axis(f"rows n, {d}-D", log=True),
            Axis("seconds, one bandwidth", span=ends, ticks=ticks),
        )
        about = dict.fromkeys(("title", "subtitle", "how_to_read", "alt", "name"), f"{d}-D")
        panels.append(PanelPicture(panels=(Panel(*axes, lines),), legend=True, table=None, **about))
    drawings = [panel.drawing(**_PANEL) for panel in panels]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(beside(drawings, 3, "Time against the number of rows").svg())


def _points(rows: Sequence[Row], d: int, method: str) -> tuple[np.ndarray, np.ndarray]:
    found = sorted((row.n, row.seconds) for row in rows if (row.d, row.method) == (d, method))
    n, seconds = np.array(found, dtype=float).reshape(-1, 2).T
    return n, np.log10(seconds)
