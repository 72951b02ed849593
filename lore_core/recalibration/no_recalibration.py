"""No recalibration: the classifier as it came, the row every other method is held against."""

from __future__ import annotations

from typing import Any

from lore_core.data.dataset import Dataset
from lore_core.recalibration.base import Recalibrator

__all__ = ["NoRecalibration"]


class NoRecalibration(Recalibrator):
    """Leaves every probability as it is."""

    label = "No recalibration"

    def _fit(self, calibration: Dataset, embedding: Any) -> None:
        """Nothing to learn."""

    def _recalibrate(self, evaluation: Dataset, embedding: Any) -> Dataset:
        return evaluation
