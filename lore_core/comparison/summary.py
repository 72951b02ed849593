"""Summary of one set of predictions: all metrics, with intervals, and a sentence."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import pandas as pd
from numpy.typing import ArrayLike

from lore_core.data.arrays import MapArray
from lore_core.data.binning import Binning
from lore_core.data.dataset import TOP_LABEL, Dataset
from lore_core.data.defaults import GAMMA, N_BINS
from lore_core.data.progress import Progress
from lore_core.data.shown import Shown
from lore_core.data.validation import Points
from lore_core.inference.intervals import calibration_intervals
from lore_core.metrics.catalogue import ALCE_HELD_OUT, DESCRIBED
from lore_core.metrics.global_metrics import ReliabilityTable
from lore_core.metrics.local_error import LocalErrors
from lore_core.metrics.means import mean_interval
from lore_core.metrics.measured import Measured
from lore_core.metrics.proper_scores import unclipped_nll

_INTERVAL = ("low", "high", "estimate")


@dataclass(frozen=True, repr=False)
class Summary(Shown):
    """Metrics of one dataset at one setting."""

    #: In the order of the catalogue, as far as known: proper scores need probabilities, local
    #: metrics an embedding, maxima over groups their names.
    values: pd.Series
    details: pd.Series  #: ``smooth ECE`` and others that say more but compare nothing
    reliability: ReliabilityTable  #: The bins behind ECE and MCE
    local: LocalErrors | None  #: The rows behind MLCE and ALCE
    n_rows: int  #: Rows measured
    #: 95 % intervals, ``low`` and ``high`` by metric, and the ``estimate`` they are around:
    #: Student's of means of rows, Wilson's of the accuracy and O/E, normal ones of calibration
    #: intercept and slope, joint ones of the worst group's gap; where simulated, those of
    #: :func:`~lore_core.inference.intervals.calibration_intervals`.
    intervals: pd.DataFrame
    #: Metrics that are means of rows, row by row or, where rows have units, unit by unit
    #: (:func:`~lore_core.data.units.mean_values`), for paired differences. None after
    #: :meth:`without_row_values`.
    row_values: pd.DataFrame | None
    #: Rows whose p of the true class the NLL clips, and the NLL without that.
    unclipped_nll: tuple[int, float] = (0, math.nan)

    def with_simulated(self, simulated: pd.DataFrame) -> Summary:
        """Return the same with simulated intervals of calibration errors."""
        limits = pd.concat([self.intervals, simulated[list(_INTERVAL)]])
        known = [metric.name for metric in DESCRIBED if metric.name in limits.index]
        return dataclasses.replace(self, intervals=limits.loc[known])

    def map_arrays(self, map_array: MapArray) -> Summary:
        """Return the same, whose arrays of rows ``map_array`` has moved."""
        rows = self.row_values
        if rows is not None:
            rows = pd.DataFrame(map_array(rows.to_numpy().T).T, columns=rows.columns, copy=False)
        local = None if self.local is None else self.local.map_arrays(map_array)
        return dataclasses.replace(self, local=local, row_values=rows)

    def without_row_values(self) -> Summary:
        """Return the same without ``row_values``: of many rows they are most of it."""
        return dataclasses.replace(self, row_values=None)


def summarize(
    dataset: Dataset,
    embedding: Points | None = None,
    *,
    target: str | int = TOP_LABEL,
    gamma: float = GAMMA,
    n_bins: int = N_BINS,
    binning: Binning = "equal-width",
    groups: ArrayLike | None = None,
    min_group_size: int = 1,
    n_draws: int = 0,
    local_intervals: bool = True,
    local: LocalErrors | None = None,
    details: bool = True,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Summary:
    """Every metric of one dataset, with intervals.

    ``embedding`` (n, d): coordinates of its rows; adds the local metrics. ``target``: see
    :meth:`~lore_core.data.dataset.Dataset.target`. ``gamma, n_bins, binning``: see
    :func:`~lore_core.metrics.local_error.local_errors`. ``groups, min_group_size``: names (n,) or
    (n, g) add the largest gap and the maximum group-wise MCE over groups of so many rows (the gap:
    at least :data:`~lore_core.metrics.global_metrics.FEWEST_GROUP_ROWS`). ``n_draws,
    random_state``: simulations, 39 or more, of each true error tried for the intervals of the
    calibration errors, and their seed; 0 for none. ``local_intervals``: simulate those of the local
    metrics too, which is slow on many rows. ``local``: known local errors of these rows, bins and
    γ. ``details``: measure those too that compare nothing.
    """
    settings = (target, gamma, n_bins, binning, groups, min_group_size)
    known_local = [] if local is None else [local]
    rows = Measured(dataset, embedding, *settings, known_local=known_local)
    chosen = [m for m in DESCRIBED if rows.allows(m) and (details or m.compared)]
    # (Kernel sums first: nothing else is in memory yet.)
    values = {m.name: m.measure(rows) for m in sorted(chosen, key=lambda m: m is not ALCE_HELD_OUT)}
    row_values = rows.row_values()
    limits = {name: mean_interval(row_values[name])[1:] for name in row_values}
    limits |= {m.name: m.interval(rows) for m in chosen if m.interval}
    simulated = None
    if n_draws:
        simulated = calibration_intervals(
            **rows.binned_by_unit,
            embedding=embedding if local_intervals else None,
            gamma=gamma,
            n_draws=n_draws,
            random_state=random_state,
            progress=progress,
        )
    known = [metric.name for metric in chosen if metric.name in limits]
    summary = Summary(
        values=pd.Series({m.name: values[m.name] for m in chosen if m.compared}),
        details=pd.Series({m.name: values[m.name] for m in chosen if not m.compared}, dtype=float),
        reliability=rows.reliability,
        local=None if embedding is None else rows.local_errors,
        n_rows=len(dataset),
        intervals=pd.DataFrame(
            [(*limits[name], values[name]) for name in known], known, list(_INTERVAL)
        ),
        row_values=row_values,
        unclipped_nll=unclipped_nll(dataset),
    )
    return summary if simulated is None else summary.with_simulated(simulated)
