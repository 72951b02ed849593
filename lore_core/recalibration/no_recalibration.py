"""No recalibration: the classifier as it came, the row every other method is held against."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lore_core.data.rows import Rows
from lore_core.recalibration.base import Recalibrator

if TYPE_CHECKING:
    from lore_core.data.dataset import Dataset


class NoRecalibration(Recalibrator):
    """Leaves every probability as it is. Its state is empty."""

    takes_weights = True
    label = "No recalibration"
    color = 0
    numbers_in_words = "nothing: it changes no confidence"

    def _fit(self, calibration: Dataset) -> Mapping[str, Any]:
        return {}

    @staticmethod
    def apply(state: Any, rows: Rows) -> Rows:
        """Return the rows."""
        return rows
