"""Vector scaling: a weight and a bias for every class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lore_core.data.validation import OnMaps
from lore_core.recalibration.affine_softmax import AffineSoftmax, Penalties, State, fit_affine

if TYPE_CHECKING:
    from lore_core.data.dataset import Dataset
    from lore_core.data.progress import Progress

#: Penalties tried, from temperature scaling on.
_STRENGTHS = (1e5, 1e2, 1e1, 1.0, 0.1)


class VectorScaling(AffineSoftmax):
    """p' = softmax(w ∘ x + b), x = log (p + ε) less its row's mean: temperatures of single classes.

    Parameters
    ----------
    keep_class : bool
        Let no class become more probable than the predicted one.

    Attributes
    ----------
    diagonal_, bias_ : ndarray of shape (K,)
        w and b; where all of w are 1 and all of b are 0 nothing changes.
    strength_ : float
        The penalty that was chosen.

    Notes
    -----
    Minimises the total NLL of the calibration rows + ρ/2 (Σ (w_k − w̄)² + Σ b_k²): the stronger the
    penalty, the nearer to temperature scaling. As published there is none, which costs where a
    class has few rows. ρ is chosen by cross-validation, ε as
    :class:`~lore_core.recalibration.MatrixScaling` does. The most probable class can change.

    A row of weight 2 is not two rows: rows are of weight 1 on average, so that their number stands
    against the penalty, and of two equal rows each would help to predict the other in
    cross-validation.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger, "On calibration of modern neural networks", ICML 2017.
    """

    label = "Vector scaling"
    color = 10

    def _fit(self, calibration: Dataset, embedding: OnMaps, progress: Progress | None) -> State:
        return fit_affine(
            calibration,
            _STRENGTHS,
            lambda strength: Penalties(strength, strength),
            centred=True,
            keep_class=self.keep_class,
        )
