"""A fitted recalibrator from the file that ``Recalibrator.save`` wrote; no code is run from it."""

from pathlib import Path
from typing import Annotated, BinaryIO, TypedDict

from lore_core.data.rules import Number, check_value, refuse
from lore_core.embedding.result import Embedding
from lore_core.recalibration.base import KIND, Recalibrator
from lore_core.recalibration.dataset_rows import FittedOn


class NamedMap(TypedDict):
    """A feature map that the method uses."""

    name: str | None  #: None: the only one
    map: Embedding | None  #: None: plain coordinates


class Content(TypedDict):
    """What a file of a recalibrator holds."""

    written_by: str
    method: Recalibrator
    class_names: list[str]
    feature_names: list[str]
    group_columns: list[str]
    feature_maps: list[NamedMap]
    known_rows: Annotated[int, Number(0, whole=True)]  #: that its maps place new rows between


def load_recalibrator(
    source: str | Path | bytes | BinaryIO, *, key: bytes | None = None
) -> Recalibrator:
    """Read a recalibrator that ``Recalibrator.save`` wrote; no code is run from the file.

    Parameters
    ----------
    source : str, Path, bytes or binary file
        The file or its content.
    key : bytes, optional
        What the file must have been signed with, by ``save(key=…)``. Without one a damaged file is
        refused, but not a forged one.

    Returns the fitted method, which gives the same numbers. Raises InputError if the file is
    damaged, changed, of another kind or of another schema.

    See Also
    --------
    lore_core.shipping.Predictor : Applies the same file to arrays, with numpy alone.
    """
    content: Content = KIND.read(source, key)
    check_value(Content, content, "")
    if len(content["class_names"]) < 2:
        raise refuse("class_names", "a list of two or more", content["class_names"])
    method = content["method"]
    method.check_restored(len(content["class_names"]), len(content["feature_names"]))
    maps = {item["name"]: item["map"] for item in content["feature_maps"]}
    known = {0 if item is None else item.known_rows for item in maps.values()}
    if not known <= {0, content["known_rows"]}:
        raise refuse("known_rows", "the rows of its maps", content["known_rows"])
    method.fitted_on_ = FittedOn(
        class_names=tuple(content["class_names"]),
        feature_names=tuple(content["feature_names"]),
        group_columns=tuple(content["group_columns"]),
        feature_maps=maps,
        known_rows=content["known_rows"],
    )
    return method
