"""The report's own small pictures: SVG for a column of 84 mm, the same bytes on every machine.

Colours are classes (``over``, ``under``, ``m0`` … ``m7``), so that one picture is right on paper,
on a light and on a dark screen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np
from numpy.typing import NDArray

from lore_core.chance.simulation import NullBand
from lore_core.metrics.bandwidth import BandwidthCurve
from lore_core.metrics.global_metrics import ReliabilityTable
from lore_core.metrics.rewards import RewardCurve

__all__ = ["WIDTH", "curve_drawing", "forest_drawing", "reliability_drawing", "reward_drawing"]

#: 84 mm, the width of a journal's column, in CSS pixels of 1/96 inch.
WIDTH = 318
_LEFT, _RIGHT, _TOP, _BOTTOM = 38, 16, 8, 32


@dataclass
class _Axes:
    """A frame with two scales."""

    x: tuple[float, float]
    y: tuple[float, float]
    height: int
    log_x: bool = False
    left: int = _LEFT
    parts: list[str] = field(default_factory=list)

    def px(self, x: float) -> float:
        low, high = self.x
        if self.log_x:
            x, low, high = math.log(x), math.log(low), math.log(high)
        share = (x - low) / ((high - low) or 1.0)
        return round(self.left + share * (WIDTH - self.left - _RIGHT), 2)

    def py(self, y: float) -> float:
        low, high = self.y
        share = (y - low) / ((high - low) or 1.0)
        return round(self.height - _BOTTOM - share * (self.height - _TOP - _BOTTOM), 2)

    def add(self, text: str) -> None:
        self.parts.append(text)

    def line(self, x0: float, y0: float, x1: float, y1: float, kind: str) -> None:
        self.add(f'<line class="{kind}" x1="{x0}" y1="{y0}" x2="{x1}" y2="{y1}"/>')

    def text(self, x: float, y: float, words: str, kind: str = "", turn: bool = False) -> None:
        turned = f' transform="rotate(-90 {x} {y})"' if turn else ""
        self.add(f'<text class="{kind}" x="{x}" y="{y}"{turned}>{escape(words)}</text>')

    def path(self, x: NDArray[np.float64], y: NDArray[np.float64], kind: str) -> None:
        known = np.isfinite(x) & np.isfinite(y)
        at = [f"{self.px(a)},{self.py(b)}" for a, b in zip(x[known], y[known], strict=True)]
        if at:
            self.add(f'<polyline class="{kind}" points="{" ".join(at)}"/>')

    def frame(
        self,
        x_ticks: Sequence[tuple[float, str]],
        y_ticks: Sequence[tuple[float, str]],
        x_name: str,
        y_name: str = "",
    ) -> None:
        bottom = self.height - _BOTTOM
        for value, words in x_ticks:
            self.line(self.px(value), _TOP, self.px(value), bottom, "grid")
            self.text(self.px(value), bottom + 12, words, "mid")
        for value, words in y_ticks:
            self.line(self.left, self.py(value), WIDTH - _RIGHT, self.py(value), "grid")
            self.text(self.left - 4, self.py(value) + 3, words, "end")
        self.text((self.left + WIDTH - _RIGHT) / 2, self.height - 5, x_name, "mid")
        if y_name:
            self.text(8, (_TOP + bottom) / 2, y_name, "mid", turn=True)

    def svg(self, alt: str) -> str:
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" '
            f'width="{WIDTH}" height="{self.height}" role="img" aria-label="{escape(alt)}">'
            f"{''.join(self.parts)}</svg>"
        )


def _percent(values: Sequence[float]) -> list[tuple[float, str]]:
    return [(value, f"{value * 100:.0f} %") for value in values]


def _ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Round numbers between two ends."""
    span = max(high - low, 1e-12)
    rough = span / wanted
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * k for k in (1, 2, 2.5, 5, 10) if power * k >= rough)
    first = math.ceil(low / step - 1e-9)
    return [round(k * step, 12) for k in range(first, math.floor(high / step + 1e-9) + 1)]


