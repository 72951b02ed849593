"""The landscape of rows that are known by sums over cells."""

from __future__ import annotations

from typing import Any

from lore_core.data.validation import InputError
from lore_core.figures.chart import LandscapeChart
from lore_core.figures.pictures.landscape import landscape_figure
from lore_core.figures.pictures.picture import shared_limit
from lore_core.regions.field_of_sums import SumsLandscape


def sums_landscape_figure(
    seen: SumsLandscape, *, axes: str, limit: float | None = None, **look: Any
) -> LandscapeChart:
    """Raster of the signed local error, with how near the exact one it surely is.

    Parameters
    ----------
    seen : SumsLandscape
        What is drawn; of a map in the plane, else an InputError is raised.
    axes : str
        Name of the map.
    limit : float, optional
        End of the colour scale; by default that of the errors shown.
    **look
        ``value, frame, found, title, mode, height`` of
        :func:`~lore_core.figures.pictures.landscape.landscape_figure`.
    """
    if seen.field is None:
        raise InputError(
            "'sums' must be on a map of 2 dimensions to be drawn; these have "
            f"{seen.sums.n_dimensions}."
        )
    counts = seen.counts[seen.chosen]
    if limit is None:
        limit = shared_limit(seen.values.mean_signed.value[seen.supported])
    return landscape_figure(
        seen.field,
        seen.places[seen.chosen],
        counts=counts,
        n_total=int(counts.sum()),
        limit=limit,
        rows=f"{seen.bin_name.lower()}, γ = {seen.gamma:g} on {axes}, from sums over cells",
        axes=axes,
        pixel=seen.pixel_sentence,
        **look,
    )
