"""Structured matrix scaling: every class's probability may tell of every other class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lore_core.data.validation import OnMaps, check_positive
from lore_core.recalibration.affine_softmax import AffineSoftmax, Penalties, State, fit_affine

if TYPE_CHECKING:
    from lore_core.data.dataset import Dataset
    from lore_core.data.progress import Progress

#: Penalties tried, from temperature scaling on.
_STRENGTHS = (1e6, 1e4, 1e3, 1e2)


class MatrixScaling(AffineSoftmax):
    """p' = softmax(w ∘ x + M x + b), x = log (p + ε) less its row's mean, M penalised most.

    Parameters
    ----------
    keep_class : bool
        Let no class become more probable than the predicted one.
    strength : float, optional
        ρ of the penalties below; by default chosen by cross-validation.

    Attributes
    ----------
    diagonal_, bias_ : ndarray of shape (K,)
        w and b.
    offset_ : float
        ε.
    rest_ : ndarray of shape (K, K) or (K, 32)
        M, of an empty diagonal.
    strength_ : float
        The penalty that was chosen.

    Notes
    -----
    Minimises the total NLL of the calibration rows + ρ/2 Σ M_jk² + ρ/20 (Σ (w_k − w̄)² + Σ b_k²).
    ρ is chosen by cross-validation, on 30,000 rows or some 2,000,000/K at most; the strongest gives
    temperature scaling. Of more rows all are fitted from where these lead. Without a penalty M has
    K² entries and fits noise.

    With more than 64 classes M sees x along its 32 principal directions only: then time and memory
    grow with K, not K². The most probable class can change.

    ε is 0 unless temperature scaling fits the calibration rows better with more: where classes get
    no probability at all, as from forests, log p tells little but that.

    A row of weight 2 is not two rows, see :class:`~lore_core.recalibration.VectorScaling`.

    References
    ----------
    Berta, Holzmüller, Jordan, Bach, "Structured matrix scaling for multi-class calibration", 2025.
    Guo, Pleiss, Sun, Weinberger, "On calibration of modern neural networks", ICML 2017.
    """

    label = "Matrix scaling"
    color = 8

    def __init__(self, *, keep_class: bool = False, strength: float | None = None) -> None:
        self.strength = strength
        super().__init__(keep_class=keep_class)

    def _check_params(self) -> None:
        super()._check_params()
        if self.strength is not None:
            check_positive(self.strength, "strength")

    def _fit(self, calibration: Dataset, embedding: OnMaps, progress: Progress | None) -> State:
        return fit_affine(
            calibration,
            _STRENGTHS if self.strength is None else (float(self.strength),),
            lambda strength: Penalties(strength / 10, strength / 10, strength),
            centred=True,
            keep_class=self.keep_class,
        )
