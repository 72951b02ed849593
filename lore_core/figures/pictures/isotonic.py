"""The reliability diagram without bins, over the band of models whose every confidence is right."""

from __future__ import annotations

import numpy as np

from lore_core.data.arrays import Ints
from lore_core.data.number_text import percent, rows_words
from lore_core.figures.pictures.marks import (
    Axis,
    Band,
    Bars,
    Dots,
    Line,
    Mark,
    Panel,
    PanelChart,
    PanelPicture,
    Tint,
    pieces,
)
from lore_core.figures.pictures.picture import Hover
from lore_core.figures.style import Mode
from lore_core.metrics.corp import IsotonicReliability

#: Levels drawn at most, beside the ends of the steps.
_POINTS = 300
#: Bars of the lower panel.
_BARS = 40


def isotonic_figure(
    found: IsotonicReliability,
    *,
    rows: str,
    mode: Mode = "light",
    height: int = 420,
    title: str = "Reliability without bins",
) -> PanelChart:
    """How often rows of each confidence are right if that only rises with the confidence.

    Parameters
    ----------
    found : IsotonicReliability
        What to draw.
    rows : str
        Which rows these are, in words.
    mode, height
        Look.
    title : str
        Figure title.
    """
    c, r = found.confidence, found.frequency
    low, high = found.band_low, found.band_high
    drawn = _drawn(found)
    side = np.where(r < low, "over", np.where(r > high, "under", "quiet"))
    ends = np.array([0, 1])
    marks: list[Mark] = [
        Band(
            name="if calibrated (95 %)",
            at=c[drawn],
            low=low[drawn],
            high=high[drawn],
            tint=Tint("quiet", 0.28),
        ),
        Line(ends, ends, Tint("quiet"), name="calibrated", width=1.5, dash="dot"),
        Line(c[drawn], r[drawn], Tint("ink"), name="right", width=2),
    ]
    for which in ("over", "under"):
        # From each drawn level to the next where both lie on that side.
        both = (side[drawn[:-1]] == which) & (side[drawn[1:]] == which)
        start, end = drawn[:-1][both], drawn[1:][both]
        if len(start):
            marks.append(
                Line(pieces(c[start], c[end]), pieces(r[start], r[end]), Tint(which), width=4)
            )
    # Of many levels the dots are there to be pointed at only.
    few = len(c) <= _BARS
    tints = [Tint(side[k] if few else "ink", None if few else 0.0) for k in drawn]
    hover = [_hover(found, int(k)) for k in drawn]
    marks.append(Dots(c[drawn], r[drawn], tints, 8, hover=hover))
    edges = np.linspace(0, 1, _BARS + 1)
    count, _ = np.histogram(c, bins=edges, weights=found.count)
    bars = Bars(
        (edges[:-1] + edges[1:]) / 2, 0.92 / _BARS, count, [Tint("quiet", 0.5)] * _BARS, name="rows"
    )
    first = edges[:-1][count > 0][0]
    x = Axis("confidence", "share", span=(max(0.0, float(first) - 0.02), 1.0))
    picture = PanelPicture(
        title=title,
        subtitle=rows,
        how_to_read=(
            "The line is how often rows of each confidence are right, if that can only rise with "
            "the confidence (isotonic regression, no bins). In the band lie 95 % of models whose "
            "every confidence is right, at each confidence by itself; somewhere along it many of "
            "them leave it, so believe it where the miscalibration is beyond chance. Red: below "
            "the band, promised more than it got; blue: above it, less."
        ),
        alt=f"Isotonic reliability diagram of {rows}. {found.sentence}",
        name="reliability-isotonic",
        table=found.frame(),
        panels=(
            Panel(x, Axis("right", "share", span=(0, 1.02)), marks, 0.74),
            Panel(x, Axis("rows", few_ticks=True), [bars], 0.26),
        ),
        still=True,
    )
    return PanelChart(picture, mode, height)


def _drawn(found: IsotonicReliability) -> Ints:
    """Levels that are drawn: both ends of every step, and some between."""
    n = len(found.confidence)
    change = np.flatnonzero(np.diff(found.frequency) != 0)
    spread = np.linspace(0, n - 1, min(_POINTS, n)).round().astype(np.int64)
    return np.unique(np.concatenate([spread, change, change + 1]))


def _hover(found: IsotonicReliability, k: int) -> Hover:
    low, high = found.band_low[k], found.band_high[k]
    return Hover(
        f"confidence {percent(found.confidence[k])}",
        lines=(
            f"right {percent(found.frequency[k])}",
            f"if calibrated {percent(low)} to {percent(high)}",
            rows_words(int(found.count[k])),
        ),
    )
