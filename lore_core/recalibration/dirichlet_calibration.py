"""Dirichlet calibration: a matrix on log p, penalised off its diagonal and in its intercept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lore_core.data.validation import OnMaps
from lore_core.recalibration.affine_softmax import AffineSoftmax, Penalties, State, fit_affine

if TYPE_CHECKING:
    from lore_core.data.dataset import Dataset
    from lore_core.data.progress import Progress

#: λ tried.
_STRENGTHS = (1e4, 1e3, 1e2, 1e1, 1.0, 1e-1, 1e-2, 1e-3)


class DirichletCalibration(AffineSoftmax):
    """p' = softmax(W log p + b): right where the p of each class are of a Dirichlet distribution.

    Parameters
    ----------
    keep_class : bool
        Let no class become more probable than the predicted one.

    Attributes
    ----------
    diagonal_, bias_ : ndarray of shape (K,)
        The diagonal of W, and b.
    rest_ : ndarray of shape (K, K) or (K, 32)
        W without its diagonal.
    strength_ : float
        The λ that was chosen.

    Notes
    -----
    Minimises the mean NLL of the calibration rows + λ Σ_j≠k W_jk² / (K (K − 1)) + λ Σ b_k² / K: off
    diagonal and intercept regularisation (ODIR), both of one strength, chosen by cross-validation
    on some 2,000,000/K rows at most. For two classes this is beta calibration without its
    constraints.

    The diagonal is free, as its authors have it: a class that no calibration row has becomes all
    but impossible. Vector and matrix scaling are drawn towards temperature scaling instead.

    With more than 64 classes, what is off the diagonal sees log p along its 32 principal directions
    only. The most probable class can change.

    A row of weight 2 is not two rows: of two equal rows each would help to predict the other in
    cross-validation.

    References
    ----------
    Kull, Perello-Nieto, Kängsepp, Silva Filho, Song, Flach, "Beyond temperature scaling: obtaining
    well-calibrated multiclass probabilities with Dirichlet calibration", NeurIPS 2019.
    """

    label = "Dirichlet calibration"
    color = 11

    def _fit(self, calibration: Dataset, embedding: OnMaps, progress: Progress | None) -> State:
        n, k = calibration.probabilities.shape
        return fit_affine(
            calibration,
            _STRENGTHS,
            lambda strength: Penalties(0.0, 2 * n * strength / k, 2 * n * strength / (k * (k - 1))),
            centred=False,
            keep_class=self.keep_class,
        )
