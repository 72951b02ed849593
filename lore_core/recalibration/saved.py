"""A fitted recalibrator from the file that ``Recalibrator.save`` wrote; no code is run from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

from lore_core.data.rules import Each, Number, Parts, Text, refuse
from lore_core.data.validation import InputError
from lore_core.embedding.stored import as_embedding
from lore_core.recalibration.base import Recalibrator
from lore_core.recalibration.container import unpack
from lore_core.recalibration.fitted_on import FittedOn
from lore_core.recalibration.registry import saved_class
from lore_core.recalibration.state_rules import check_fitted
from lore_core.recalibration.values import decode

#: What a header says of the rows a method was fitted on.
NAMES = Parts(
    {
        "class_names": Each(Text(), fewest=2),
        "feature_names": Each(Text()),
        "group_columns": Each(Text()),
        "calibration_rows": Number(0, whole=True),
        "known_rows": Number(0, whole=True),
    }
)


def load_recalibrator(
    source: str | Path | bytes | BinaryIO, *, key: bytes | None = None
) -> Recalibrator:
    """Read a recalibrator that ``Recalibrator.save`` wrote; no code is run from the file.

    Parameters
    ----------
    source : str, Path, bytes or binary file
        The file, its content, or something open for reading.
    key : bytes, optional
        What the file must have been signed with, by ``save(key=…)``. Without one a file is known
        to be undamaged and to make sense, and not who wrote it.

    Returns
    -------
    Recalibrator
        Fitted, giving the same numbers as the one that was saved.

    Raises
    ------
    InputError
        If the file is damaged, changed, of another kind or of another schema.

    See Also
    --------
    lore_core.shipping.Predictor : Applies the same file to arrays, with numpy alone.
    """
    header, arrays = unpack(source, key)
    try:
        made = decode(header["method"], arrays, {"recalibrator": _recalibrator})
        if not isinstance(made, Recalibrator):
            raise InputError("the file of a recalibrator must hold a method; got none.")
        NAMES.check({name: header.get(name) for name in NAMES.rules}, "", {})
        Text((type(made).__name__,)).check(header["class"], "class", {})
        check_fitted(made, len(header["class_names"]), len(header["feature_names"]))
        maps = {
            item["name"]: None if item["map"] is None else as_embedding(item["map"])
            for item in decode(header["feature_maps"], arrays, {})
        }
        known = [0 if item is None else item.known_rows for item in maps.values()]
        if not {*known} <= {0, header["known_rows"]}:
            raise refuse("known_rows", "the rows of its maps", header["known_rows"])
        made.fitted_on_ = FittedOn(
            class_names=tuple(header["class_names"]),
            feature_names=tuple(header["feature_names"]),
            group_columns=tuple(header["group_columns"]),
            feature_maps=maps,
            known_rows=header["known_rows"],
        )
    except (KeyError, TypeError, AttributeError, ValueError, LookupError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"the file of a recalibrator must hold all its parts; {type(error).__name__}: {error}."
        ) from error
    return made


def _recalibrator(parts: dict[str, Any]) -> Recalibrator:
    return saved_class(parts["class"]).restored(
        parts["settings"],
        parts["state"],
        label=parts["label"],
        n_rows=parts["calibration_rows"],
    )
