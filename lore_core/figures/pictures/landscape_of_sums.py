"""The landscape of rows that are known by sums over cells."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from lore_core.data.validation import InputError
from lore_core.figures.chart import LandscapeChart
from lore_core.figures.pictures.landscape import landscape_figure
from lore_core.figures.pictures.landscape_picture import Value
from lore_core.figures.pictures.picture import shared_limit
from lore_core.figures.style import Mode
from lore_core.regions.field import Outline
from lore_core.regions.field_of_sums import SumsLandscape


def sums_landscape_figure(
    seen: SumsLandscape,
    *,
    axes: str,
    value: Value = "signed",
    limit: float | None = None,
    frame: tuple[tuple[float, float], ...] | None = None,
    found: Sequence[tuple[str, Outline]] = (),
    title: str | None = None,
    mode: Mode = "light",
    height: int = 620,
) -> LandscapeChart:
    """Raster of the signed local error, with how near the exact one it surely is.

    Its table has the columns ``at_least`` and ``at_most`` where it is of one confidence bin.

    Parameters
    ----------
    seen : SumsLandscape
        What is drawn; of a map in the plane.
    axes : str
        Name of the map.
    limit : float, optional
        End of the colour scale; by default that of the errors shown.
    value, frame, found, title, mode, height
        See :func:`~lore_core.figures.pictures.landscape.landscape_figure`.

    Raises
    ------
    InputError
        If the map has another number of dimensions than two.
    """
    if seen.field is None:
        raise InputError(
            "'sums' must be on a map of 2 dimensions to be drawn; these have "
            f"{seen.sums.n_dimensions}."
        )
    counts = seen.counts[seen.chosen]
    chart = landscape_figure(
        seen.field,
        seen.places[seen.chosen],
        counts=counts,
        n_total=int(counts.sum()),
        value=value,
        limit=shared_limit(seen.values.mean_signed.value[seen.supported])
        if limit is None
        else limit,
        rows=f"{seen.bin_name.lower()}, γ = {seen.gamma:g} on {axes}, from sums over cells",
        axes=axes,
        pixel=seen.pixel_sentence,
        frame=frame,
        found=found,
        title=title,
        mode=mode,
        height=height,
    )
    if seen.bounds is None:
        return chart
    shown = np.isfinite(seen.bounds.value)
    table = chart.table.assign(at_least=seen.bounds.low[shown], at_most=seen.bounds.high[shown])
    return dataclasses.replace(chart, picture=dataclasses.replace(chart.picture, table=table))
