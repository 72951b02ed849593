"""Any recalibrator, fitted for each group alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from lore_core.data.rows import Rows
from lore_core.data.rules import Number
from lore_core.data.validation import (
    InputError,
    OnMaps,
    check_each,
    check_integer,
    check_lengths,
    check_name,
)
from lore_core.embedding.result import maps_by_name
from lore_core.recalibration.base import Recalibrator
from lore_core.recalibration.dataset_rows import group_names

if TYPE_CHECKING:
    from lore_core.data.dataset import Dataset
    from lore_core.data.progress import Progress


class State(TypedDict):
    """What is fitted group by group."""

    #: group columns; None: the only one there is
    columns: list[str] | None
    everyone: Recalibrator  #: fitted on all rows
    by_group: dict[str, Recalibrator]  #: fitted on those of a group, where they are enough
    sizes: dict[str, Annotated[int, Number(0, whole=True)]]  #: calibration rows of each group


@dataclass(eq=False, repr=False)
class GroupWise(Recalibrator):
    """Fits a copy of a recalibrator on each group's calibration rows.

    Needs the group of every row in ``fit`` and after. Groups that are new, or too small to fit on,
    get the method fitted on all rows.

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
    Luo et al., UAI 2022, section 5.2. Weights are what they are to the recalibrator.
    """

    needs_groups = True
    state_type = State

    recalibrator: Recalibrator
    column: str | Sequence[str] | None = None
    min_group_size: int = 20

    def __post_init__(self) -> None:
        recalibrator = self.recalibrator
        if not isinstance(recalibrator, Recalibrator):
            raise InputError(
                "'recalibrator' must be a recalibrator such as TemperatureScaling(); got "
                f"{recalibrator!r}."
            )
        self.label = f"{recalibrator.label}, group-wise"
        self.needs_embedding = recalibrator.needs_embedding
        self.takes_weights = recalibrator.takes_weights
        self.needs_features = recalibrator.needs_features
        super().__post_init__()

    def _check_params(self) -> None:
        if self.column is not None:
            named = [self.column] if isinstance(self.column, str) else self.column
            check_each(named, "column", check_name)
        check_integer(self.min_group_size, "min_group_size")

    @property
    def columns(self) -> list[str] | None:
        """The group columns; None: the dataset's only one."""
        if self.column is None:
            return None
        return [self.column] if isinstance(self.column, str) else list(self.column)

    def _fit_on(self, calibration: Dataset, embedding: OnMaps, progress: Progress | None) -> State:
        names = group_names(calibration, self.columns).astype(str)
        everyone = self.recalibrator.clone().fit(calibration, embedding)
        by_group: dict[str, Recalibrator] = {}
        sizes: dict[str, int] = {}
        for name in map(str, np.unique(names)):
            rows = names == name
            sizes[name] = int(rows.sum())
            if sizes[name] >= self.min_group_size:
                known = calibration.rows(rows), _of_rows(embedding, rows)
                by_group[name] = self.recalibrator.clone().fit(*known)
        return {"columns": self.columns, "everyone": everyone, "by_group": by_group, "sizes": sizes}

    @staticmethod
    def used_maps(state: State) -> list[str | None]:
        """Return the names of the maps that any of the copies uses."""
        used = [copy.used_maps(copy.state()) for copy in GroupWise.parts(state)]
        return list(dict.fromkeys(name for names in used for name in names))

    @staticmethod
    def in_cells(state: State, size: int) -> tuple[State, None]:
        """Return the state without the names of groups that nothing was fitted on."""
        sizes = {name: n for name, n in state["sizes"].items() if n >= size}
        by_group = {name: of for name, of in state["by_group"].items() if name in sizes}
        return {**state, "by_group": by_group, "sizes": sizes}, None

    @staticmethod
    def apply(state: State, rows: Rows) -> Rows:
        """Correct the rows of each group by its own copy, others by that of all rows."""
        names = rows.groups(state["columns"])
        vectors = np.empty_like(rows.probabilities)
        left = np.ones(len(rows), dtype=bool)
        for name, method in state["by_group"].items():
            here = np.asarray(names == name)
            if here.any():
                vectors[here] = method.applied_to(rows.take(here)).probabilities
                left &= ~here
        if left.any():
            vectors[left] = state["everyone"].applied_to(rows.take(left)).probabilities
        return rows.with_probabilities(vectors)


def _of_rows(embedding: OnMaps, rows: NDArray[np.bool_]) -> Any:
    taken = {}
    for name, item in maps_by_name(embedding).items():
        points = np.asarray(getattr(item, "coordinates", item))
        check_lengths(embedding=points, dataset=rows)
        taken[name] = points[rows]
    return taken or None
