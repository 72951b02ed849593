"""What every recalibrator can do: fit on calibration rows, then change confidences elsewhere."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from lore_core.data.dataset import Dataset
from lore_core.data.validation import InputError
from lore_core.embedding.result import Embedding
from lore_core.recalibration.fitted_on import FittedOn

__all__ = ["Recalibrator"]

#: Whether a file gets the feature maps, or the maps it gets.
Maps = bool | Embedding | Mapping[str, Embedding]


class Recalibrator(ABC):
    """Learns on calibration rows how to correct confidences, and corrects those of other rows.

    The predicted class of a row never changes; only its confidence does.
    """

    #: What tables and legends call the method. Set another on an instance to compare two settings.
    label: str = ""
    #: Whether ``fit`` and ``recalibrate`` need an embedding.
    needs_embedding: bool = False
    #: Whether they need the rows' features themselves.
    needs_features: bool = False

    #: Rows the method was fitted on; 0 before ``fit``.
    n_rows_: int = 0
    #: Names of what those rows consisted of, and the maps that placed them; None before ``fit``.
    fitted_on_: FittedOn | None = None

    def fit(self, calibration: Dataset, embedding: Any = None) -> Self:
        """Learn from calibration rows.

        Parameters
        ----------
        calibration : Dataset
            Rows the method may look at, outcomes included.
        embedding : Embedding, array-like of shape (n, d), or dict of those by name, optional
            Their coordinates, for methods that are local. Of several maps a method uses the one
            it was told to, or the first.
        """
        self._fit(calibration, embedding)
        self.n_rows_ = len(calibration)
        self.fitted_on_ = FittedOn.of(calibration, embedding)
        return self

    def recalibrate(self, evaluation: Dataset, embedding: Any = None) -> Dataset:
        """Return ``evaluation`` with corrected probabilities; its labels are not looked at.

        Parameters
        ----------
        evaluation : Dataset
            Rows to correct.
        embedding : Embedding, array-like of shape (n, d), or dict of those by name, optional
            Their coordinates in the embedding the method was fitted on.
        """
        if self.n_rows_ == 0:
            raise InputError(f"{type(self).__name__} must be fitted before it can recalibrate.")
        return self._recalibrate(evaluation, embedding)

    def to_bytes(self, *, maps: Maps = True) -> bytes:
        """Return the content of the file that :meth:`save` writes.

        Parameters
        ----------
        maps : bool, Embedding or dict of those by name
            See :meth:`save`.
        """
        from lore_core.shipping.record import recorded

        return recorded(self, maps=maps)

    def save(self, path: str | Path, *, maps: Maps = True) -> None:
        """Write the fitted method to one file, without pickle.

        :func:`lore_core.load_recalibrator` reads it back; :class:`lore_core.shipping.Predictor`
        applies it with numpy alone.

        Parameters
        ----------
        path : str or Path
            Where to; an existing file is replaced, at once or not at all.
        maps : bool, Embedding or dict of those by name
            Also keep the feature maps, so that new rows need only their features; without them
            their coordinates must be given. The maps themselves, where ``fit`` got only their
            coordinates.

        Raises
        ------
        InputError
            If the method is not fitted, belongs to another library, has a map that no file can
            hold, or the file cannot be written.

        Notes
        -----
        A local method consists of its calibration rows: their confidences, outcomes and
        coordinates are in the file (for t-SNE also their features). Treat it like those rows.
        """
        from lore_core.data.atomic_files import write_bytes

        write_bytes(path, self.to_bytes(maps=maps))

    @property
    def is_global(self) -> bool:
        """True for a method that looks at the predictions only."""
        return not (self.needs_embedding or self.needs_features)

    def clone(self) -> Self:
        """Return the same method with the same settings, not fitted."""
        settings = {}
        for name in inspect.signature(type(self)).parameters:
            value = getattr(self, name)
            settings[name] = value.clone() if isinstance(value, Recalibrator) else value
        fresh = type(self)(**settings)
        fresh.label = self.label
        return fresh

    @abstractmethod
    def _fit(self, calibration: Dataset, embedding: Any) -> None: ...

    @abstractmethod
    def _recalibrate(self, evaluation: Dataset, embedding: Any) -> Dataset: ...
