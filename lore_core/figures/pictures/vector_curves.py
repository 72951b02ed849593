"""The whole probability vector's local errors against the bandwidth."""

from __future__ import annotations

import numpy as np

from lore_core.chance.vector_bands import VectorBand
from lore_core.figures.pictures.curves import GAMMA, marked
from lore_core.figures.pictures.marks import (
    Axis,
    Band,
    Line,
    Mark,
    Panel,
    PanelChart,
    PanelPicture,
    Tint,
)
from lore_core.figures.pictures.picture import Hover
from lore_core.figures.style import Mode
from lore_core.metrics.vector_bandwidth import VectorCurve, VectorKey

_TITLES: dict[VectorKey, str] = {
    "average": "average error of the whole vector",
    "largest": "largest error of the whole vector",
}
_MEANINGS: dict[VectorKey, str] = {
    "average": "root mean square over the rows with ten effective neighbours or more",
    "largest": "of the rows with ten effective neighbours or more",
}


def vector_curve_figure(
    curve: VectorCurve,
    band: VectorBand | None = None,
    *,
    metric: VectorKey = "average",
    rows: str,
    gamma: float | None = None,
    mode: Mode = "light",
    height: int = 420,
) -> PanelChart:
    """Average or largest local error of the whole vector over γ, less its noise.

    Parameters
    ----------
    curve : VectorCurve
        Of the data.
    band : VectorBand, optional
        What models whose every probability is right show: drawn as a band.
    metric : {"average", "largest"}
        What to draw.
    rows : str
        Which rows these are, in words.
    gamma : float, optional
        The bandwidth in use, marked.
    mode, height
        Look.
    """
    title = _TITLES[metric].capitalize()
    value, table = curve.of(metric), curve.frame()
    known = np.isfinite(value)
    top = float(value[known].max(initial=0.0))
    marks: list[Mark] = []
    how_to_read = (
        f"{title}, {_MEANINGS[metric]}: how far the local mean of all probabilities is from that "
        "of the true classes, less its noise. Further left no row has so many neighbours; far "
        "right all rows of a bin count alike."
    )
    if band is not None:
        level = band.level(metric)
        table["if_right_below"] = level
        top = max(top, float(level[known].max(initial=0.0)))
        low = np.zeros(int(known.sum()))
        name = "if every probability is right (95 %)"
        marks.append(Band(curve.gamma[known], low, level[known], Tint("quiet", 0.28), name=name))
        how_to_read += (
            " Grey: where the whole curve stays, with 95 %, if every probability is right "
            f"({band.n_draws} simulations)."
        )
    marks.append(
        Line(
            curve.gamma,
            value,
            Tint("accent"),
            name="these rows",
            dots=True,
            hover=Hover(
                title,
                lines=("γ {x:.3g}", "{y:.1f} points", "on {0:,.0f} rows"),
            ),
            columns=[curve.supported.sum(axis=1).astype(float)],
        )
    )
    if gamma is not None:
        marks.append(marked(gamma, f"γ = {gamma:g}"))
    y = Axis(title, "points", from_zero=True, span=(0, 1.1 * (top or 0.01)))
    picture = PanelPicture(
        title=f"{title} against bandwidth",
        subtitle=rows,
        how_to_read=how_to_read,
        alt=f"{title} against bandwidth; {rows}",
        name=f"vector-{metric}-vs-bandwidth",
        table=table,
        panels=(Panel(GAMMA, y, marks),),
        legend=band is not None,
    )
    return PanelChart(picture, mode, height)
