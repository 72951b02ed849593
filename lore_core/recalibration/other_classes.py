"""How the probability that is left over is shared among the classes that were not predicted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Self

import numpy as np

from lore_core.data.arrays import Floats, Ints
from lore_core.data.probabilities import PROBABILITY_FLOOR, by_blocks, log_share, log_softmax
from lore_core.data.rows import Rows
from lore_core.data.rules import POSITIVE, Number
from lore_core.data.weights import as_weights, chosen_weights, weighed

if TYPE_CHECKING:
    from lore_core.data.dataset import Dataset

#: What is added to every probability; the first only keeps logarithms finite.
_OFFSETS = (1e-12, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
#: Temperatures tried.
_BOUNDS = (0.05, 20.0)


@dataclass(frozen=True)
class OtherClasses:
    """Shares of the other classes, softened so that they fit the wrong rows.

    q_k = (p_k + ε)^{1/T} / Σ_{j≠ŷ} (p_j + ε)^{1/T} minimises −Σ_{wrong} log q_y + ρ (log T)²/2, a
    normal prior for few wrong rows. The confidence is another factor of the likelihood.
    """

    temperature: Annotated[float, POSITIVE] = 1.0  #: T; above 1 the shares become more alike
    #: ε, added first: what a class is worth that the classifier gave no probability.
    offset: Annotated[float, Number(0.0)] = _OFFSETS[0]

    @classmethod
    def fit(cls, calibration: Dataset, precision: float = 1.0) -> Self:
        """Fit T and ε (ρ: ``precision``); two classes, or no wrong row, change nothing."""
        from scipy.optimize import minimize_scalar

        wrong = calibration.outcome == 0
        if calibration.n_classes == 2 or not wrong.any():
            return cls()
        weights = chosen_weights(as_weights(calibration.weights), wrong)
        rows = calibration.rows(wrong)
        best, lowest = cls(), np.inf
        for offset in _OFFSETS:
            logs = _logs_of_the_others(rows.probabilities, rows.predictions, offset)

            def loss(log_temperature: float, logs: Floats = logs) -> float:
                share = log_share(logs, rows.labels, np.exp(-log_temperature))
                fitted = weighed(np.maximum(share, np.log(PROBABILITY_FLOOR)), weights).sum()
                return float(precision * log_temperature**2 / 2 - fitted)

            found = minimize_scalar(loss, bounds=tuple(np.log(_BOUNDS)), method="bounded")
            # Where shares do not depend on the offset, the smallest one wins.
            if found.fun < lowest - 1e-9:
                best, lowest = cls(float(np.exp(found.x)), offset), float(found.fun)
        return best

    def shares(self, probabilities: Floats, predicted: Ints) -> Floats:
        """Return shares q, shape (n, K), of the classifier's p (n, K); 0 at the predicted class."""
        logs = _logs_of_the_others(probabilities, predicted, self.offset)
        return np.asarray(np.exp(log_softmax(logs / self.temperature)))

    def complete(self, rows: Rows, confidence: Floats) -> Rows:
        """Give the predicted classes new confidences, and the others their shares of the rest."""
        return rows.with_probabilities(
            by_blocks(self._completed, rows.probabilities, rows.predicted, confidence)
        )

    def _completed(self, probabilities: Floats, predicted: Ints, confidence: Floats) -> Floats:
        vectors = self.shares(probabilities, predicted) * (1.0 - confidence)[:, None]
        vectors[np.arange(len(vectors)), predicted] = confidence
        return vectors


def _logs_of_the_others(probabilities: Floats, predicted: Ints, offset: float) -> Floats:
    """Log(p + offset), shape (n, K), −inf at the predicted class."""
    logs = np.log(probabilities + offset)
    logs[np.arange(len(probabilities)), predicted] = -np.inf
    return np.asarray(logs)
