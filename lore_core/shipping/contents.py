"""What a saved file holds, and whether single calibration rows can be read from it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from lore_core.data.errors import InputError, counted
from lore_core.data.rules import words_of
from lore_core.embedding.result import Embedding, LinearMap, NeighbourMap
from lore_core.recalibration.base import Recalibrator, load_recalibrator
from lore_core.recalibration.cells import rounded


@dataclass(frozen=True)
class Held:
    """One thing in a file."""

    what: str  #: In words
    shape: tuple[int, ...] = ()  #: Empty for a few numbers or names
    n_bytes: int = 0  #: Without names and settings
    single_rows: bool = False  #: Whether a single row of the data can be read


@dataclass(frozen=True)
class FileContents:
    """What a file of a recalibrator holds."""

    label: str  #: What tables call the method
    calibration_rows: int  #: Rows it was fitted on
    smallest_cell: int | None  #: Rows of the smallest cell; None without means over cells
    held: tuple[Held, ...]

    @property
    def single_rows(self) -> bool:
        """Whether single rows can be read from the file."""
        return any(item.single_rows for item in self.held)

    @property
    def sentence(self) -> str:
        """Whose data can be read from the file."""
        text = f"{self.label}, fitted on {counted(self.calibration_rows, 'calibration row')}. "
        if self.single_rows:
            return text + (
                "Single calibration rows can be read from the file: treat it like those rows. Of "
                "other rows, evaluation rows among them, it holds none."
            )
        if self.smallest_cell is None:
            return text + "No single row can be read from the file."
        return text + (
            "No single row can be read from the file: what it says of rows are means over "
            f"{self.smallest_cell:,} of them or more."
        )

    def table(self) -> dict[str, list[str]]:
        """Return the list as columns of text: ``holds, shape, size, single rows``."""
        return {
            "holds": [item.what for item in self.held],
            "shape": [" × ".join(f"{n:,}" for n in item.shape) for item in self.held],
            "size": [
                f"{max(item.n_bytes / 1e3, 0.1):,.1f} kB" if item.n_bytes else ""
                for item in self.held
            ],
            "single rows": ["yes" if item.single_rows else "no" for item in self.held],
        }


def describe(source: str | Path | bytes | BinaryIO) -> FileContents:
    """List what a file that ``Recalibrator.save`` wrote holds.

    ``source``: path, content or open file. Raises InputError if it is damaged, changed, or of
    another kind or schema.
    """
    method = load_recalibrator(source)
    on = method.fitted_on_
    if on is None:
        raise InputError("the file of a recalibrator must say what it was fitted on.")
    held = list(_of_method(method, ""))
    for item in on.feature_maps:
        if item["map"] is not None:
            held += _of_map(item["map"], method)
    cells = _cells_of(method)
    words = ((on.class_names, "classes"), (on.feature_names, "features"))
    if method.answer_threshold is not None:
        held.append(Held(f"when to abstain. {method.answer_threshold.sentence}"))
    names = " and ".join(f"{word} ({len(known):,})" for known, word in words if known)
    return FileContents(
        label=method.label,
        calibration_rows=method.n_rows_,
        smallest_cell=None if cells is None else int(cells.min()),
        held=(*held, Held(f"names of {names}")),
    )


def _cells_of(method: Recalibrator) -> NDArray[np.int64] | None:
    """Return the rows of each cell whose means are known, None where rows are."""
    return method.state().get("count") if method.needs_embedding else None


def _who(method: Recalibrator) -> str:
    cells = _cells_of(method)
    if cells is None:
        return counted(method.n_rows_, "calibration row")
    return f"{len(cells):,} cells (means of {int(cells.min()):,} or more rows)"


def _of_method(method: Recalibrator, inside: str) -> Iterator[Held]:
    state = method.state()
    yield Held(f"{inside}{method.numbers_in_words}")
    listed: list[object] = []
    for name, array in _arrays(state):
        # (Empty ones of a shape are listed once.)
        shape = (array.dtype, array.shape) if array.size == 0 else id(array)
        if shape not in listed:
            listed.append(shape)
            what, single = _disclosed(name, array, state, method)
            yield Held(f"{inside}{what}", array.shape, array.nbytes, single)
    for part in method.parts(state):
        yield from _of_method(part, f"{inside}{part.label}, a part of it: ")


def _arrays(value: Any, name: str = "") -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield a state's arrays by name, without those of its parts."""
    if isinstance(value, np.ndarray):
        yield name, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _arrays(item, key)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _arrays(item, name)


def _disclosed(
    name: str, array: NDArray[Any], state: Mapping[str, Any], method: Recalibrator
) -> tuple[str, bool]:
    """Return what an array is, and whether single rows can be read from it."""
    # An undescribed array counts as values of rows.
    words = words_of(method.state_type).get(name, f"{name} of {{who}}")
    cuts = smallest = ""
    single = "{who}" in words and array.size > 0 and _cells_of(method) is None
    if "{cuts}" in words:
        regular = name == "edges" and state.get("binning") == "equal-width"
        single = not regular and not np.allclose(rounded(array), array, rtol=0, atol=1e-12)
        cuts = ", some of them confidences of single rows" * single
    if "{smallest}" in words:
        count = state["count"]
        least = int(count[count > 0].min())
        smallest, single = f"; the smallest is of {counted(least, 'row')}", least == 1
    return words.format(who=_who(method), cuts=cuts, smallest=smallest), single


def _of_map(embedding: Embedding, method: Recalibrator) -> Iterator[Held]:
    name, n_features = embedding.name.title, embedding.n_features
    of_all = "from sums over all rows the map was made of"
    scale = embedding.scale_factors
    yield Held(f"scale of {name}, {of_all}", scale.shape, scale.nbytes, False)
    made: Any = embedding.projection
    linear = getattr(made, "reduction", made)
    if isinstance(linear, LinearMap):
        what = f"centre and axes of {len(linear.components):,} principal components"
        n_bytes = linear.mean.nbytes + linear.components.nbytes
        shape = (len(linear.components) + 1, n_features)
        yield Held(f"{what} of {n_features:,} features, {of_all}", shape, n_bytes, False)
    if not isinstance(made, NeighbourMap):
        return
    who, single = _who(method), _cells_of(method) is None
    points, places = made.points, made.places
    features = f"{n_features:,} features of {who}"
    if points.shape[1] < n_features:
        features = f"{points.shape[1]:,} principal components of the {features}"
        features += ", from which these can be rebuilt" * single
    yield Held(features, points.shape, points.nbytes, single)
    yield Held(f"places of {who} on {name}", places.shape, places.nbytes, single)