def reliability_drawing(table: ReliabilityTable) -> str:
    """Accuracy of each confidence bin with its 95 % interval; bars of rows below.

    Parameters
    ----------
    table : ReliabilityTable
        What to draw.
    """
    axes = _Axes((0.0, 1.0), (-0.22, 1.0), 260)
    quarters = [0.0, 0.25, 0.5, 0.75, 1.0]
    axes.frame(_percent(quarters), _percent(quarters), "confidence", "accuracy")
    axes.line(axes.px(0), axes.py(0), axes.px(1), axes.py(1), "dash")
    largest = max(int(table.count.max()), 1)
    floor = axes.py(-0.22)
    for b in np.flatnonzero(table.count):
        left, right = (axes.px(float(table.bins.edges[b + k])) for k in (0, 1))
        left, right = left + 0.7, max(right - 0.7, left + 1.2)
        top = axes.py(-0.22 + 0.18 * table.count[b] / largest)
        axes.add(
            f'<rect class="rows" x="{left:.2f}" y="{top}" width="{right - left:.2f}" '
            f'height="{floor - top:.2f}"/>'
        )
        x, accuracy = axes.px(float(table.confidence[b])), float(table.accuracy[b])
        kind = "over" if table.gap[b] > 0 else "under"
        axes.line(x, axes.py(float(table.confidence[b])), x, axes.py(accuracy), f"gap {kind}")
        axes.line(
            x, axes.py(float(table.accuracy_low[b])), x, axes.py(float(table.accuracy_high[b])),
            "whisker",
        )  # fmt: skip
        axes.add(
            f'<circle class="dot {kind}" cx="{x}" cy="{axes.py(accuracy)}" r="3"><title>'
            f"{escape(table.bins.name(int(b)))}: {table.count[b]:,} rows, promised "
            f"{table.confidence[b]:.1%}, got {accuracy:.1%}</title></circle>"
        )
    axes.text(axes.px(0.01), axes.py(-0.05) + 3, "rows", "note")
    return axes.svg("Reliability: accuracy against confidence, bin by bin")


def curve_drawing(
    curves: Mapping[str, BandwidthCurve],
    *,
    gamma: float,
    band: NullBand | None = None,
    places: Mapping[str, int] | None = None,
) -> str:
    """MLCE of supported rows over γ, one line a method.

    Parameters
    ----------
    curves : mapping of str to BandwidthCurve
        By method.
    gamma : float
        Marked.
    band : NullBand, optional
        What a calibrated model would show, 5–95 %.
    places : mapping of str to int, optional
        Each method's colour; by default in order.
    """
    first = next(iter(curves.values()))
    heights = np.concatenate([item.mlce_supported for item in curves.values()])
    top = float(np.max(heights, where=np.isfinite(heights), initial=0.05)) * 1.05
    axes = _Axes((float(first.gamma[0]), float(first.gamma[-1])), (0.0, top), 220, True)
    axes.frame(
        [(v, f"{v:g}") for v in (0.01, 0.1, 1.0, 10.0, 100.0) if axes.x[0] <= v <= axes.x[1]],
        _percent(_ticks(0.0, axes.y[1], 4)),
        "bandwidth γ",
        "MLCE, supported rows",
    )
    if band is not None:
        low, high = band.band("mlce_supported")
        known = np.isfinite(low)
        x = np.concatenate([band.gamma[known], band.gamma[known][::-1]])
        y = np.minimum(np.concatenate([high[known], low[known][::-1]]), axes.y[1])
        if known.any():
            at = " ".join(f"{axes.px(a)},{axes.py(b)}" for a, b in zip(x, y, strict=True))
            axes.add(f'<polygon class="chance" points="{at}"/>')
    axes.line(axes.px(gamma), _TOP, axes.px(gamma), axes.height - _BOTTOM, "dash")
    for position, (name, item) in enumerate(curves.items()):
        place = position if places is None else places[name]
        axes.path(item.gamma, item.mlce_supported, f"curve m{place % 8}")
    return axes.svg("Maximum local calibration error over bandwidths")


