"""Metadata of rows: tables of columns by name, and images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from lore_core.data.arrays import Mask
from lore_core.data.validation import InputError, in_memory


def as_frame(values: Any, prefix: str) -> pd.DataFrame | None:
    """Return a table of columns by name; None where there are none.

    ``prefix``: what columns that come without a name are called, and numbered.
    """
    if values is None:
        return None
    if isinstance(values, (pd.DataFrame, Mapping)):
        frame = pd.DataFrame(values).reset_index(drop=True)
    else:
        array = np.asarray(in_memory(values))
        array = array[:, None] if array.ndim == 1 else array
        count = array.shape[1]
        names = [prefix] if count == 1 else [f"{prefix}_{index}" for index in range(count)]
        frame = pd.DataFrame(array, columns=names)
    return frame if frame.shape[1] else None


def as_pictures(
    images: Any, has_image: ArrayLike | None
) -> tuple[NDArray[np.uint8] | None, Mask | None]:
    """Return images, and which rows have one; None for these where all or no rows do."""
    pictures = _as_images(images)
    shown = None if has_image is None else np.asarray(has_image, dtype=bool)
    if pictures is None or shown is None or shown.all():
        return pictures, None
    return (pictures, shown) if shown.any() else (None, None)


def _as_images(values: Any) -> NDArray[np.uint8] | None:
    """Return images as uint8 of shape (n, h, w) or (n, h, w, 3)."""
    if values is None:
        return None
    array = np.asarray(in_memory(values))
    if array.dtype != np.uint8:
        raise InputError(f"'images' must be uint8 in 0 to 255; got {array.dtype}.")
    if array.ndim not in (3, 4) or (array.ndim == 4 and array.shape[3] != 3):
        raise InputError(f"'images' must have shape (n, h, w) or (n, h, w, 3); got {array.shape}.")
    return array
