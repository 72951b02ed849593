"""The distribution of the local error over rows, beside the one number it hides behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lore_core.data.number_text import with_points
from lore_core.figures.chart import PanelChart
from lore_core.figures.pictures.marks import (
    Axis,
    Band,
    Dash,
    Line,
    Mark,
    Panel,
    PanelPicture,
    Rule,
    Tint,
)
from lore_core.figures.pictures.picture import Hover
from lore_core.figures.style import Mode, method_color
from lore_core.inference.simulation import NullErrors
from lore_core.metrics.catalogue import ALCE

#: Steps drawn at most; the exported table holds as many.
_POINTS = 400
#: Two lines closer to zero than this share of the axis leave no room on their left.
_ROOM = 0.08


def cdf_figure(
    errors: Mapping[str, NDArray[np.float64]],
    *,
    rows: str,
    global_error: float | None = None,
    null: NullErrors | None = None,
    marked: str = "",
    mode: Mode = "light",
    height: int = 300,
    title: str = "How much of the data is off by how much",
) -> PanelChart:
    """Cumulative distribution of the LCE (Luo et al. 2022, fig. 2).

    Parameters
    ----------
    errors : mapping of str to ndarray
        LCE of the rows, by method; with one entry its mean is marked too.
    rows : str
        Which rows these are, in words.
    global_error : float, optional
        |conf(B) − acc(B)| of the bin, drawn as a line.
    null : NullErrors, optional
        What calibrated rows would show, drawn as a band.
    marked : str
        The entry that is held against the others.
    mode, height, title
        Look.
    """
    ordered = {name: np.sort(values[np.isfinite(values)]) for name, values in errors.items()}
    means = {name: float(values.mean()) for name, values in ordered.items() if values.size}
    single = len(errors) == 1
    marks: list[Mark] = []
    tables = []
    how_to_read = "The further left a curve, the smaller the local errors."
    if global_error is not None:
        how_to_read += (
            " Rows right of the dotted line are worse off than the bin's average error says."
        )
    if null is not None:
        low, high = null.band()
        name, grey = "if calibrated (5–95 %)", Tint("quiet", 0.28)
        marks.append(Band(name=name, at=null.share, low=low, high=high, tint=grey, sideways=True))
        columns = {"lce_low": low, "lce_high": high, "share_of_rows": null.share}
        tables.append(pd.DataFrame({"method": "if calibrated", **columns}))
        how_to_read += (
            f" Grey: the middle 90 % of {null.n_draws} simulations in which every confidence is "
            "right."
        )
    for position, (name, values) in enumerate(ordered.items()):
        n = len(values)
        if n == 0:
            continue
        take = np.unique(np.linspace(0, n - 1, min(_POINTS, n)).astype(int))
        x, share = values[take], (take + 1) / n
        if marked:
            tint = Tint("accent" if name == marked else "quiet")
        else:
            tint = Tint("accent" if single else method_color(name, position))
        hover = Hover("", lines=("{y:.0f} % of the rows have an LCE of {x:.1f} points or less",))
        marks.append(Line(x, share, tint, name=name, width=2, steps=True, hover=hover))
        tables.append(pd.DataFrame({"method": name, "lce": x, "share_of_rows": share}))
    rules = [_rule("mean LCE", mean, Tint("ink"), "dash") for mean in means.values() if single]
    if global_error is not None:
        rules.append(_rule("bin's global error", global_error, Tint("quiet"), "dot"))
    if len(rules) == 2:
        # They may lie close together: each is written on its outer side, if there is room.
        first = 0 if rules[0].at <= rules[1].at else 1
        widest = max(float(values.max(initial=0.0)) for values in ordered.values())
        if rules[first].at > _ROOM * widest:
            rules[first] = replace(rules[first], text_side="left")
    empty = pd.DataFrame(columns=["method", "lce", "share_of_rows"])
    said = ", ".join(f"{name} {ALCE.text(mean)}" for name, mean in means.items())
    # (As short as a narrow chart has room for.)
    x_axis = Axis("local error (LCE)", "points", from_zero=True)
    y_axis = Axis("share of rows", "share", span=(0, 1.02))
    picture = PanelPicture(
        title=title,
        subtitle=rows,
        how_to_read=how_to_read,
        alt=f"Cumulative distribution of the local calibration error; mean in points: {said}",
        name="lce-cdf",
        table=pd.concat(tables, ignore_index=True) if tables else empty,
        panels=(Panel(x_axis, y_axis, [*marks, *rules]),),
        legend=not single,
        free_corner=True,
    )
    return PanelChart(picture, mode, height)


def _rule(what: str, at: float, tint: Tint, dash: Dash) -> Rule:
    return Rule(at, tint, name=f"{what} {with_points(at, 1)}", width=1.5, dash=dash)
