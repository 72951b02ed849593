"""How much simulating fits an interactive wait."""

from __future__ import annotations

from typing import Any

from lore_core.inference.intervals import MOST_TRIED, N_SIMULATED
from lore_core.inference.simulation import affordable_null_draws

#: Rows × methods whose global metrics alone are simulated within some seconds.
_MOST_ROWS = 3_000_000


def affordable_intervals(
    n_rows: int, n_dimensions: int | None, *, n_methods: int = 1
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

    Returns
    -------
    dict
        ``n_draws, local_intervals`` as :func:`~lore_core.comparison.summary.summarize` and
        :func:`~lore_core.comparison.methods.compare` take them. Where the local metrics are too
        dear only the global ones are simulated; where these are, ``n_draws`` is 0.
    """
    # Every true error tried is as dear as one bandwidth of a band.
    local = n_dimensions is not None and (
        affordable_null_draws(n_rows, n_dimensions, MOST_TRIED * n_methods) >= N_SIMULATED
    )
    few = n_rows * n_methods <= _MOST_ROWS
    return {"n_draws": N_SIMULATED if few else 0, "local_intervals": local}
