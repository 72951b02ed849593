"""Files of sums: whole numbers and a few words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import numpy as np

from lore_core.data.archive_files import Kind
from lore_core.data.arrays import Floats, Ints
from lore_core.data.binning import Binning, ConfidenceBins
from lore_core.data.rules import EDGES, Each, Number, Values, refuse, rule_of
from lore_core.mergeable.cell_sums.cells import HIGHEST_LEVEL, Cells
from lore_core.mergeable.cell_sums.local_values import Weight

if TYPE_CHECKING:
    from lore_core.mergeable.cell_sums.sums import LocalErrorSums

_KIND = Kind(
    "lore-local-error-sums", "sums of local errors", "LocalErrorSums.save()", compressed=True
)


class Content(TypedDict):
    """What a file of sums holds: m cells, b confidence bins."""

    dimensions: Annotated[int, Number(1, 3, whole=True)]
    level: Annotated[int, Number(0, HIGHEST_LEVEL, whole=True)]
    weights: list[str]
    binning: Binning
    max_cells: Annotated[int, Number(1, whole=True)]
    place: str
    scores: dict[str, tuple[str, str]]  #: Whole numbers of any size
    keys: Annotated[Ints, Values(("m",), 0, whole=True, rising=True)]
    of_bins: Annotated[Ints, Values(("t", "b"), whole=True)]
    edges: Annotated[Floats, EDGES]
    columns: Annotated[list[Ints], Each(Values(("m",), whole=True))]


def digest(sums: LocalErrorSums) -> str:
    """Sha256 of everything in the sums: equal only where they are equal to the last bit."""
    return _KIND.digest(_content(sums))


def write(path: str | Path, sums: LocalErrorSums) -> None:
    """Write sums as a whole or not at all."""
    _KIND.write(path, _content(sums))


def read(path: str | Path) -> dict[str, Any]:
    """Read what sums are made of, by the names of their fields.

    Raises InputError if there is no such file, or it is damaged, changed or of another kind.
    """
    content: Content = _KIND.read(path)
    rule_of(Content).check(content, "", {})
    scores, columns = content["scores"], content["columns"]
    expected = len(Weight) * (1 + 2 * content["dimensions"])
    if len(columns) != expected:
        raise refuse("columns", str(expected), len(columns))
    for pair in scores.values():
        if not all(part.removeprefix("-").isdecimal() for part in pair):
            raise refuse("scores", "whole numbers", pair)
    return {
        "bins": ConfidenceBins(content["edges"], content["binning"]),
        "max_cells": content["max_cells"],
        "place": content["place"],
        "cells": Cells(
            content["dimensions"],
            content["level"],
            content["keys"],
            np.stack([column.astype(np.int64) for column in columns]),
        ),
        "of_bins": content["of_bins"],
        "scores": {name: (int(n), int(total)) for name, (n, total) in scores.items()},
    }


def _content(sums: LocalErrorSums) -> Content:
    return {
        "dimensions": sums.n_dimensions,
        "level": sums.cells.level,
        "weights": [weight.name.lower() for weight in Weight],
        "binning": sums.bins.binning,
        "max_cells": sums.max_cells,
        "place": sums.place,
        "scores": {name: (str(n), str(total)) for name, (n, total) in sums.scores.items()},
        "keys": sums.cells.keys,
        "of_bins": sums.of_bins,
        "edges": sums.bins.edges,
        "columns": [
            column.astype(np.min_scalar_type(int(column.max(initial=0))))
            for column in sums.cells.table
        ],
    }
