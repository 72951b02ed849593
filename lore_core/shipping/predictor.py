"""A saved recalibrator as a function of arrays, with numpy alone."""

from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import ArrayLike

from lore_core.data.arrays import Floats
from lore_core.data.errors import listed
from lore_core.data.rows import Place, Rows
from lore_core.data.validation import (
    InputError,
    as_coordinates,
    as_labels,
    as_probabilities,
    check_lengths,
)
from lore_core.embedding.result import Embedding, chosen_map
from lore_core.recalibration.base import Recalibrator, load_recalibrator


class Predictor:
    """Applies a saved recalibrator to new rows.

    Imports neither scikit-learn, pandas nor scipy. Without numba, kernel sums are computed by numpy
    over all pairs: slower, and equal to 1e-12.

    ``recalibrator``: fitted; :meth:`load` reads one from a file. ``label`` is what tables call the
    method, ``class_names`` and ``feature_names`` are in the order of the probabilities and
    features, ``needs_features`` says whether :meth:`predict` needs features beside probabilities,
    ``answer_threshold`` which rows are not answered (``abstains(confidence)``), and what that
    guarantees, or None.

    Examples
    --------
    >>> import lore_core as lore
    >>> rows = lore.Dataset([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]], [0, 1, 0])
    >>> content = lore.HistogramBinning(1).fit(rows).to_bytes()
    >>> Predictor.load(content).predict([[0.95, 0.05]]).round(3)
    array([[0.667, 0.333]])
    """

    def __init__(self, recalibrator: Recalibrator) -> None:
        on = recalibrator.fitted_on_
        if on is None:
            raise InputError(f"{type(recalibrator).__name__} must be fitted to recalibrate.")
        self._recalibrator = recalibrator
        self._maps = on.used_maps(recalibrator.used_maps(recalibrator.state()))
        self.label, self.answer_threshold = recalibrator.label, recalibrator.answer_threshold
        self.class_names = on.class_names
        self.feature_names = on.feature_names
        self.needs_features = bool(self._maps) or recalibrator.needs_features

    @classmethod
    def load(cls, source: str | Path | bytes | BinaryIO, *, key: bytes | None = None) -> Self:
        """Read a file that ``Recalibrator.save`` wrote, as :func:`lore_core.load_recalibrator`."""
        return cls(load_recalibrator(source, key=key))

    def __repr__(self) -> str:
        return f"Predictor({self.label!r}, classes={len(self.class_names)})"

    def predict(
        self,
        probabilities: ArrayLike,
        features: ArrayLike | None = None,
        *,
        predictions: ArrayLike | None = None,
        coordinates: Any = None,
    ) -> Floats:
        """Return recalibrated probabilities, (n, K): the predicted class stays.

        ``probabilities`` (n, K): the classifier's; a vector is P(y = 1) of two classes.
        ``features`` (n, p): for local methods, in the order of ``feature_names``. ``predictions``
        (n,): predicted classes, where they are not the most probable ones. ``coordinates`` (n, d),
        or a dict of those by name: instead of ``features``, on the map the method was fitted on.
        Raises InputError if classes or features are not as many as in the fit, or something is
        missing.
        """
        given = as_probabilities(probabilities)
        if given.shape[1] != len(self.class_names):
            raise InputError(
                f"'probabilities' must have the {len(self.class_names)} classes of the fit "
                f"({listed(self.class_names, 8)}); got {given.shape[1]} columns."
            )
        predicted = given.argmax(axis=1).astype(np.int64)
        if predictions is not None:
            predicted = as_labels(predictions, given.shape[1], "predictions")
        check_lengths(probabilities=given, predictions=predicted, features=features)
        rows = Rows(
            given,
            predicted,
            self._places(features, coordinates, len(given)),
            None if features is None else np.asarray(features),
        )
        return self._recalibrator.applied_to(rows).probabilities

    def _places(self, features: Any, coordinates: Any, n: int) -> Place:
        """Return the function from a map's name to coordinates, each computed once."""

        @cache
        def place(name: str | None, dimensions: int) -> Floats:
            if coordinates is None:
                points = self._mapped(name, features)
            else:
                points = as_coordinates(chosen_map(coordinates, name, "coordinates"))
            check_lengths(probabilities=np.empty(n), coordinates=points)
            if points.shape[1] != dimensions:
                raise InputError(f"'coordinates' must be (n, {dimensions}); got {points.shape}.")
            return points

        return place

    def _mapped(self, name: str | None, features: Any) -> Floats:
        embedding: Embedding | None = chosen_map(self._maps, name)
        if embedding is None:
            raise InputError(f"'coordinates' must be given: {self.label} holds no map.")
        if features is None:
            raise InputError(
                f"'features' must be given: {self.label} compares each row with neighbours by them."
            )
        return np.asarray(embedding.transform(as_coordinates(features, "features")))
