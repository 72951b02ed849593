"""Rows as a recalibrator sees them: numpy arrays alone, from a dataset or from a caller's hands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lore_core.data import probabilities as formulas
from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.validation import as_confidence, as_probabilities, check_lengths

#: A map's name (None: the only or first one) and its dimensions, to coordinates of shape (n, d).
Place = Callable[[str | None, int], Floats]
#: Names of group columns (None: the only ones there are), to one name a row, shape (n,).
Groups = Callable[[Sequence[str] | None], NDArray[np.object_]]


@dataclass(frozen=True)
class Rows:
    """Rows to recalibrate."""

    probabilities: Floats  #: (n, K); checked; each row was divided by its sum
    predicted: Ints  #: (n,); predicted classes, whichever probability is the largest
    place: Place  #: Where the rows lie on a map of so many dimensions
    groups: Groups  #: To which group each row belongs
    features: NDArray[np.floating[Any]] | None = None  #: (n, p); for the methods that look at them
    name: str = "rows"  #: How errors call the rows

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

    def take(self, chosen: Mask) -> Rows:
        """Return the chosen rows."""
        return Rows(
            as_probabilities(self.probabilities[chosen]),
            self.predicted[chosen],
            lambda name, dimensions: self.place(name, dimensions)[chosen],
            lambda columns: self.groups(columns)[chosen],
            None if self.features is None else self.features[chosen],
            self.name,
        )

    # A Dataset divides each row by its sum whenever it is made, which can change the last bit; to
    # give the same numbers these do so equally often.

    def with_confidence(self, confidence: Floats) -> Rows:
        """Replace the confidences, as :meth:`lore_core.Dataset.with_confidence` does."""
        new = as_confidence(confidence)
        check_lengths(confidence=new, probabilities=self.probabilities)
        vectors = formulas.with_confidence(self.probabilities, self.predicted, new)
        return replace(self, probabilities=as_probabilities(vectors, owned=True))

    def with_probabilities(self, probabilities: Floats) -> Rows:
        """Replace the vectors, as :meth:`lore_core.Dataset.with_probabilities` does.

        ``probabilities`` (n, K): made for this, and changed.
        """
        vectors = as_probabilities(probabilities, owned=True)
        vectors /= vectors.sum(axis=1)[:, None]
        return replace(self, probabilities=vectors)
