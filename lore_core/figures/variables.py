"""The signed gap along one variable, and on the combinations of two."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from lore_core.data.number_text import points
from lore_core.figures.style import (
    INK,
    NEUTRAL,
    OVERCONFIDENT,
    UNDERCONFIDENT,
    Chart,
    Mode,
    apply_frame,
    diverging,
    escape,
    rgba,
)

__all__ = ["variable_figure", "variable_grid_figure"]

#: Names longer than this are cut on an axis; the hover has them in full.
_LONGEST_NAME = 28


def variable_figure(
    table: pd.DataFrame,
    *,
    name: str,
    rows: str,
    curve: pd.DataFrame | None = None,
    overall: float | None = None,
    mode: Mode = "light",
    height: int = 460,
) -> Chart:
    """Bars of the gap for each part of a variable, with intervals and the rows behind them.

    Parameters
    ----------
    table : DataFrame
        From :func:`~lore_core.variables.gaps.gap_along`. A number stands upright over its number
        line; names are listed from top to bottom.
    name : str
        The variable.
    rows : str
        Which rows these are, in words.
    curve : DataFrame, optional
        From :func:`~lore_core.variables.gaps.smooth_gap`, of a number.
    overall : float, optional
        Gap of all rows, as a line to hold the bars against.
    mode, height
        Look; a list of names is as high as it needs to be.
    """
    number = bool((table["border"] != "").any())
    figure = (
        _number_figure(table, curve, overall, name, mode)
        if number
        else _name_figure(table, overall, mode)
    )
    apply_frame(
        figure, mode, title=f"Gap along {_short(name, 60)}", subtitle=rows,
        height=height if number else 130 + 30 * max(len(table), 3),
    )  # fmt: skip
    figure.update_layout(dragmode=False, bargap=0)
    how = (
        "Above zero (red): promises more than it gets. Whiskers are 95 % intervals; faint bars "
        "cannot be told from 0."
        if number
        else "Right of zero (red): promises more than it gets. In brackets the rows; whiskers are "
        "95 % intervals; faint bars cannot be told from 0."
    )
    if number and curve is not None and not curve.empty:
        how += " The line is the smoothed gap, its band 95 % at each point."
    if overall is not None:
        how += f" Dotted: all rows, {points(overall)} points."
    worst = table.iloc[int(np.argmax(np.abs(table["gap"])))]
    return Chart(
        figure=figure,
        table=table.drop(columns="border"),
        how_to_read=how,
        alt=(
            f"Signed gap along {name} in {len(table)} parts; the largest is "
            f"{points(worst['gap'])} points at {worst['value']}"
        ),
        name="variable",
    )


def _bars(table: pd.DataFrame, mode: Mode) -> tuple[list[str], list[str], dict[str, Any]]:
    """Colours, hover texts and whiskers, the same for both layouts."""
    gap = table["gap"].to_numpy()
    sure = ((table["gap_low"] > 0) | (table["gap_high"] < 0)).to_numpy()
    base = np.where(gap > 0, OVERCONFIDENT[mode], UNDERCONFIDENT[mode])
    colors = [rgba(color, 0.9 if on else 0.35) for color, on in zip(base, sure, strict=True)]
    hover = [
        f"<b>{escape(row['value'])}</b><br>{_promise(row)}" for row in table.to_dict("records")
    ]
    whisker = {
        "type": "data", "symmetric": False, "thickness": 1.2, "width": 3, "color": NEUTRAL[mode],
        "array": np.maximum(table["gap_high"] - gap, 0),
        "arrayminus": np.maximum(gap - table["gap_low"], 0),
    }  # fmt: skip
    return colors, hover, whisker


def _number_figure(
    table: pd.DataFrame,
    curve: pd.DataFrame | None,
    overall: float | None,
    name: str,
    mode: Mode,
) -> go.Figure:
    colors, hover, whisker = _bars(table, mode)
    place = _places(table)
    figure = make_subplots(
        rows=2, cols=1, shared_xaxes=True, row_heights=[0.8, 0.2], vertical_spacing=0.04
    )
    figure.add_trace(
        go.Bar(
            x=place, y=table["gap"], width=0.9, marker={"color": colors}, error_y=whisker,
            hovertext=hover, hoverinfo="text", name="gap", customdata=np.arange(len(table)),
        ),
        row=1, col=1,
    )  # fmt: skip
    if curve is not None and not curve.empty:
        _add_curve(figure, table, curve, mode)
    figure.add_trace(
        go.Bar(
            x=place, y=table["rows"], width=0.9, hovertext=hover, hoverinfo="text", name="rows",
            marker={"color": rgba(NEUTRAL[mode], 0.5)},
        ),
        row=2, col=1,
    )  # fmt: skip
    figure.add_hline(y=0, line={"color": NEUTRAL[mode], "width": 1}, row=1, col=1)
    if overall is not None:
        figure.add_hline(
            y=overall, line={"color": INK[mode], "width": 1.2, "dash": "dot"}, row=1, col=1
        )
    # Ticks stand between the bars, at the borders; a part without one is named below itself.
    marks = [(k + 0.5, row.border) for k, row in enumerate(table.itertuples()) if row.border]
    parts = len(marks) + 1
    marks += [
        (float(place[k]), escape(row.value))
        for k, row in enumerate(table.itertuples())
        if k >= parts
    ]
    figure.update_xaxes(
        tickvals=[mark[0] for mark in marks], ticktext=[mark[1] for mark in marks],
        range=[-0.6, float(place[-1]) + 0.6], fixedrange=True, showgrid=False,
    )  # fmt: skip
    figure.update_xaxes(showticklabels=False, row=1, col=1)
    figure.update_xaxes(title=escape(_short(name, 60)), row=2, col=1)
    figure.update_yaxes(
        title="confidence − accuracy", tickformat="+.0%", fixedrange=True, row=1, col=1
    )
    figure.update_yaxes(title="rows", fixedrange=True, nticks=3, rangemode="tozero", row=2, col=1)
    return figure


def _places(table: pd.DataFrame) -> NDArray[np.float64]:
    """Bars side by side; what is missing stands apart from the number line."""
    place = np.arange(len(table), dtype=np.float64)
    place[int((table["border"] != "").sum()) + 1 :] += 0.5
    return place


def _add_curve(figure: go.Figure, table: pd.DataFrame, curve: pd.DataFrame, mode: Mode) -> None:
    # Equal widths for parts of about equal size: the place of a row is the share of rows below it.
    parts = int((table["border"] != "").sum()) + 1
    rows = table["rows"].to_numpy()[:parts]
    ends = np.concatenate([[0.0], np.cumsum(rows) / rows.sum()])
    x = np.interp(curve["share"], ends, np.arange(parts + 1) - 0.5)
    band = rgba(INK[mode], 0.13)
    for side, fill in (("low", None), ("high", "tonexty")):
        figure.add_trace(
            go.Scatter(
                x=x, y=curve[side], mode="lines", line={"width": 0}, fill=fill, fillcolor=band,
                hoverinfo="skip", name=f"smoothed, {side}",
            ),
            row=1, col=1,
        )  # fmt: skip
    figure.add_trace(
        go.Scatter(
            x=x, y=curve["gap"], mode="lines", line={"width": 2, "color": INK[mode]},
            customdata=np.column_stack([curve["value"], curve["n_eff"]]), name="smoothed",
            hovertemplate=(
                "at %{customdata[0]:.4g}<br>smoothed gap %{y:+.1%}<br>n_eff %{customdata[1]:.0f}"
                "<extra></extra>"
            ),
        ),
        row=1, col=1,
    )  # fmt: skip


def _name_figure(table: pd.DataFrame, overall: float | None, mode: Mode) -> go.Figure:
    colors, hover, whisker = _bars(table, mode)
    place = np.arange(len(table))[::-1]
    figure = go.Figure(
        go.Bar(
            x=table["gap"], y=place, width=0.7, orientation="h", marker={"color": colors},
            error_x=whisker, hovertext=hover, hoverinfo="text", name="gap",
            customdata=np.arange(len(table)),
        )
    )  # fmt: skip
    figure.add_vline(x=0, line={"color": NEUTRAL[mode], "width": 1})
    if overall is not None:
        figure.add_vline(x=overall, line={"color": INK[mode], "width": 1.2, "dash": "dot"})
    figure.update_yaxes(
        tickvals=place,
        ticktext=[
            f"{escape(_short(row.value))} ({row.rows:,})" for row in table.itertuples()
        ],
        range=[-0.6, len(table) - 0.4], fixedrange=True, showgrid=False,
    )  # fmt: skip
    figure.update_xaxes(title="confidence − accuracy", tickformat="+.0%", fixedrange=True)
    return figure


def variable_grid_figure(
    grid: pd.DataFrame,
    *,
    names: tuple[str, str],
    limit: float,
    min_rows: int,
    rows: str,
    mode: Mode = "light",
) -> Chart:
    """Heat map of the gap over the combinations of two variables.

    Parameters
    ----------
    grid : DataFrame
        From :func:`~lore_core.variables.gaps.gap_grid`.
    names : tuple of str
        The variables across and up.
    limit : float
        End of the colour scale.
    min_rows : int
        What ``grid["shown"]`` asks for, said under the picture.
    rows : str
        Which rows these are, in words.
    mode : {"light", "dark"}
        Theme.
    """
    across, up = list(grid["x"].cat.categories), list(grid["y"].cat.categories)
    shape = (len(up), len(across))
    gap = np.where(grid["shown"], grid["gap"], np.nan).astype(np.float64).reshape(shape)
    sure = ((grid["gap_low"] > 0) | (grid["gap_high"] < 0)).to_numpy().reshape(shape)
    hover = [
        f"<b>{escape(names[0])} {escape(row['x'])}<br>{escape(names[1])} {escape(row['y'])}</b><br>"
        + (_promise(row) if row["shown"] else f"{row['rows']:,} rows: too few to say")
        for row in grid.to_dict("records")
    ]
    written = [
        ["" if np.isnan(value) else f"<b>{_whole(value)}</b>" if on else _whole(value)
         for value, on in zip(line, certain, strict=True)]
        for line, certain in zip(gap, sure, strict=True)
    ]  # fmt: skip
    ticks = np.linspace(-limit, limit, 5)
    words = [f"{tick * 100:+.0f}".replace("-", "−") for tick in ticks]
    words[0], words[2], words[-1] = (
        f"{words[0]}<br>under-<br>confident", "0", f"{words[-1]}<br>over-<br>confident"
    )  # fmt: skip
    figure = go.Figure(
        go.Heatmap(
            x=np.arange(shape[1]), y=np.arange(shape[0]), z=gap.astype(np.float32),
            zmin=-limit, zmax=limit, colorscale=diverging(mode), xgap=2, ygap=2,
            text=written, texttemplate="%{text}", textfont={"size": 12},
            hovertext=np.array(hover, dtype=object).reshape(shape), hoverinfo="text",
            hoverongaps=True, name="gap",
            colorbar={
                "thickness": 12, "len": 0.86, "outlinewidth": 0, "tickvals": ticks,
                "ticktext": words,
                "title": {"text": "gap, points", "font": {"size": 11}, "side": "right"},
            },
        )
    )  # fmt: skip
    apply_frame(
        figure, mode, title=f"Gap by {_short(names[0], 40)} and {_short(names[1], 40)}",
        subtitle=rows, height=190 + 38 * max(shape[0], 4),
    )  # fmt: skip
    figure.update_layout(dragmode=False)
    figure.update_xaxes(
        tickvals=np.arange(shape[1]), ticktext=[escape(_short(text)) for text in across],
        title=escape(_short(names[0], 60)), showgrid=False, fixedrange=True,
        range=[-0.5, shape[1] - 0.5],
    )  # fmt: skip
    figure.update_yaxes(
        tickvals=np.arange(shape[0]), ticktext=[escape(_short(text)) for text in up],
        title=escape(_short(names[1], 60)), showgrid=False, fixedrange=True,
        range=[-0.5, shape[0] - 0.5],
    )  # fmt: skip
    hidden = int((~grid["shown"]).sum())
    few = (
        f" {hidden} of {len(grid)} combinations have fewer than {min_rows} rows and stay empty."
        if hidden
        else ""
    )
    return Chart(
        figure=figure,
        table=grid.assign(x=grid["x"].astype(str), y=grid["y"].astype(str)).rename(
            columns={"x": names[0], "y": f"{names[1]} (up)" if names[0] == names[1] else names[1]}
        ),
        how_to_read=(
            "Numbers are points of confidence − accuracy; bold where the 95 % interval leaves out "
            f"0.{few} Of many cells a few are bold by chance."
        ),
        alt=f"Signed gap over {shape[1]} parts of {names[0]} and {shape[0]} of {names[1]}",
        name="variable-grid",
    )


def _promise(row: Mapping[Hashable, Any]) -> str:
    """Say what the rows of a bar or cell promised and got, for a hover."""
    low, high = points(row["gap_low"]), points(row["gap_high"])
    return (
        f"{row['rows']:,} rows<br>promised {row['confidence']:.1%}, got {row['accuracy']:.1%}<br>"
        f"gap {points(row['gap'])} points ({low} to {high})"
    )


def _whole(share: float) -> str:
    return f"{share * 100:+.0f}".replace("-", "−") if abs(share) >= 0.005 else "0"


def _short(text: object, most: int = _LONGEST_NAME) -> str:
    words = str(text)
    return words if len(words) <= most else words[: most - 1] + "…"
