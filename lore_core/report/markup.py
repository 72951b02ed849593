"""Small pieces of HTML: escaped text, tables, numbers in their units."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from lore_core.metrics.global_metrics import MAX_GROUPWISE

__all__ = [
    "Cell", "bounds", "heading", "mathml", "number", "points", "signed_points", "table", "text",
]  # fmt: skip

_POINTS = ("ECE", "ECE debiased", "MCE", "ALCE", "MLCE", "MLCE supported", MAX_GROUPWISE)
_SHARES = ("accuracy", "mean_confidence")
#: Text of a cell, or text and its class.
Cell = str | tuple[str, str]


def text(words: object) -> str:
    """Escape the user's own words."""
    return escape(str(words))


def number(metric: str, value: float) -> str:
    """Write a metric in its unit; a dash where there is none."""
    if not np.isfinite(value):
        return "–"
    if metric in _POINTS or metric in _SHARES:
        return f"{round(value * 100, 1) + 0.0:.1f}"
    return f"{round(value, 3) + 0.0:.3f}"  # + 0.0: no minus before nothing


def bounds(metric: str, low: float, high: float) -> str:
    """Write an interval, or nothing where there is none."""
    if not (np.isfinite(low) and np.isfinite(high)):
        return ""
    return f"{number(metric, low)} to {number(metric, high)}".replace("-", "−")


def heading(metric: str) -> str:
    """Name a metric with its unit."""
    if metric in _POINTS:
        return f"{metric}, points"
    return {
        "accuracy": "accuracy, %", "mean_confidence": "mean confidence, %", "NLL": "NLL, nats",
    }.get(metric, metric)  # fmt: skip


def points(share: float) -> str:
    """Write a share as points: 0.123 is 12.3."""
    if not np.isfinite(share):
        return "–"
    return f"{round(share * 100, 1) + 0.0:.1f}".replace("-", "−")


def signed_points(share: float) -> str:
    """Write a difference as points with its sign."""
    if not np.isfinite(share):
        return "–"
    return f"{round(share * 100, 1) + 0.0:+.1f}".replace("-", "−")


def table(
    columns: Sequence[str], rows: Iterable[Sequence[Cell]], *, words: int = 1, caption: str = ""
) -> str:
    """Write a table; cells are HTML already.

    Parameters
    ----------
    columns : sequence of str
        Headings, in plain text.
    rows : iterable of sequences of str or (str, str)
        Cells, or cells with a class.
    words : int
        How many columns from the left hold words, flush left; the others hold numbers.
    caption : str
        What is said under it, as HTML.
    """

    def cell(item: Cell, place: int) -> str:
        content, kind = item if isinstance(item, tuple) else (item, "")
        classes = " ".join(filter(None, ["" if place < words else "n", kind]))
        opened = f'<td class="{classes}">' if classes else "<td>"
        return f"{opened}{content}</td>"

    head = "".join(
        f'<th scope="col"{"" if k < words else " class=n"}>{text(name)}</th>'
        for k, name in enumerate(columns)
    )
    body = "".join(
        f"<tr>{''.join(cell(item, k) for k, item in enumerate(row))}</tr>" for row in rows
    )
    said = f'<p class="note">{caption}</p>' if caption else ""
    return (
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>{said}"
    )


def mathml(content: str) -> str:
    """Wrap MathML as a formula on a line of its own."""
    return f'<math display="block"><mrow>{content}</mrow></math>'
