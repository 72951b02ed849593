"""Places where maxima lie, found on one half of the rows, before and after on the other."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from lore_core.comparison.nearer import nearer
from lore_core.comparison.summary import Summary
from lore_core.data.dataset import Dataset
from lore_core.data.weights import chosen_weights
from lore_core.metrics.catalogue import COMPARED
from lore_core.metrics.global_metrics import share_interval

COLUMNS = ["metric", "worst", "place", "rows", "before", "after", "low", "high", "change"]


def try_worst_places(
    summaries: Mapping[str, Summary], datasets: Mapping[str, Dataset]
) -> pd.DataFrame:
    """Hold what a method did to the worst places before it, and to those that are worst after it.

    Parameters
    ----------
    summaries : mapping of str to Summary
        By method; the first is what the others are held against.
    datasets : mapping of str to Dataset
        The same rows as each method left them.

    Returns
    -------
    DataFrame
        One row a method but the first, a maximum, and what it was the maximum of: ``method,
        metric``, ``worst``: "before" or "after", ``place`` in words, how many ``rows`` of it were
        held out, and their gap: ``before``, and ``after`` with its 95 % interval (Wilson) ``low,
        high``. ``change``: surely "nearer" to zero or "further" off, or "open".

    Notes
    -----
    The difference of two maxima has no interval that holds: each is the luckiest of many. A place
    that was found on other rows is one set of rows, and their outcomes are the same before and
    after.
    """
    (first, before), *others = summaries.items()
    records: list[dict[str, Any]] = []
    for method, after in others:
        for metric in COMPARED:
            for when, summary in (("before", before), ("after", after)):
                if metric.name not in summary.worst_places:
                    continue
                place = summary.worst_places[metric.name]
                rows, n = place.held_out, len(place.held_out)
                weights = chosen_weights(datasets[first].weights, rows)
                mean = partial(np.average, weights=weights)
                got, low, high = share_interval(datasets[first].outcome[rows], weights)
                old, new = (float(mean(datasets[m].confidence[rows])) for m in (first, method))
                records.append(
                    {
                        "method": method,
                        "metric": metric.name,
                        "worst": when,
                        "place": place.name,
                        "rows": n,
                        "before": old - got,
                        "after": new - got,
                        "low": new - high,
                        "high": new - low,
                        "change": ("open", "nearer", "further")[int(nearer(low, high, old, new))],
                    }
                )
    return pd.DataFrame(records, columns=["method", *COLUMNS])
