"""The tables as Markdown and the picture as SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

_COLORS = {
    "LoRe Lens": "#0b6e4f",
    "scikit-learn": "#d1792b",
    "torch": "#b8336a",
    "KeOps": "#5b6abf",
    "numba O(n²)": "#7a7a7a",
}


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
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    dimensions = sorted({row.d for row in rows})
    figure = make_subplots(
        cols=len(dimensions),
        shared_yaxes=True,
        horizontal_spacing=0.015,
        subplot_titles=[f"{d}-D" for d in dimensions],
    )
    for column, d in enumerate(dimensions, start=1):
        for method in methods:
            found = [r for r in rows if r.method == method and r.d == d and not r.skipped]
            figure.add_trace(
                go.Scatter(
                    x=[r.n for r in found],
                    y=[r.seconds for r in found],
                    name=method,
                    legendgroup=method,
                    showlegend=column == 1,
                    mode="lines+markers",
                    line={"color": _COLORS[method], "width": 3 if method == methods[0] else 1.5},
                    marker={"size": 6},
                ),
                row=1,
                col=column,
            )
    figure.update_xaxes(type="log", dtick=1, exponentformat="power", title_text="rows n")
    figure.update_yaxes(type="log", dtick=1, exponentformat="power")
    figure.update_yaxes(title_text="seconds, one bandwidth", col=1)
    figure.update_layout(
        template="plotly_white",
        width=1200,
        height=420,
        margin={"l": 70, "r": 20, "t": 40, "b": 60},
        legend={"orientation": "h", "y": -0.22, "x": 0.5, "xanchor": "center"},
        font={"size": 13},
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.write_image(path)
