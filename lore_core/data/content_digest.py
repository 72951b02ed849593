"""What the data are, whatever they are called: the same on every machine.

``Dataset.digest`` is for caches: it also tells names and precisions apart, and is fast.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pandas as pd

from lore_core.data.dataset import Dataset


def content_digest(dataset: Dataset) -> str:
    """Sha256 of all the numbers and names a report can depend on, whatever the file was called."""
    state = hashlib.sha256()
    arrays: dict[str, Any] = {
        "probabilities": dataset.probabilities,
        "labels": dataset.labels,
        "predictions": dataset.predictions,
        "features": dataset.features,
        "images": dataset.images,
        "evaluation": dataset.in_split("evaluation"),
    }
    for name, array in arrays.items():
        state.update(name.encode())
        if array is not None:
            # (The byte order of files differs between machines; the numbers do not.)
            whole = np.ascontiguousarray(array)
            whole = whole.astype(whole.dtype.newbyteorder("<"), copy=False)
            state.update(f"{whole.dtype.str}{whole.shape}".encode())
            state.update(whole.tobytes())
    for frame in (dataset.groups, dataset.metadata):
        state.update(b"frame")
        if frame is not None:
            state.update("\x1f".join(map(str, frame.columns)).encode())
            hashed = pd.util.hash_pandas_object(frame.astype(str), index=False)
            state.update(hashed.to_numpy().astype("<u8").tobytes())
    state.update("\x1f".join(dataset.class_names).encode())
    return state.hexdigest()
