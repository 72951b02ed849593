"""Recalibrators: one module each, one interface."""

from __future__ import annotations

from lore_core.data.binning import Binning
from lore_core.recalibration.base import Recalibrator
from lore_core.recalibration.beta_calibration import BetaCalibration
from lore_core.recalibration.group_wise import GroupWise
from lore_core.recalibration.histogram_binning import HistogramBinning
from lore_core.recalibration.isotonic_regression import IsotonicRegression
from lore_core.recalibration.lore import LocalAccuracy, LoRe
from lore_core.recalibration.mcgrad_boosting import MCGrad
from lore_core.recalibration.mmce_optimization import (
    MMCEOptimization,
    maximum_mean_calibration_error,
)
from lore_core.recalibration.no_recalibration import NoRecalibration
from lore_core.recalibration.platt_scaling import PlattScaling
from lore_core.recalibration.rivals import installed_rivals
from lore_core.recalibration.temperature_scaling import TemperatureScaling
from lore_core.recalibration.tuned_lore import TunedLoRe

__all__ = [
    "BetaCalibration",
    "GroupWise",
    "HistogramBinning",
    "IsotonicRegression",
    "LoRe",
    "LocalAccuracy",
    "MCGrad",
    "MMCEOptimization",
    "NoRecalibration",
    "PlattScaling",
    "Recalibrator",
    "TemperatureScaling",
    "TunedLoRe",
    "installed_rivals",
    "maximum_mean_calibration_error",
    "offered_recalibrators",
    "standard_recalibrators",
]


def standard_recalibrators(
    gamma: float = 0.2, n_bins: int = 15, binning: Binning = "equal-width"
) -> list[Recalibrator]:
    """Return one of each method, not yet fitted, in the order they are compared.

    Parameters
    ----------
    gamma : float
        Bandwidth of plain LoRe; the tuned one chooses its own.
    n_bins, binning
        Confidence bins of the methods that use them; tuned LoRe chooses its own number too.
    """
    return [
        NoRecalibration(),
        TemperatureScaling(),
        PlattScaling(),
        IsotonicRegression(),
        HistogramBinning(n_bins, binning),
        MMCEOptimization(),
        LoRe(gamma, n_bins, binning),
        TunedLoRe(binning=binning),
    ]


def offered_recalibrators(
    gamma: float = 0.2, n_bins: int = 15, binning: Binning = "equal-width"
) -> list[Recalibrator]:
    """Return the standard recalibrators, then those of other libraries that are installed.

    Parameters
    ----------
    gamma, n_bins, binning
        See :func:`standard_recalibrators`.
    """
    return [*standard_recalibrators(gamma, n_bins, binning), *installed_rivals()]
