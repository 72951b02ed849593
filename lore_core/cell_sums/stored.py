"""Sums in a file: a ``.npz`` of whole numbers and one header, with a digest over all of it."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from lore_core.cell_sums.cells import Cells
from lore_core.cell_sums.local_values import Weight
from lore_core.data.atomic_files import write_bytes
from lore_core.data.binning import Binning, ConfidenceBins
from lore_core.data.validation import InputError

if TYPE_CHECKING:
    from lore_core.cell_sums.sums import LocalErrorSums

_FORMAT = "lore-local-error-sums"
#: Raised whenever a file written now could be misread by the version before.
_SCHEMA = 1


def digest(sums: LocalErrorSums) -> str:
    """Sha256 of everything in the sums: equal only where they are equal to the last bit."""
    header, arrays = _taken_apart(sums)
    return _digest(header, arrays)


def write(path: str | Path, sums: LocalErrorSums) -> None:
    """Write sums as a whole or not at all."""
    header, arrays = _taken_apart(sums)
    text = json.dumps({**header, "digest": _digest(header, arrays)})
    content = io.BytesIO()
    np.savez_compressed(content, allow_pickle=False, header=np.array(text), **arrays)
    write_bytes(path, content.getvalue())


def read(path: str | Path) -> LocalErrorSums:
    """Read sums, and make sure that they are what was written.

    Raises InputError if there is no such file, or it is damaged, changed, of another kind or of a
    newer schema.
    """
    place = Path(path).expanduser()
    damaged = f"'{place.name}' is damaged or holds no sums; make it again with LocalErrorSums.save"
    try:
        with place.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(str(arrays.pop("header")))
        said = header.pop("digest")
        kind, schema = header["format"], header["schema"]
    except OSError as error:
        raise InputError(f"'{place.name}' cannot be read ({error.strerror or error}).") from error
    except (ValueError, KeyError, TypeError, AttributeError, EOFError) as error:
        raise InputError(f"{damaged} ({error}).") from error
    except (zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
        raise InputError(f"{damaged} ({error}).") from error
    if kind != _FORMAT:
        raise InputError(f"{damaged}.")
    if schema != _SCHEMA:
        raise InputError(
            f"'{place.name}' has schema {schema}; this version reads {_SCHEMA}. Sum the rows again."
        )
    if said != _digest(header, arrays):
        raise InputError(f"{damaged}: its digest is not that of its content.")
    return _put_together(header, arrays)


def _taken_apart(sums: LocalErrorSums) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    header = {
        "format": _FORMAT,
        "schema": _SCHEMA,
        "dimensions": sums.n_dimensions,
        "level": sums.cells.level,
        "weights": [weight.name.lower() for weight in Weight],
        "binning": sums.bins.binning,
        "max_cells": sums.max_cells,
        "place": sums.place,
        # (Whole numbers of any size.)
        "scores": {name: [str(part) for part in score] for name, score in sums.scores.items()},
    }
    arrays = {
        "keys": sums.cells.keys,
        "table": sums.cells.table,
        "of_bins": sums.of_bins,
        "edges": sums.bins.edges,
    }
    return header, arrays


def _put_together(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> LocalErrorSums:
    from lore_core.cell_sums.sums import LocalErrorSums

    binning: Binning = next(name for name in get_args(Binning) if name == header["binning"])
    return LocalErrorSums(
        bins=ConfidenceBins(arrays["edges"], binning),
        max_cells=header["max_cells"],
        place=header["place"],
        cells=Cells(header["dimensions"], header["level"], arrays["keys"], arrays["table"]),
        of_bins=arrays["of_bins"],
        scores={name: (int(n), int(total)) for name, (n, total) in header["scores"].items()},
    )


def _digest(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> str:
    state = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        state.update(f"\0{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        state.update(array.tobytes())
    return state.hexdigest()
