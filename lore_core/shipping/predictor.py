"""A saved recalibrator at work: arrays in, probabilities out, with numpy alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lore_core.data.binning import ConfidenceBins
from lore_core.data.validation import (
    InputError,
    as_coordinates,
    as_group_labels,
    as_labels,
    as_probabilities,
    check_lengths,
)
from lore_core.embedding.result import Embedding
from lore_core.embedding.stored import as_embedding
from lore_core.shipping.container import Container, unpack
from lore_core.shipping.methods import METHODS, Method, Rows
from lore_core.shipping.values import decode

__all__ = ["Predictor"]


class Predictor:
    """Applies a saved recalibrator to new rows.

    Neither scikit-learn, pandas nor scipy is imported. With numba kernel sums are as fast as in
    the library; without it they are computed by numpy over all pairs, to the same 1e-12.

    Parameters
    ----------
    container : tuple
        Header and arrays of a file; use :meth:`load`.

    Attributes
    ----------
    label : str
        What tables call the method.
    class_names : tuple of str
        In the order of the probabilities.
    feature_names : tuple of str
        In the order of the features.
    group_columns : tuple of str
        Group columns the rows must have; empty where groups are not looked at.
    needs_features, needs_groups : bool
        What :meth:`predict` must be given beside probabilities.

    Examples
    --------
    >>> import lore_core as lore
    >>> rows = lore.Dataset([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]], [0, 1, 0])
    >>> content = lore.HistogramBinning(1).fit(rows).to_bytes()
    >>> Predictor.load(content).predict([[0.95, 0.05]]).round(3)
    array([[0.667, 0.333]])
    """

    def __init__(self, container: Container) -> None:
        header, arrays = container
        try:
            self.label = str(header["label"])
            self.class_names = tuple(header["class_names"])
            self.feature_names = tuple(header["feature_names"])
            self._method = _method(decode(header["method"], arrays, _BUILD))
            found = decode(header["feature_maps"], arrays, {})
            self._maps: dict[str | None, Embedding | None] = {
                item["name"]: None if item["map"] is None else as_embedding(item["map"])
                for item in found
            }
            self.group_columns = self._group_columns(tuple(header["group_columns"]))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                "the file of a recalibrator must hold all its parts; "
                f"{type(error).__name__}: {error}."
            ) from error

    @classmethod
    def load(cls, source: str | Path | bytes | BinaryIO) -> Self:
        """Read the file that ``Recalibrator.save`` wrote.

        Parameters
        ----------
        source : str, Path, bytes or binary file
            The file, its content, or something open for reading.

        Raises
        ------
        InputError
            If the file is damaged, changed, of another kind or of a newer schema.
        """
        return cls(unpack(source))

    def __repr__(self) -> str:
        return f"Predictor({self.label!r}, classes={len(self.class_names)})"

    @property
    def needs_groups(self) -> bool:
        """Whether rows must come with the names of their groups."""
        return self._method.kind == "GroupWise" or self._group_kernel

    @property
    def needs_features(self) -> bool:
        """Whether rows must come with features (or coordinates)."""
        return bool(self._maps)

    @property
    def _group_kernel(self) -> bool:
        inner = self._method
        if inner.kind == "GroupWise":
            inner = inner["recalibrator"]
        return inner.state.get("kernel") == "group"

    def _group_columns(self, known: tuple[str, ...]) -> tuple[str, ...]:
        if self._method.kind != "GroupWise":
            return known if self._group_kernel else ()
        column = self._method["column"]
        if column is None:
            return known
        return (column,) if isinstance(column, str) else tuple(column)

    def predict(
        self,
        probabilities: ArrayLike,
        features: ArrayLike | None = None,
        groups: Any = None,
        *,
        predictions: ArrayLike | None = None,
        coordinates: Any = None,
    ) -> NDArray[np.float64]:
        """Return recalibrated probabilities.

        Parameters
        ----------
        probabilities : array-like of shape (n, K) or (n,)
            The classifier's; a vector is P(y = 1) of two classes.
        features : array-like of shape (n, p), optional
            For local methods: the features the map was fitted on, in that order.
        groups : array-like of shape (n,) or (n, g), or dict or DataFrame, optional
            For group-wise methods: group names, in the order of ``group_columns`` or by column.
        predictions : array-like of shape (n,), optional
            Predicted classes, where they are not the most probable ones.
        coordinates : array-like of shape (n, d), or dict of those by name, optional
            In place of ``features``: the rows' places on the map the method was fitted on.

        Returns
        -------
        ndarray of shape (n, K)
            The predicted class stays, even where another one becomes more probable.

        Raises
        ------
        InputError
            If classes or features are not as many as in the fit, or something is missing.
        """
        given = as_probabilities(probabilities)
        if given.shape[1] != len(self.class_names):
            raise InputError(
                f"'probabilities' must have the {len(self.class_names)} classes of the fit "
                f"({', '.join(map(str, self.class_names[:8]))}"
                f"{', …' if len(self.class_names) > 8 else ''}); got {given.shape[1]} columns."
            )
        predicted = (
            given.argmax(axis=1).astype(np.int64)
            if predictions is None
            else as_labels(predictions, given.shape[1], "predictions")
        )
        check_lengths(probabilities=given, predictions=predicted)
        rows = Rows(
            given,
            predicted,
            self._places(features, coordinates, groups, len(given)),
            lambda: self._names(groups, len(given)),
        )
        return METHODS[self._method.kind](self._method, rows).probabilities

    def _names(self, groups: Any, n: int) -> NDArray[np.object_]:
        wanted = self.group_columns
        if groups is None:
            raise InputError(
                f"'groups' must be given for {self.label}: the group of every row "
                f"({', '.join(wanted) or 'one column'})."
            )
        if isinstance(groups, Mapping) or hasattr(groups, "columns"):
            missing = [name for name in wanted if name not in groups]
            if missing:
                raise InputError(f"'groups' must have the columns {list(wanted)}; no {missing}.")
            array = np.column_stack([np.asarray(groups[name], dtype=object) for name in wanted])
        else:
            array = np.asarray(groups, dtype=object)
            array = array[:, None] if array.ndim == 1 else array
            if array.ndim != 2 or array.shape[1] != max(len(wanted), 1):
                raise InputError(
                    f"'groups' must have one column for each of {list(wanted)}; got shape "
                    f"{array.shape}."
                )
        check_lengths(probabilities=np.empty(n), groups=array)
        return as_group_labels(array if array.shape[1] > 1 else array[:, 0])

    def _places(self, features: Any, coordinates: Any, groups: Any, n: int) -> Any:
        """Return what gives the rows' coordinates on a map by its name, each computed once."""
        found: dict[str | None, NDArray[Any]] = {}

        def place(name: str | None) -> NDArray[Any]:
            if name not in found:
                found[name] = self._place(name, features, coordinates, groups, n)
            return found[name]

        return place

    def _place(
        self, name: str | None, features: Any, coordinates: Any, groups: Any, n: int
    ) -> NDArray[Any]:
        if coordinates is not None:
            chosen = coordinates
            if isinstance(coordinates, Mapping):
                chosen = _one_of(coordinates, name, "coordinates")
            return np.asarray(chosen) if self._group_kernel else as_coordinates(chosen)
        if self._group_kernel:
            return self._names(groups, n)
        embedding = _one_of(self._maps, name, "feature_map")
        if embedding is None:
            raise InputError(
                f"'coordinates' must be given: {self.label} was fitted on plain coordinates or "
                "saved without its map, so they cannot be computed from features."
            )
        if features is None:
            raise InputError(
                f"'features' must be given: {self.label} compares each row with its neighbours on "
                f"{embedding.label} of {embedding.n_features:,} features."
            )
        table = as_coordinates(features, "features")
        if table.shape[1] != embedding.n_features:
            raise InputError(
                f"'features' must have the {embedding.n_features:,} features the map was fitted "
                f"on; got {table.shape[1]:,}."
            )
        check_lengths(probabilities=np.empty(n), features=table)
        return np.asarray(embedding.transform(table))


def _one_of(items: Mapping[Any, Any], name: str | None, what: str) -> Any:
    """Return the item of a name, or the first one where no name is meant."""
    if name in items:
        return items[name]
    if name is None and items:
        return next(iter(items.values()))
    raise InputError(f"'{what}' must be one of {list(items)}; got {name!r}.")


def _parts(parts: Any) -> Any:
    return parts


def _method(value: Any) -> Method:
    if not isinstance(value, Method):
        raise InputError("the file of a recalibrator must hold a method; got none.")
    return value


def _as_method(parts: dict[str, Any]) -> Method:
    known: Sequence[str] = list(METHODS)
    if parts["class"] not in known:
        raise InputError(
            f"the file of a recalibrator must hold one of {', '.join(known)}; got "
            f"{parts['class']!r}."
        )
    return Method(parts["class"], {**parts["parameters"], **parts["fitted"]})


_BUILD = {
    "bins": lambda parts: ConfidenceBins(np.asarray(parts["edges"]), parts["binning"]),
    "other_classes": _parts,
    "candidate": _parts,
    "table": _parts,
    "recalibrator": _as_method,
}
