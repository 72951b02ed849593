"""Recalibrators: one module each, one interface."""

from __future__ import annotations

from lore_core.binning import Binning
from lore_core.recalibration.base import Recalibrator
from lore_core.recalibration.histogram_binning import HistogramBinning
from lore_core.recalibration.lore import LocalAccuracy, LoRe
from lore_core.recalibration.no_recalibration import NoRecalibration
from lore_core.recalibration.temperature_scaling import TemperatureScaling

__all__ = [
    "HistogramBinning",
    "LoRe",
    "LocalAccuracy",
    "NoRecalibration",
    "Recalibrator",
    "TemperatureScaling",
    "standard_recalibrators",
]


def standard_recalibrators(
    gamma: float = 0.2, n_bins: int = 15, binning: Binning = "equal-width"
) -> list[Recalibrator]:
    """Return one of each method, not yet fitted, in the order they are compared.

    Parameters
    ----------
    gamma : float
        Bandwidth of LoRe.
    n_bins, binning
        Confidence bins of the methods that use them.
    """
    return [
        NoRecalibration(),
        TemperatureScaling(),
        HistogramBinning(n_bins, binning),
        LoRe(gamma, n_bins, binning),
    ]
