"""Two sets of confidences side by side: shipped without rows and with them; sums of two models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from lore_core.comparison.summary import summarize
from lore_core.data.dataset import Dataset
from lore_core.data.number_text import points_words, rows_words, share_words, with_points
from lore_core.data.validation import OnMaps
from lore_core.embedding.result import chosen_map
from lore_core.metrics.catalogue import CATALOGUE
from lore_core.recalibration.base import Recalibrator
from lore_core.shipping.predictor import Predictor

#: What the two are compared by, where it is known.
MEASURED = ("NLL", "Brier", "ALCE")


@dataclass(frozen=True)
class ConfidenceDifference:
    """What leaving the rows out changed; means and shares go by the weights of rows."""

    n_rows: int  #: Rows both were applied to
    mean: float
    greatest: float
    above: dict[float, float]  #: Share of the rows that differ by more than 0.01 and 0.05
    table: pd.DataFrame  #: Metrics of the method itself (first line) and of what is shipped

    def sentence(self, rows: str = "evaluation") -> str:
        """Return all of it in words; ``rows`` says which they are."""
        on = rows_words(self.n_rows).replace(" ", f" {rows} ", 1)
        if self.greatest == 0:
            return f"Without single rows, the confidences of {on} are exactly the same."
        shares = ", ".join(
            f"{share_words(share) if share else 'none'} of them by more than {with_points(above)}"
            for above, share in self.above.items()
        )
        mean = points_words(self.mean, 1) if self.mean >= 0.0005 else "under 0.1"
        changes = []
        for name in map(str, self.table):
            metric, (before, after) = CATALOGUE[name], self.table[name]
            changes.append(f"{name} {metric.text(after)} instead of {metric.text_alone(before)}")
        return (
            f"Without single rows, the confidences of {on} differ by {mean} points on average and "
            f"{points_words(self.greatest, 1)} at most; {shares}. {', '.join(changes)}."
        )


def confidence_difference(
    exact: Recalibrator,
    shipped: Recalibrator,
    rows: Dataset,
    embedding: OnMaps = None,
    **local: Any,
) -> ConfidenceDifference:
    """Compare what is shipped with the method itself, both as a file applies them.

    ``exact, shipped``: fitted, with their feature maps. ``embedding``: coordinates of ``rows``, for
    the ALCE on the first map. ``local``: ``gamma, n_bins, binning`` of :func:`.summarize`.
    """
    before, after = (
        rows.with_probabilities(
            Predictor(method).predict(
                rows.probabilities, rows.features, predictions=rows.predictions
            )
        )
        for method in (exact, shipped)
    )
    off = np.abs(after.confidence - before.confidence)
    on = chosen_map(embedding, None)
    found = [summarize(changed, on, **local).values for changed in (before, after)]
    table = pd.DataFrame(found, index=["exact", "shipped"])
    return ConfidenceDifference(
        n_rows=len(off),
        mean=float(np.average(off, weights=rows.weights)),
        greatest=float(off.max()),
        above={
            limit: float(np.average(off > limit, weights=rows.weights)) for limit in (0.01, 0.05)
        },
        table=table[[name for name in MEASURED if name in table]],
    )