def forest_drawing(
    names: Sequence[str],
    values: Sequence[float],
    lows: Sequence[float],
    highs: Sequence[float],
    *,
    axis: str,
    signed: bool = False,
    percent: bool = True,
) -> str:
    """One row a name: its value as a dot and its interval as a line.

    Parameters
    ----------
    names, values, lows, highs : sequence
        Of each row; NaN for no interval.
    axis : str
        What the values are.
    signed : bool
        Colour by sign, red above zero, blue below, and draw zero.
    percent : bool
        Ticks in per cent.
    """
    every = np.array([*values, *lows, *highs, *([0.0] if signed else [])], dtype=np.float64)
    every = every[np.isfinite(every)]
    low, high = (float(every.min()), float(every.max())) if every.size else (0.0, 1.0)
    pad = 0.06 * ((high - low) or 0.1)
    left = min(130, 14 + round(5.6 * max((len(_cut(name)) for name in names), default=4)))
    height = _TOP + _BOTTOM + 18 * max(len(names), 1)
    axes = _Axes((low - pad, high + pad), (0.0, max(len(names), 1)), height, left=left)
    ticks = _ticks(*axes.x, 4)
    digits = max(0, -math.floor(math.log10(max(abs(high - low), 1e-9) / 4)) - 2 * percent)
    said = [(v, f"{v * 100:.{digits}f} %" if percent else f"{v:.{digits}f}") for v in ticks]
    axes.frame([(v, words.replace("-", "−")) for v, words in said], [], axis)
    if signed:
        axes.line(axes.px(0.0), _TOP, axes.px(0.0), height - _BOTTOM, "axis")
    for k, (name, value, a, b) in enumerate(zip(names, values, lows, highs, strict=True)):
        y = axes.py(len(names) - k - 0.5)
        axes.text(left - 6, y + 3, _cut(name), "end")
        if not np.isfinite(value):
            continue
        kind = ("over" if value > 0 else "under") if signed else "plain"
        if np.isfinite(a) and np.isfinite(b):
            axes.line(axes.px(float(a)), y, axes.px(float(b)), y, f"interval {kind}")
        axes.add(f'<circle class="dot {kind}" cx="{axes.px(float(value))}" cy="{y}" r="3"/>')
    return axes.svg(f"{axis}, one row a name, with 95 % intervals")


def _cut(name: str) -> str:
    return name if len(name) <= 20 else name[:19] + "…"


def reward_drawing(
    curves: Mapping[str, RewardCurve], *, ratio: float, places: Mapping[str, int] | None = None
) -> str:
    """Gain over the first method by cost ratio.

    Parameters
    ----------
    curves : mapping of str to RewardCurve
        By method, the first as baseline.
    ratio : float
        The reader's own w/u, marked where it is on the axis.
    places : mapping of str to int, optional
        Each method's colour; by default in order.
    """
    gains = np.concatenate([item.gain for item in curves.values()])
    low, high = min(float(gains.min()), 0.0), max(float(gains.max()), 0.0)
    pad = 0.06 * ((high - low) or 1.0)
    first = next(iter(curves.values()))
    axes = _Axes(
        (float(first.ratio[0]), float(first.ratio[-1])), (low - pad, high + pad), 220, True
    )
    axes.frame(
        [(v, f"{v:g}") for v in (1, 2, 5, 10, 20, 50, 100)],
        [(v, f"{v:g}".replace("-", "−")) for v in _ticks(*axes.y, 4)],
        "cost of wrong ÷ cost of unsure",
        "gain a row, in u",
    )
    if axes.x[0] <= ratio <= axes.x[1]:
        axes.line(axes.px(ratio), _TOP, axes.px(ratio), axes.height - _BOTTOM, "dash")
    for position, (name, item) in enumerate(curves.items()):
        place = position if places is None else places[name]
        axes.path(item.ratio, item.gain, f"curve m{place % 8}")
    return axes.svg("Gain of each method over the first, by cost ratio")
