"""Reliability diagrams: accuracy of each confidence bin, and of each confidence without bins."""

from dataclasses import replace

import numpy as np

from lore_core.data.number_text import HUNDREDTHS, gap_words, percent, rows_words, with_points
from lore_core.figures.chart import Chart, PanelPicture
from lore_core.figures.pictures.picture import (
    Axis,
    Bars,
    Dots,
    Hover,
    Line,
    Mark,
    Panel,
    Tint,
    chance_band,
    segments,
)
from lore_core.metrics.global_metrics import ReliabilityTable
from lore_core.metrics.without_bins import IsotonicReliability

#: Bars leave a little room between them.
_FULL = 0.92
_ENDS = np.array([0, 1])
_CALIBRATED = Line(_ENDS, _ENDS, Tint("quiet"), name="calibrated", width=1.5, dash="dot")
#: Levels drawn at most, beside the ends of the steps.
_POINTS = 300
#: Bars of the lower panel.
_BARS = 40


def reliability_figure(
    table: ReliabilityTable,
    *,
    rows: str,
    chosen: int | None = None,
    highlighted: tuple[str, ReliabilityTable] | None = None,
    height: int = 420,
    title: str = "Reliability",
) -> PanelPicture:
    """Accuracy of each confidence bin with its 95 % interval, over the number of rows.

    ``rows``: which these are, in words. ``chosen``: bin to outline; ``customdata`` of each bar is
    its bin. ``highlighted``: name of some of the rows, and their table of the same bins.
    """
    full = np.flatnonzero(table.count > 0)
    edges, gap, worst = table.bins.edges, table.gap, table.worst_bin()
    picked = full == chosen
    place = (edges[:-1] + edges[1:])[full] / 2
    over, under = table.confidence > table.accuracy_high, table.confidence < table.accuracy_low
    sides = np.where(over, "over", np.where(under, "under", "quiet"))[full]
    accuracy = Bars(
        place,
        np.diff(edges)[full] * _FULL,
        table.accuracy[full],
        [Tint(side, 0.95 if on else 0.55) for side, on in zip(sides, picked, strict=True)],
        name="accuracy",
        low=table.accuracy_low[full],
        high=table.accuracy_high[full],
        whisker=1,
        number=full,
        chosen=picked,
        outlined=True,
        hover=[_hover(table, int(k)) for k in full],
    )
    counts = replace(
        accuracy,
        name="rows",
        length=table.count[full],
        low=None,
        tints=[Tint("accent") if on else Tint("quiet", 0.5) for on in picked],
        outlined=False,
    )
    mean = table.confidence[full]
    confidence = Dots(place, mean, Tint("ink"), 10, "dash", name="mean confidence")
    marks: list[Mark] = [_CALIBRATED, accuracy, confidence]
    about_some = ""
    if highlighted is not None:
        marks += _points_of_some(*highlighted)
        about_some = f" Diamonds: {highlighted[0]} alone, with 95 % intervals."
    return PanelPicture(
        title=title,
        subtitle=rows,
        how_to_read=(
            "Bars are the accuracy of each confidence bin, whiskers its 95 % Wilson interval, the "
            "tick its mean confidence. Red: overconfident; blue: underconfident; grey: the "
            f"interval holds the mean confidence, so the gap may be chance.{about_some}"
        ),
        alt=(
            f"Reliability diagram, ECE {with_points(table.expected_calibration_error, 1)}; the "
            f"largest gap is {gap_words(gap[worst])} at confidence {table.bins.name(worst)}"
        ),
        name="reliability",
        table=table.frame(),
        panels=_over_counts(float(edges[full[0]]), "accuracy", marks, counts),
        static=True,
        height=height,
    )


def _over_counts(first: float, what: str, marks: list[Mark], counts: Bars) -> tuple[Panel, Panel]:
    """Place marks over the number of rows; ``first``: the lowest confidence."""
    x = Axis("confidence", "share", span=(max(0.0, first - 0.02), 1.0))
    top = Panel(x, Axis(what, "share", span=(0, 1.02)), marks, 0.74)
    return top, Panel(x, Axis("rows", few_ticks=True), [counts], 0.26)


