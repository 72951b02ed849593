"""Recalibrators: one module each, one interface."""

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
]
