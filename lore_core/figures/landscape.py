"""The landscape: where the confidence is wrong, on a map of the features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from lore_core.figures.labels import shifts
from lore_core.figures.style import (
    INK,
    NEUTRAL,
    PAPER,
    Chart,
    Mode,
    apply_frame,
    diverging,
    escape,
    rgba,
    sequential,
)
from lore_core.regions.field import Field, Outline
from lore_core.regions.selection import Region

__all__ = ["landscape_figure", "shared_limit"]

Value = Literal["signed", "absolute"]

#: What a value of the error is called.
TITLES = {"signed": "Signed local error", "absolute": "Local calibration error (LCE)"}


#: Pixels of a map in a narrow window; where there are more, names lie further apart still.
_NARROW = 330.0


def shared_limit(*signed: NDArray[np.float64]) -> float:
    """One colour range for pictures that are compared: ± the 99th percentile, in steps of 5 %.

    Parameters
    ----------
    *signed : ndarray
        Signed errors of all pictures; NaN is passed over.
    """
    every = np.abs(np.concatenate([values.ravel() for values in signed]))
    every = every[np.isfinite(every)]
    if every.size == 0:
        return 0.1
    return float(np.clip(np.ceil(np.quantile(every, 0.99) * 20) / 20, 0.1, 1.0))


def color_axis(value: Value, limit: float, mode: Mode) -> dict[str, Any]:
    """Colour axis of one landscape, with its bar."""
    signed = value == "signed"
    bar: dict[str, Any] = {
        "thickness": 12, "len": 0.72, "y": 0.5, "x": 1.0, "xpad": 8, "outlinewidth": 0,
        "tickformat": "+.0%" if signed else ".0%",
        "title": {
            "text": "confidence − accuracy" if signed else "LCE",
            "font": {"size": 11}, "side": "right",
        },
    }  # fmt: skip
    if signed:
        ticks = np.linspace(-limit, limit, 5)
        bar["tickvals"] = ticks
        words = {0: "<br>under-<br>confident", 4: "<br>over-<br>confident"}
        bar["ticktext"] = [f"{tick:+.0%}{words.get(i, '')}" for i, tick in enumerate(ticks)]
        bar["ticktext"][2] = "0"
    return {
        "colorscale": diverging(mode) if signed else sequential(mode),
        "cmin": -limit if signed else 0.0,
        "cmax": limit,
        "colorbar": bar,
    }


def shown_values(signed: NDArray[np.float64], value: Value) -> NDArray[np.float64]:
    return signed if value == "signed" else np.abs(signed)


def hover_texts(table: pd.DataFrame) -> list[str]:
    """One hover text a row: promised, came, local error, then what else is known."""
    fixed = {"row", "predicted", "true", "confidence", "right", "signed_error", "lce", "n_eff"}
    others = [column for column in table.columns if column not in fixed]
    lines = []
    for record in table.to_dict("records"):
        verdict = "right" if record["right"] else f"wrong, true {escape(record['true'])}"
        text = [
            f"<b>row {record['row']}</b>: {escape(record['predicted'])} ({verdict})",
            f"confidence {record['confidence']:.1%}",
            f"local error {record['signed_error'] * 100:+.1f} points, n_eff {record['n_eff']:.0f}",
            *(f"{escape(name)}: {escape(_short(record[name]))}" for name in others[:5]),
        ]
        lines.append("<br>".join(text))
    return lines


def _short(value: object) -> str:
    if isinstance(value, (float, np.floating)):
        return f"{value:.4g}"
    text = str(value)
    return text if len(text) <= 40 else text[:39] + "…"


def landscape_figure(
    field: Field | None,
    coordinates: NDArray[np.float64],
    *,
    points: pd.DataFrame | None = None,
    worst: pd.DataFrame | None = None,
    n_total: int,
    value: Value = "signed",
    limit: float,
    rows: str,
    axes: str = "map",
    region: Region | None = None,
    found: Sequence[tuple[str, Outline]] = (),
    places: pd.DataFrame | None = None,
    mode: Mode = "light",
    height: int = 620,
    title: str | None = None,
) -> Chart:
    """Raster of the signed local error on the 2-D map, with rows over it.

    Parameters
    ----------
    field : Field or None
        Raster; None draws only points.
    coordinates : ndarray of shape (n, 2)
        The map, all rows.
    points : DataFrame, optional
        Rows to draw (:func:`~lore_core.regions.row_tables.row_table` with errors).
    worst : DataFrame, optional
        Rows to ring; ``customdata`` is the row number, for clicks.
    n_total : int
        Rows that could have been drawn; the drawn share is said in the subtitle.
    value : {"signed", "absolute"}
        SLCE on a diverging scale or LCE on a sequential one.
    limit : float
        End of the colour scale.
    rows : str
        Which rows these are, in words.
    axes : str
        Name of the map.
    region : Region, optional
        A region to outline.
    found : sequence of (str, Outline)
        Names of regions that were found, and where they lie: outlined and numbered.
    places : DataFrame, optional
        Names to write on the map: columns ``name, x, y``
        (:func:`~lore_core.regions.row_tables.class_places`).
    mode, height, title
        Look.
    """
    figure = go.Figure()
    color = color_axis(value, limit, mode)
    if field is not None:
        figure.add_trace(_outline(field, mode))
        shown = shown_values(field.signed, value)
        support = np.round(field.effective_size).astype(np.float32)
        figure.add_trace(
            go.Heatmap(
                x=field.x.astype(np.float32), y=field.y.astype(np.float32),
                z=shown.astype(np.float32), customdata=support,
                zmin=color["cmin"], zmax=color["cmax"], colorscale=color["colorscale"],
                colorbar=color["colorbar"], hoverongaps=False, zsmooth=False, name="field",
                hovertemplate=(
                    "local error %{z:+.1%}<br>n_eff %{customdata:.0f}<extra></extra>"
                    if value == "signed"
                    else "LCE %{z:.1%}<br>n_eff %{customdata:.0f}<extra></extra>"
                ),
            )
        )  # fmt: skip
    drawn = 0
    for table, ring in ((points, False), (worst, True)):
        if table is None or table.empty:
            continue
        z = coordinates[table["row"].to_numpy()].astype(np.float32)
        marker: dict[str, Any]
        if ring:
            marker = {
                "size": 9, "color": "rgba(0,0,0,0)", "line": {"width": 1.4, "color": INK[mode]},
            }  # fmt: skip
        else:
            drawn = len(table)
            marker = {
                "size": 5,
                "color": shown_values(table["signed_error"].to_numpy(), value).astype(np.float32),
                "colorscale": color["colorscale"], "cmin": color["cmin"], "cmax": color["cmax"],
                "showscale": field is None, "colorbar": color["colorbar"],
                "line": {"width": 0.6, "color": rgba(INK[mode], 0.55)},
            }  # fmt: skip
        # A few rings as SVG: a WebGL layer for them alone would double the time of a redraw.
        scatter = go.Scatter if ring else go.Scattergl
        figure.add_trace(
            scatter(
                x=z[:, 0], y=z[:, 1], mode="markers", marker=marker,
                name="worst rows" if ring else "rows",
                customdata=table["row"].to_numpy(np.int32), hovertext=hover_texts(table),
                hoverinfo="text",
                selected={"marker": {"opacity": 1}}, unselected={"marker": {"opacity": 0.85}},
            )
        )  # fmt: skip
    said = f"{drawn:,} of {n_total:,} rows drawn" if drawn else f"{n_total:,} rows"
    apply_frame(
        figure, mode, title=title or TITLES[value], subtitle=f"{rows}; {said}", height=height
    )
    low, high = coordinates.min(axis=0), coordinates.max(axis=0)
    pad = 0.06 * float((high - low).max() or 1.0)
    for update, axis, number in ((figure.update_xaxes, 0, 1), (figure.update_yaxes, 1, 2)):
        update(
            title={"text": f"{axes} {number}", "font": {"size": 11, "color": NEUTRAL[mode]}},
            showgrid=False, showticklabels=False, ticks="",
            range=[float(low[axis] - pad), float(high[axis] + pad)],
        )  # fmt: skip
    figure.update_yaxes(scaleanchor="x", scaleratio=1)
    figure.update_layout(uirevision=axes, dragmode="lasso", clickmode="event+select")
    numbers = []
    for name, outline in found:
        figure.add_trace(_found_outline(name, outline, mode))
        row, column = np.unravel_index(int(np.argmax(outline.inside)), outline.inside.shape)
        numbers.append((name, float(outline.x[column]), float(outline.y[row])))
        figure.add_annotation(
            x=numbers[-1][1], y=numbers[-1][2], text=escape(name),
            showarrow=False, font={"size": 12, "color": PAPER[mode]}, bgcolor=INK[mode],
            borderpad=2,
        )  # fmt: skip
    if places is not None:
        _write_names(figure, places, numbers, float((high - low).max() or 1.0), mode)
    if region is not None:
        corners = " L ".join(f"{x:.6g},{y:.6g}" for x, y in zip(region.x, region.y, strict=True))
        figure.add_shape(
            type="path",
            path=f"M {corners} Z",
            line={"color": INK[mode], "dash": "dash", "width": 2},
        )
    return Chart(
        figure=figure,
        table=field_table(field) if field is not None else points_table(points, coordinates),
        how_to_read=_reading(value, field),
        alt=f"{TITLES[value]} on the {axes} map; {rows}",
        name="landscape",
        config={"scrollZoom": True},
    )


def _write_names(
    figure: go.Figure,
    places: pd.DataFrame,
    numbers: list[tuple[str, float, float]],
    extent: float,
    mode: Mode,
) -> None:
    """Write names on the map, moved where they would cover each other or a region's number."""
    names = [_short(name) for name in places["name"]]
    points = [*((x, y) for _, x, y in numbers), *zip(places["x"], places["y"], strict=True)]
    moved = shifts(
        np.array(points, dtype=np.float64).reshape(-1, 2) * (_NARROW / extent),
        [*(name for name, _, _ in numbers), *names],
        n_fixed=len(numbers),
    )
    for name, (x, y), up in zip(
        names, points[len(numbers) :], moved[len(numbers) :], strict=True
    ):  # fmt: skip
        figure.add_annotation(
            x=x, y=y, yshift=up, text=escape(name), showarrow=False,
            font={"size": 12, "color": INK[mode]}, bgcolor=rgba(PAPER[mode], 0.7), borderpad=2,
        )  # fmt: skip


