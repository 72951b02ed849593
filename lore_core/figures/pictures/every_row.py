"""Every row of a map in columns, for pictures that can draw them all."""

from __future__ import annotations

from dataclasses import dataclass

from lore_core.data.arrays import Floats, Ints
from lore_core.data.dataset import TOP_LABEL, Dataset, Target
from lore_core.metrics.local_error import LocalErrors


@dataclass(frozen=True, eq=False)
class EveryRow:
    """Columns of n rows."""

    at: Floats  #: (n, d); places on the map, d 2 or 3
    confidence: Floats  #: (n,); what was promised, in [0, 1]
    outcome: Floats  #: (n,); 1 where it came
    #: (n,); classes said and true; None where one class is aimed at.
    predicted: Ints | None
    label: Ints | None
    class_names: tuple[str, ...]  #: Their names
    bin_index: Ints  #: (n,); confidence bins
    #: (n,); signed local errors, and n_eff behind each.
    error: Floats
    effective_size: Floats

    def __len__(self) -> int:
        return len(self.at)


def every_row(
    dataset: Dataset, aimed: Target, target: str | int, errors: LocalErrors, at: Floats
) -> EveryRow:
    """Take rows into columns.

    ``aimed``: their confidence and outcome of the ``target``. ``at`` (n, d): their places on the
    map.
    """
    is_top = target == TOP_LABEL
    return EveryRow(
        at=at,
        confidence=aimed.confidence,
        outcome=aimed.outcome,
        predicted=dataset.predictions if is_top else None,
        label=dataset.labels if is_top else None,
        class_names=tuple(dataset.class_names),
        bin_index=errors.bin_index,
        error=errors.signed,
        effective_size=errors.effective_size,
    )
