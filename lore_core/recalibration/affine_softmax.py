"""Vector scaling, matrix scaling and Dirichlet calibration: softmax(W x + b) by its penalties."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from lore_core.data.arrays import Floats, Ints
from lore_core.data.probabilities import by_blocks, softmax
from lore_core.data.rows import Rows
from lore_core.data.rules import Sizes, refuse
from lore_core.data.validation import check_flag, check_positive
from lore_core.recalibration.affine_problem import Penalties, State, centred_logs, fit_affine
from lore_core.recalibration.base import Recalibrator

if TYPE_CHECKING:
    from lore_core.data.dataset import Dataset


@dataclass(eq=False, repr=False)
class AffineSoftmax(Recalibrator):
    """What the three have in common."""

    #: Penalties tried, from the strongest on: those of the first two start at temperature scaling.
    strengths: ClassVar[Sequence[float]]
    centred = True  #: Whether the mean of each row's log-probabilities is taken off first

    takes_weights = True
    state_type = State

    _: KW_ONLY
    keep_class: bool = False
    strength: float | None = None

    def _check_params(self) -> None:
        check_flag(self.keep_class, "keep_class")
        if self.strength is not None:
            check_positive(self.strength, "strength")

    @abstractmethod
    def _penalties(self, strength: float, n: int, k: int) -> Penalties: ...

    def _fit_on(self, calibration: Dataset, *_: object) -> State:
        n, k = calibration.probabilities.shape
        tried = self.strengths if self.strength is None else (float(self.strength),)
        penalties = {strength: self._penalties(strength, n, k) for strength in tried}
        return fit_affine(calibration, penalties, centred=self.centred, keep_class=self.keep_class)

    @staticmethod
    def apply(state: State, rows: Rows) -> Rows:
        """Change the logarithms of the probabilities, and take their softmax."""
        return rows.with_probabilities(
            by_blocks(partial(_corrected, state), rows.probabilities, rows.predicted)
        )

    @staticmethod
    def check_state(_state: State, name: str, sizes: Sizes) -> None:
        """Refuse a rest that is of other directions than there are."""
        wide = sizes["u"] or sizes["K"]
        if sizes["r"] not in (0, wide):
            raise refuse(f"{name}: rest", f"0 or {wide} columns", sizes["r"])


class VectorScaling(AffineSoftmax):
    """p' = softmax(w ∘ x + b), x = log (p + ε) less its row's mean: temperatures of single classes.

    ``keep_class``, ``strength``: see :class:`~lore_core.recalibration.MatrixScaling`.

    Fitted: ``diagonal_, bias_`` (K,), w and b; 1 and 0 change nothing.

    The published method has no penalty (docs/recalibrators.md, "How they work"). The most probable
    class can change. A row of weight 2 is not two rows: equal rows would help to predict each other
    in cross-validation.

    Guo, Pleiss, Sun, Weinberger, "On calibration of modern neural networks", ICML 2017.
    """

    label = "Vector scaling"
    color = 10
    strengths = (1e5, 1e2, 1e1, 1.0, 0.1)

    def _penalties(self, strength: float, n: int, k: int) -> Penalties:
        return Penalties(strength, strength)


class MatrixScaling(AffineSoftmax):
    """p' = softmax(w ∘ x + M x + b), x = log (p + ε) less its row's mean, M penalised most.

    ``keep_class``: let no class become more probable than the predicted one. ``strength``: ρ of the
    penalties; by default chosen by cross-validation, which leaves ``strength_``. Fitted:
    ``diagonal_, bias_`` (K,), w and b; ``offset_``, ε; ``rest_`` (K, K) or (K, 32), M, of an empty
    diagonal.

    Penalties and the choice of ρ and ε: docs/recalibrators.md ("How they work"). The most probable
    class can change. A row of weight 2 is not two rows, see VectorScaling.

    Berta, Holzmüller, Jordan, Bach, "Structured matrix scaling for multi-class calibration", 2025.
    """

    label = "Matrix scaling"
    color = 8
    strengths = (1e6, 1e4, 1e3, 1e2)

    def _penalties(self, strength: float, n: int, k: int) -> Penalties:
        return Penalties(strength / 10, strength / 10, strength)


class DirichletCalibration(AffineSoftmax):
    """p' = softmax(W log p + b): right where the p of each class are of a Dirichlet distribution.

    ``keep_class``, ``strength`` (λ): see :class:`~lore_core.recalibration.MatrixScaling`.

    Fitted: ``diagonal_, bias_`` (K,), the diagonal of W, and b; ``rest_`` (K, K) or (K, 32), W
    without its diagonal.

    Penalties: docs/recalibrators.md ("How they work"). The diagonal is free, as published: a class
    without calibration rows becomes all but impossible. The most probable class can change. A row
    of weight 2 is not two rows, see VectorScaling.

    Kull, Perello-Nieto, Kängsepp, Silva Filho, Song, Flach, NeurIPS 2019.
    """

    label = "Dirichlet calibration"
    color = 11
    strengths = (1e4, 1e3, 1e2, 1e1, 1.0, 1e-1, 1e-2, 1e-3)
    centred = False

    def _penalties(self, strength: float, n: int, k: int) -> Penalties:
        return Penalties(0.0, 2 * n * strength / k, 2 * n * strength / (k * (k - 1)))


def _corrected(state: State, probabilities: Floats, predicted: Ints) -> Floats:
    x = centred_logs(probabilities, state["offset"], state["centred"])
    z = x * state["diagonal"] + state["bias"]
    if state["rest"].size:
        z += (x @ state["directions"] if state["directions"].size else x) @ state["rest"].T
    vectors = softmax(z)
    return kept_on_top(vectors, predicted) if state["keep_class"] else vectors


def kept_on_top(probabilities: Floats, predicted: Ints) -> Floats:
    """Let no class be more probable than the predicted one; least Kullback–Leibler divergence."""
    index = np.arange(len(predicted))
    own = probabilities[index, predicted]
    others = probabilities.copy()
    others[index, predicted] = -1.0
    order = np.sort(others, axis=1)[:, ::-1]
    # Means of the predicted class and the j largest others.
    means = (own[:, None] + np.cumsum(order[:, :-1], axis=1)) / np.arange(2, order.shape[1] + 1)
    level = np.maximum(own, means.max(axis=1))
    vectors = np.minimum(probabilities, level[:, None])
    vectors[index, predicted] = level
    return np.asarray(vectors)
