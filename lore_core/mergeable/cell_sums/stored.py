"""Sums in a file: whole numbers and one header."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from lore_core.data import number_files
from lore_core.data.binning import Binning, ConfidenceBins
from lore_core.data.rules import Number, Parts, Rule, Text, Values, refuse
from lore_core.mergeable.cell_sums.cells import HIGHEST_LEVEL, Cells
from lore_core.mergeable.cell_sums.local_values import Weight

if TYPE_CHECKING:
    from lore_core.mergeable.cell_sums.sums import LocalErrorSums

KIND = number_files.Kind(
    "lore-local-error-sums", 1, "sums of local errors", "LocalErrorSums.save()", compressed=True
)


def digest(sums: LocalErrorSums) -> str:
    """Sha256 of everything in the sums: equal only where they are equal to the last bit."""
    return number_files.digest(*_taken_apart(sums))


def write(path: str | Path, sums: LocalErrorSums) -> None:
    """Write sums as a whole or not at all."""
    KIND.write(path, *_taken_apart(sums))


def read(path: str | Path) -> dict[str, Any]:
    """Read what sums are made of, by the names of their fields.

    Raises InputError if there is no such file, or it is damaged, changed or of another kind.
    """
    header, arrays = KIND.read(path)
    _check(header, arrays)
    binning: Binning = next(name for name in get_args(Binning) if name == header["binning"])
    columns = [arrays[f"column_{k}"] for k in range(header["columns"])]
    return {
        "bins": ConfidenceBins(arrays["edges"], binning),
        "max_cells": header["max_cells"],
        "place": header["place"],
        "cells": Cells(
            header["dimensions"],
            header["level"],
            arrays["keys"],
            np.stack([column.astype(np.int64) for column in columns]),
        ),
        "of_bins": arrays["of_bins"],
        "scores": {name: (int(n), int(total)) for name, (n, total) in header["scores"].items()},
    }


def _check(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Refuse what is no sums."""
    own: dict[str, Rule] = {
        "dimensions": Number(1, 3, whole=True),
        "level": Number(0, HIGHEST_LEVEL, whole=True),
        "columns": Number(1, whole=True),
        "max_cells": Number(1, whole=True),
        "binning": Text(get_args(Binning)),
        "place": Text(),
    }
    Parts(own).check({name: header.get(name) for name in own}, "", {})
    expected = len(Weight) * (1 + 2 * header["dimensions"])
    if header["columns"] != expected:
        raise refuse("columns", str(expected), header["columns"])
    scores = header.get("scores")
    pairs = scores.values() if isinstance(scores, dict) else [None]
    if not all(isinstance(p, list) and [str(int(x)) for x in map(str, p)] == p for p in pairs):
        raise refuse("scores", "pairs of whole numbers", scores)
    column = Values(("m",), whole=True)
    rules: dict[str, Rule] = {f"column_{k}": column for k in range(expected)}
    rules["edges"] = Values(("b+1",), 0.0, 1.0, rising=True)
    rules["keys"] = Values(("m",), 0, whole=True, rising=True)
    rules["of_bins"] = Values(("t", "b"), whole=True)
    Parts(rules).check(arrays, "", {})


def _taken_apart(sums: LocalErrorSums) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    header = {
        "dimensions": sums.n_dimensions,
        "level": sums.cells.level,
        "weights": [weight.name.lower() for weight in Weight],
        "columns": len(sums.cells.table),
        "binning": sums.bins.binning,
        "max_cells": sums.max_cells,
        "place": sums.place,
        # (Whole numbers of any size.)
        "scores": {name: [str(part) for part in score] for name, score in sums.scores.items()},
    }
    arrays = {"keys": sums.cells.keys, "of_bins": sums.of_bins, "edges": sums.bins.edges}
    for k, column in enumerate(sums.cells.table):
        arrays[f"column_{k}"] = column.astype(np.min_scalar_type(int(column.max(initial=0))))
    return header, arrays