def _points_of_some(name: str, table: ReliabilityTable) -> list[Mark]:
    full = np.flatnonzero(table.count > 0)
    place = ((table.bins.edges[:-1] + table.bins.edges[1:]) / 2)[full]
    interval = segments(table.accuracy_low[full], table.accuracy_high[full])
    return [
        Line(segments(place, place), interval, Tint("ink"), width=2.2, listed=False),
        Dots(
            place,
            table.accuracy[full],
            Tint("accent"),
            10,
            "diamond",
            name=name,
            hover=[_hover(table, int(k)) for k in full],
        ),
    ]


def _hover(table: ReliabilityTable, k: int) -> Hover:
    low, high = (end[k] * HUNDREDTHS for end in (table.accuracy_low, table.accuracy_high))
    return Hover(
        f"confidence {table.bins.name(k)}",
        lines=(
            rows_words(int(table.count[k])),
            f"mean confidence {percent(table.confidence[k])}",
            f"accuracy {percent(table.accuracy[k])} (95 % CI {low:.1f} to {high:.1f})",
            f"gap {gap_words(table.gap[k])}",
        ),
    )


def isotonic_figure(
    found: IsotonicReliability,
    *,
    rows: str,
    height: int = 420,
    title: str = "Reliability without bins",
) -> Chart:
    """How often rows of each confidence are right if that only rises with the confidence.

    ``rows``: which these are, in words.
    """
    c, r = found.confidence, found.frequency
    low, high = found.band_low, found.band_high
    # Both ends of every step are drawn, and some rows between.
    change = np.flatnonzero(np.diff(r) != 0)
    spread = np.linspace(0, len(c) - 1, min(_POINTS, len(c))).round().astype(np.int64)
    drawn = np.unique(np.concatenate([spread, change, change + 1]))
    side = np.where(r < low, "over", np.where(r > high, "under", "quiet"))
    marks: list[Mark] = [
        chance_band(c[drawn], low[drawn], high[drawn], "if calibrated (95 %)"),
        _CALIBRATED,
        Line(c[drawn], r[drawn], Tint("ink"), name="right", width=2),
    ]
    for which in ("over", "under"):
        both = (side[drawn[:-1]] == which) & (side[drawn[1:]] == which)
        start, end = drawn[:-1][both], drawn[1:][both]
        if len(start):
            marks.append(
                Line(segments(c[start], c[end]), segments(r[start], r[end]), Tint(which), width=4)
            )
    few = len(c) <= _BARS
    tints = [Tint(side[k] if few else "ink", 1.0 if few else 0.0) for k in drawn]
    hover = [_isotonic_hover(found, int(k)) for k in drawn]
    marks.append(Dots(c[drawn], r[drawn], tints, 8, hover=hover))
    edges = np.linspace(0, 1, _BARS + 1)
    count, _ = np.histogram(c, bins=edges, weights=found.count)
    bars = Bars(
        (edges[:-1] + edges[1:]) / 2, 0.92 / _BARS, count, [Tint("quiet", 0.5)] * _BARS, name="rows"
    )
    first = float(edges[:-1][count > 0][0])
    return PanelPicture(
        title=title,
        subtitle=rows,
        how_to_read=(
            "The line is how often rows of each confidence are right, if that can only rise with "
            "the confidence (isotonic regression, no bins). In the band lie 95 % of models whose "
            "every confidence is right, at each confidence by itself; somewhere along it many of "
            "them leave it, so believe it where the miscalibration is significant. Red: below "
            "the band, overconfident; blue: above it, underconfident."
        ),
        alt=f"Isotonic reliability diagram of {rows}. {found.sentence}",
        name="reliability-isotonic",
        table=found.frame(),
        panels=_over_counts(first, "right", marks, bars),
        static=True,
        height=height,
    )


def _isotonic_hover(found: IsotonicReliability, k: int) -> Hover:
    low, high = found.band_low[k], found.band_high[k]
    return Hover(
        f"confidence {percent(found.confidence[k])}",
        lines=(
            f"right {percent(found.frequency[k])}",
            f"if calibrated {percent(low)} to {percent(high)}",
            rows_words(int(found.count[k])),
        ),
    )
