"""The signed gap along one variable, and on the combinations of two."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from lore_core.data.number_text import gap_words, percent, rows_words, signed_points
from lore_core.figures.chart import Chart, PanelPicture
from lore_core.figures.pictures.picture import (
    Axis,
    Band,
    Bars,
    Cells,
    Hover,
    Line,
    Mark,
    Panel,
    Record,
    Rule,
    Tint,
    gap_ticks,
    truncate,
)

#: Names longer than this are cut on an axis; the hover has them in full.
_LONGEST_NAME = 28
#: Letters of a variable's own name, on an axis and as one of two in a title.
_LONGEST_VARIABLE, _LONGEST_OF_TWO = 60, 40
_GAP = Axis("confidence − accuracy", "points")


def variable_figure(
    table: pd.DataFrame,
    *,
    name: str,
    rows: str,
    curve: pd.DataFrame | None = None,
    overall: float | None = None,
) -> Chart:
    """Bars of the gap for each part of a variable, with intervals and the rows behind them.

    ``table``: from :func:`~lore_core.regions.gap_along`. ``rows``: which these are, in words.
    ``curve``: from :func:`~lore_core.regions.variables.gaps.smooth_gap`, of a number. ``overall``:
    gap of all rows, drawn as a line.
    """
    n_borders = int((table["border"] != "").sum())
    is_number = n_borders > 0
    gap, variable = table["gap"].to_numpy(), truncate(name, _LONGEST_VARIABLE)
    sure = (table["gap_low"] > 0) | (table["gap_high"] < 0)
    sides = np.where(gap > 0, "over", "under").tolist()
    place = np.arange(len(table), dtype=np.float64)
    place[n_borders + 1 :] += 0.5  # what is missing stands apart from the number line
    bars = Bars(
        place if is_number else np.arange(len(table))[::-1],
        0.9 if is_number else 0.7,
        gap,
        [Tint(side, 0.9 if on else 0.35) for side, on in zip(sides, sure, strict=True)],
        name="gap",
        low=np.minimum(table["gap_low"].to_numpy(), gap),
        high=np.maximum(table["gap_high"].to_numpy(), gap),
        sideways=not is_number,
        number=np.arange(len(table)),
        hover=[
            Hover(str(record["value"]), lines=_means(record)) for record in table.to_dict("records")
        ],
    )
    rules = [Rule(0, Tint("quiet"), level=is_number)]
    how_to_read = (
        "Above zero (red): overconfident. Whiskers are 95 % intervals; faint bars "
        "cannot be told from 0."
        if is_number
        else "Right of zero (red): overconfident. In brackets the rows; whiskers are "
        "95 % intervals; faint bars cannot be told from 0."
    )
    if is_number and curve is not None and not curve.empty:
        how_to_read += " The line is the smoothed gap, its band 95 % at each point."
    if overall is not None:
        how_to_read += f" Dotted: all rows, {gap_words(overall)}."
        rules.append(Rule(overall, Tint("ink"), level=is_number, width=1.2, dash="dot"))
    worst = table.iloc[int(np.argmax(np.abs(gap)))]
    panels = (
        _over_numbers(table, bars, rules, curve, variable)
        if is_number
        else _beside_names(table, bars, rules)
    )
    return PanelPicture(
        title=f"Gap along {variable}",
        subtitle=rows,
        how_to_read=how_to_read,
        alt=(
            f"Signed gap along {name} in {len(table)} parts; the largest is "
            f"{gap_words(worst['gap'])} at {worst['value']}"
        ),
        name="variable",
        table=table.drop(columns="border"),
        panels=panels,
        gap=0.04,
        height=460 if is_number else 130 + 30 * max(len(table), 3),
        static=True,
    )


def _over_numbers(
    table: pd.DataFrame, bars: Bars, rules: list[Rule], curve: pd.DataFrame | None, variable: str
) -> tuple[Panel, Panel]:
    place, parts = bars.center, int((table["border"] != "").sum()) + 1
    smoothed = [] if curve is None or curve.empty else _smoothed(table, curve, parts)
    # Ticks stand between the bars, at the borders; a part without one is named below itself.
    ticks = [(k + 0.5, border) for k, border in enumerate(table["border"]) if border]
    ticks += [
        (float(at), str(part))
        for at, part in zip(place[parts:], table["value"][parts:], strict=True)
    ]
    x = Axis(title=variable, ticks=tuple(ticks), span=(-0.6, float(place[-1]) + 0.6), grid=False)
    counts = replace(
        bars,
        name="rows",
        length=table["rows"].to_numpy(),
        tints=[Tint("quiet", 0.5)] * len(table),
        low=None,
        high=None,
        number=None,
    )
    y = Axis("rows", from_zero=True, few_ticks=True)
    return Panel(x, _GAP, [bars, *smoothed, *rules], 0.8), Panel(x, y, [counts], 0.2)


def _smoothed(table: pd.DataFrame, curve: pd.DataFrame, parts: int) -> list[Mark]:
    # Parts have equal widths: a row's place is the share of rows below it.
    rows = table["rows"].to_numpy()[:parts]
    ends = np.concatenate([[0.0], np.cumsum(rows) / rows.sum()])
    x = np.interp(curve["share"], ends, np.arange(parts + 1) - 0.5)
    low, gap, high, value, n_eff = (
        curve[name].to_numpy() for name in ("low", "gap", "high", "value", "n_eff")
    )
    text = Hover(
        "", lines=("at {0:.4g}", "smoothed gap {y:+.1f} points", "{1:.0f} effective neighbours")
    )
    return [
        Band(x, low, high, Tint("ink", 0.13), name="smoothed, 95 %"),
        Line(x, gap, Tint("ink"), name="smoothed", width=2, hover=text, columns=[value, n_eff]),
    ]


def _beside_names(table: pd.DataFrame, bars: Bars, rules: list[Rule]) -> tuple[Panel]:
    named = zip(bars.center.tolist(), table["value"], table["rows"], strict=True)
    ticks = tuple((at, f"{truncate(part, _LONGEST_NAME)} ({n:,})") for at, part, n in named)
    y = Axis(ticks=ticks, span=(-0.6, len(table) - 0.4), grid=False)
    return (Panel(_GAP, y, [bars, *rules]),)


def variable_grid_figure(
    grid: pd.DataFrame, *, names: tuple[str, str], limit: float, min_rows: int, rows: str
) -> Chart:
    """Heat map of the gap over the combinations of two variables.

    ``grid``: from :func:`~lore_core.regions.variables.gaps.gap_grid`. ``names``: the variables
    across and up. ``limit``: end of the colour scale. ``min_rows``: threshold of ``grid["shown"]``.
    ``rows``: which these are, in words.
    """
    x, y = (_parts(grid[side], name) for side, name in zip("xy", names, strict=True))
    shape = (len(y.ticks), len(x.ticks))
    gap = np.where(grid["shown"], grid["gap"], np.nan).astype(np.float64)
    sure = (grid["gap_low"] > 0) | (grid["gap_high"] < 0)
    hover = np.array([_cell(record, names) for record in grid.to_dict("records")], dtype=object)
    words = np.array(["" if np.isnan(value) else signed_points(value, 0) for value in gap])
    cells = Cells(
        name="gap",
        value=gap.reshape(shape),
        words=words.reshape(shape),
        bold=sure.to_numpy().reshape(shape),
        hover=hover.reshape(shape),
        limit=limit,
        scale=gap_ticks(limit),
        scale_title="gap, points",
    )
    hidden = int((~grid["shown"]).sum())
    few = (
        f" {hidden} of {len(grid)} combinations have fewer than {min_rows} rows and stay empty."
        if hidden
        else ""
    )
    across, up = (truncate(name, _LONGEST_OF_TWO) for name in names)
    upwards = f"{names[1]} (up)" if names[0] == names[1] else names[1]
    return PanelPicture(
        title=f"Gap by {across} and {up}",
        subtitle=rows,
        how_to_read=(
            "Numbers are points of confidence − accuracy; bold where the 95 % interval leaves out "
            f"0.{few} Of many cells one in twenty is bold by noise alone."
        ),
        alt=f"Signed gap over {shape[1]} parts of {names[0]} and {shape[0]} of {names[1]}",
        name="variable-grid",
        height=190 + 38 * max(shape[0], 4),
        table=grid.assign(x=grid["x"].astype(str), y=grid["y"].astype(str)).rename(
            columns={"x": names[0], "y": upwards}
        ),
        panels=(Panel(x, y, [cells]),),
        static=True,
    )


def _parts(column: pd.Series[Any], name: str) -> Axis:
    parts = [truncate(part, _LONGEST_NAME) for part in column.cat.categories]
    title, span = truncate(name, _LONGEST_VARIABLE), (-0.5, len(parts) - 0.5)
    return Axis(title, ticks=tuple(enumerate(parts)), span=span, grid=False)


def _cell(record: Record, names: tuple[str, str]) -> Hover:
    few = (f"{rows_words(record['rows'])}: too few to say",)
    lines = _means(record) if record["shown"] else few
    return Hover(f"{names[0]} {record['x']}\n{names[1]} {record['y']}", lines=lines)


def _means(record: Record) -> tuple[str, ...]:
    return (
        rows_words(record["rows"]),
        f"confidence {percent(record['confidence'])}, accuracy {percent(record['accuracy'])}",
        f"gap {gap_words(record['gap'], record['gap_low'], record['gap_high'])}",
    )
