"""How much resampling and simulating fits an interactive wait."""

from __future__ import annotations

from typing import Any

from lore_core.chance.bootstrap import N_RESAMPLED, affordable_draws
from lore_core.chance.intervals import MOST_TRIED, N_SIMULATED
from lore_core.chance.simulation import affordable_null_draws

#: Fewer resamples of a method say nothing.
_FEWEST = 20


def affordable_intervals(
    n_rows: int, n_dimensions: int | None, *, n_methods: int = 1, wanted: int = N_RESAMPLED
) -> dict[str, Any]:
    """Return the intervals that fit an interactive wait (some seconds).

    Parameters
    ----------
    n_rows : int
        Evaluation rows.
    n_dimensions : int or None
        Embedding dimensions of the local metrics; None without.
    n_methods : int
        Methods that are compared.
    wanted : int
        Upper limit of the bootstrap draws of each.

    Returns
    -------
    dict
        ``n_draws, local_draws, local_intervals`` as :func:`~lore_core.comparison.summary.summarize`
        and :func:`~lore_core.comparison.methods.compare` take them. Where the local metrics are too
        dear the global ones alone have intervals; where these are, ``n_draws`` is 0.
    """

    def draws(dimensions: int | None) -> int:
        return affordable_draws(n_rows, dimensions, wanted=wanted * n_methods) // n_methods

    if n_dimensions is not None and (both := draws(n_dimensions)) >= min(_FEWEST, wanted):
        # Every true error tried is as dear as one bandwidth of a band.
        simulated = affordable_null_draws(n_rows, n_dimensions, MOST_TRIED * n_methods)
        local = simulated >= N_SIMULATED
        return {"n_draws": both, "local_draws": True, "local_intervals": local}
    return {"n_draws": draws(None), "local_draws": False, "local_intervals": False}
