"""How the errors of a model move from batch to batch."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lore_core.data.number_text import batches_words, percent
from lore_core.figures.chart import PanelChart
from lore_core.figures.pictures.marks import (
    Axis,
    Band,
    Line,
    Mark,
    Panel,
    PanelPicture,
    Rule,
    Tint,
)
from lore_core.figures.pictures.picture import Hover, shortened
from lore_core.figures.style import Mode, method_color
from lore_core.metrics.catalogue import ALCE, CATALOGUE, ECE, MLCE_SUPPORTED

#: Names of batches that are written, and their letters.
_NAMES, _LETTERS = 10, 14
#: The metrics of each panel, from top to bottom.
_PANELS = ((MLCE_SUPPORTED.name,), (ALCE.name, ECE.name))
#: All of them, in the order of their colours.
_COLORS = [name for metrics in _PANELS for name in metrics]


def movement_figure(
    movement: pd.DataFrame,
    *,
    level: float,
    rows: str,
    mode: Mode = "light",
    height: int = 460,
) -> PanelChart:
    """Supported MLCE over ALCE and ECE, batch by batch, and which batches are marked.

    Parameters
    ----------
    movement : DataFrame
        Of :func:`~lore_core.mergeable.partitions.batches.movement_frame`, a row a batch.
    level : float
        Batches with p up to this are marked.
    rows : str
        Which rows these are, in words.
    mode, height
        Look.
    """
    at = np.arange(len(movement), dtype=np.float64)
    step = -(-len(at) // _NAMES)
    names = [shortened(name, _LETTERS) for name in movement["batch"]]
    ticks = tuple((float(k), names[k]) for k in range(0, len(at), step))
    ends = (-0.5, len(at) - 0.5)
    changed = at[movement["p_value"].to_numpy(np.float64, na_value=np.nan) <= level]
    panels: list[Panel] = []
    for metrics in _PANELS:
        marks: list[Mark] = [Rule(float(where), Tint("ink"), dash="dot") for where in changed]
        for name in metrics:
            title, color = CATALOGUE[name].title, method_color(name, _COLORS.index(name))
            if f"{name} at least" in movement:
                low, high = (
                    movement[f"{name} {end}"].to_numpy(np.float64)
                    for end in ("at least", "at most")
                )
                known = np.isfinite(low) & np.isfinite(high)
                around = at[known], low[known], high[known]
                said = f"{title}, surely"
                marks.append(Band(*around, Tint(color, 0.15), name=said, group=name, listed=False))
            values = movement[name].to_numpy(np.float64)
            hover = Hover(title, lines=("{y:.1f} points",))
            marks.append(
                Line(at, values, Tint(color), name=title, group=name, dots=True, hover=hover)
            )
        title = " and ".join(CATALOGUE[name].title for name in metrics)
        panels.append(
            Panel(
                Axis("batch", span=ends, ticks=ticks, grid=False),
                Axis(title, "points", from_zero=True),
                marks,
                share=0.5,
            )
        )
    picture = PanelPicture(
        title="How the errors move",
        subtitle=rows,
        how_to_read=(
            "Dotted: a place changed since all earlier batches by more than chance does in "
            f"{percent(level, 0)} of batches. ALCE and MLCE are larger where a batch has few rows. "
            "Bands: where the exact number surely is."
        ),
        alt=f"Supported MLCE, ALCE and ECE of {batches_words(len(at))}; marked: {len(changed)}",
        name="movement",
        table=movement,
        panels=tuple(panels),
        gap=0.08,
        legend=True,
    )
    return PanelChart(picture, mode, height)