def _outline(field: Field, mode: Mode) -> go.Contour:
    """Draw a thin line around where any rows lie: without it a small bin floats in nowhere."""
    return go.Contour(
        x=field.x.astype(np.float32),
        y=field.y.astype(np.float32),
        z=field.context.astype(np.float32),
        contours={"coloring": "none", "start": 0.5, "end": 0.5, "size": 1.0},
        line={"color": rgba(NEUTRAL[mode], 0.45), "width": 1, "smoothing": 1.3},
        showscale=False,
        hoverinfo="skip",
        name="all rows",
    )


def _found_outline(name: str, outline: Outline, mode: Mode) -> go.Contour:
    return go.Contour(
        x=outline.x.astype(np.float32),
        y=outline.y.astype(np.float32),
        z=outline.inside.astype(np.float32),
        contours={"coloring": "none", "start": 0.5, "end": 0.5, "size": 1.0},
        line={"color": INK[mode], "width": 2, "smoothing": 1.0},
        showscale=False,
        hoverinfo="skip",
        name=f"region {escape(name)}",
    )


def _reading(value: Value, field: Field | None) -> str:
    text = (
        "Red: the model promises more than it delivers here; blue: less."
        if value == "signed"
        else "The darker or brighter against the background, the larger the local error."
    )
    if field is None:
        return text + " Each point is a row."
    what = (
        " Each pixel is the exact signed error there, from all rows of the bin."
        if field.exact
        else " Each pixel averages the local errors of the rows on it."
    )
    hidden = (
        f" {field.masked_share:.0%} of the area near these rows is empty: too few effective "
        "neighbours."
        if field.masked_share > 0.005
        else ""
    )
    if field.chance_share is not None:
        hidden += (
            " Only places beyond chance are coloured: "
            f"{field.chance_share:.0%} of the area with enough neighbours could be chance."
        )
    others = bool((field.context & np.isnan(field.signed)).any())
    return text + what + hidden + (" The thin line encloses all rows." if others else "")


def field_table(field: Field) -> pd.DataFrame:
    row, column = np.nonzero(np.isfinite(field.signed))
    return pd.DataFrame(
        {
            "map_1": field.x[column],
            "map_2": field.y[row],
            "signed_error": field.signed[row, column],
            "n_eff": field.effective_size[row, column],
        }
    )


def points_table(points: pd.DataFrame | None, coordinates: NDArray[np.float64]) -> pd.DataFrame:
    if points is None:
        return pd.DataFrame()
    z = coordinates[points["row"].to_numpy()]
    return points.assign(**{f"map_{k + 1}": z[:, k] for k in range(z.shape[1])})
