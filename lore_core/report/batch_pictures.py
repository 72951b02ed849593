"""Figures of batches over time."""

from typing import Any

import numpy as np

from lore_core.data.arrays import Mask
from lore_core.data.number_text import batches_words
from lore_core.figures.pictures.landscape import change_figure, sums_landscape_figure
from lore_core.figures.pictures.landscape_picture import LandscapePicture
from lore_core.figures.pictures.picture import shared_limit
from lore_core.mergeable import Change, Watched
from lore_core.regions.field import Field, Outline, SumsLandscape


def change_picture(
    earlier: SumsLandscape,
    now: SumsLandscape,
    change: tuple[Field, Mask],
    of: Watched,
    n_before: int,
    *,
    axes: str,
) -> LandscapePicture:
    """Draw the local error of a batch minus that of all before it, uncertain parts pale.

    ``change``: of :meth:`~lore_core.regions.SumsLandscape.change_since`. The frame is that of
    :func:`before_and_after`.
    """
    rows = f"{of.name} minus {batches_words(n_before)} before it, γ = {now.gamma:g}"
    frame = sums_landscape_figure(earlier, axes=axes).extent
    return change_figure(now, change, axes=axes, rows=rows, found=_boxes(of.change), frame=frame)


def before_and_after(
    earlier: SumsLandscape, now: SumsLandscape, of: Watched, n_before: int, *, axes: str
) -> tuple[LandscapePicture, LandscapePicture]:
    """Draw the landscapes of a batch and of all before it, in one frame and scale."""
    signed = [item.values.mean_signed.value[item.supported] for item in (earlier, now)]
    look: dict[str, Any] = {
        "axes": axes,
        "limit": shared_limit(*signed),
        "found": _boxes(of.change),
        "height": 480,
    }
    first = sums_landscape_figure(earlier, title=f"{batches_words(n_before)} before it", **look)
    return first, sums_landscape_figure(now, title=of.name, frame=first.extent, **look)


def _boxes(change: Change | None) -> list[tuple[str, Outline]]:
    """Outline the place that changed most, where it is a part of a map in the plane."""
    if change is None or change.places.empty or not np.isfinite(change.places["from_1"].iloc[0]):
        return []
    most = change.places.iloc[0]
    inside = np.zeros((12, 12))
    inside[1:-1, 1:-1] = 1.0
    x, y = (
        low + (high - low) * (np.arange(12) - 0.5) / 10
        for low, high in ((most[f"from_{m}"], most[f"to_{m}"]) for m in (1, 2))
    )
    return [("1", Outline(x, y, inside))]
