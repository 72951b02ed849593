"""Any recalibrator, fitted for each group alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lore_core.data.dataset import Dataset
from lore_core.data.validation import InputError, as_group_labels, check_integer, check_lengths
from lore_core.recalibration.base import Recalibrator

__all__ = ["GroupWise"]


class GroupWise(Recalibrator):
    """Fits a copy of a recalibrator on each group's calibration rows.

    Needs the group of every row, when it is fitted and when it is used. Rows of a group that was
    not seen, or too small to fit on, get the method fitted on all rows; :meth:`fallback` says
    which they are.

    Parameters
    ----------
    recalibrator : Recalibrator
        Copied, not changed.
    column : str or sequence of str, optional
        Group column; of several the intersections are taken. None: the dataset's only one.
    min_group_size : int
        Groups of fewer calibration rows are not fitted alone.

    Attributes
    ----------
    by_group_ : dict of str to Recalibrator
        The fitted copies.
    everyone_ : Recalibrator
        The one fitted on all rows.
    sizes_ : dict of str to int
        Calibration rows of every group seen.

    Notes
    -----
    The group-wise baselines of Luo et al., UAI 2022, section 5.2.
    """

    def __init__(
        self,
        recalibrator: Recalibrator,
        column: str | Sequence[str] | None = None,
        min_group_size: int = 20,
    ) -> None:
        if not isinstance(recalibrator, Recalibrator):
            raise InputError(
                "'recalibrator' must be a recalibrator such as TemperatureScaling(); got "
                f"{recalibrator!r}."
            )
        self.recalibrator = recalibrator
        self.column = column
        self.min_group_size = min_group_size
        self.label = f"{recalibrator.label}, group-wise"
        self.needs_embedding = recalibrator.needs_embedding

    def _names(self, dataset: Dataset) -> NDArray[np.object_]:
        frame = dataset.groups
        if frame is None:
            raise InputError(
                f"{type(self).__name__} needs the group of every row; '{dataset.name}' has no "
                "groups."
            )
        known = [str(name) for name in frame.columns]
        if self.column is None:
            if len(known) > 1:
                raise InputError(f"'column' must name one of the group columns {known}; got None.")
            wanted = known
        else:
            wanted = [self.column] if isinstance(self.column, str) else list(self.column)
        missing = [name for name in wanted if name not in known]
        if missing or not wanted:
            raise InputError(
                f"'column' must name group columns of {known}; got {missing or self.column!r}."
            )
        return as_group_labels(frame[wanted].to_numpy())

    def _fit(self, calibration: Dataset, embedding: Any) -> None:
        check_integer(self.min_group_size, "min_group_size")
        names = self._names(calibration)
        self.everyone_ = self.recalibrator.clone().fit(calibration, embedding)
        self.sizes_: dict[str, int] = {}
        self.by_group_: dict[str, Recalibrator] = {}
        for name in np.unique(names.astype(str)):
            rows = names == name
            self.sizes_[str(name)] = int(rows.sum())
            if rows.sum() >= self.min_group_size:
                self.by_group_[str(name)] = self.recalibrator.clone().fit(
                    calibration.rows(rows), _rows(embedding, rows, len(calibration))
                )

    def fallback(self, evaluation: Dataset) -> pd.DataFrame:
        """Which groups get the method fitted on all rows, and how many rows that concerns.

        Parameters
        ----------
        evaluation : Dataset
            Rows to correct.

        Returns
        -------
        DataFrame
            One row a group, largest first: ``group, rows, calibration_rows`` (0: never seen).
        """
        count = pd.Series(self._names(evaluation)).value_counts()
        count = count[[name not in self.by_group_ for name in count.index]]
        return pd.DataFrame(
            {
                "group": count.index.astype(str),
                "rows": count.to_numpy(),
                "calibration_rows": [self.sizes_.get(str(name), 0) for name in count.index],
            }
        )

    def _recalibrate(self, evaluation: Dataset, embedding: Any) -> Dataset:
        names = self._names(evaluation)
        vectors = np.empty_like(evaluation.probabilities)
        left = np.ones(len(evaluation), dtype=bool)
        for name, method in self.by_group_.items():
            rows = np.asarray(names == name)
            if rows.any():
                vectors[rows] = method.recalibrate(
                    evaluation.rows(rows), _rows(embedding, rows, len(evaluation))
                ).probabilities
                left &= ~rows
        if left.any():
            vectors[left] = self.everyone_.recalibrate(
                evaluation.rows(left), _rows(embedding, left, len(evaluation))
            ).probabilities
        return evaluation.with_probabilities(vectors)


def _rows(embedding: Any, rows: NDArray[np.bool_], n: int) -> Any:
    """Take the same rows of one embedding, or of several by name."""
    if embedding is None:
        return None
    if isinstance(embedding, Mapping):
        return {name: _rows(item, rows, n) for name, item in embedding.items()}
    points = np.asarray(getattr(embedding, "coordinates", embedding))
    check_lengths(embedding=points, dataset=np.empty(n))
    return points[rows]
