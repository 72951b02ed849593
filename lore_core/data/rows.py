"""Rows as recalibrators see them: numpy arrays alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lore_core.data import probabilities as formulas
from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.validation import as_confidence, as_probabilities, check_lengths

#: Map name (None: the only or first) and dimensions d, to coordinates (n, d).
Place = Callable[[str | None, int], Floats]


@dataclass(frozen=True)
class Rows:
    """Rows to recalibrate."""

    probabilities: Floats  #: (n, K); checked, divided by row sums
    predicted: Ints  #: (n,); predicted classes, whatever the largest probability
    place: Place  #: Coordinates on a map
    features: NDArray[np.floating[Any]] | None = None  #: (n, p); for methods that use them
    name: str = "rows"  #: In errors

    def __len__(self) -> int:
        return len(self.predicted)

    @property
    def confidence(self) -> Floats:
        """Probability of the predicted class, shape (n,)."""
        return np.asarray(self.probabilities[np.arange(len(self)), self.predicted])

    @property
    def n_classes(self) -> int:
        """K."""
        return int(self.probabilities.shape[1])

    def take(self, chosen: Mask | slice) -> Rows:
        """Return the chosen rows."""
        return Rows(
            as_probabilities(self.probabilities[chosen]),
            self.predicted[chosen],
            lambda name, dimensions: self.place(name, dimensions)[chosen],
            None if self.features is None else self.features[chosen],
            self.name,
        )

    # A Dataset divides rows by their sums at each step, which may change the last bit: so do these.

    def with_confidence(self, confidence: Floats) -> Rows:
        """Replace the confidences, as :meth:`lore_core.Dataset.with_confidence` does."""
        new = as_confidence(confidence)
        check_lengths(confidence=new, probabilities=self.probabilities)
        vectors = formulas.with_confidence(self.probabilities, self.predicted, new)
        return replace(self, probabilities=as_probabilities(vectors, owned=True))

    def with_probabilities(self, probabilities: Floats) -> Rows:
        """Replace the vectors by ``probabilities`` (n, K), which may be changed in place."""
        vectors = as_probabilities(probabilities, owned=True)
        vectors /= vectors.sum(axis=1)[:, None]
        return replace(self, probabilities=vectors)
