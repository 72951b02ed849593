"""Estimates of what recalibration and retraining could gain, from calibration rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.dataset import TOP_LABEL, Dataset, Target
from lore_core.data.probabilities import by_blocks
from lore_core.data.validation import InputError
from lore_core.kernel_sums.schedule import limited_threads
from lore_core.metrics.gains import LossParts, are_enough, loss_parts
from lore_core.recalibration.logistic import BetaCalibration

#: At most so many calibration rows for the trees, and features in each split.
_MOST_ROWS, _MOST_FEATURES = 20_000, 64
#: Steps, in the order of :func:`retraining_frame`.
STEPS = ("recalibrating the confidence", "class and features beyond that", "both")


@dataclass(frozen=True, eq=False)
class GainEstimate:
    """What models of calibration rows predict for other rows; every array has the shape (n,)."""

    confidence: Floats
    outcome: Floats
    recalibrated: Floats  #: A curve of the confidence (beta calibration)
    #: Trees on the features and the predicted class, of outcome − ``recalibrated``.
    explained: Floats

    def losses(self, rows: Mask | Ints | slice = slice(None)) -> LossParts | None:
        """Split the squared error of ``rows`` chosen without their outcomes; None if too few."""
        c, a = self.confidence[rows], self.outcome[rows]
        parts = self.recalibrated[rows], self.explained[rows]
        return loss_parts(c, a, *parts) if are_enough(a) else None


def retraining_frame(losses: LossParts) -> pd.DataFrame:
    """Return what each step gains as a table, one row a step.

    ``brier, brier_low, brier_high`` (of the features a lower bound); what is below 0, noise, is 0.
    """
    parts = losses.calibration, losses.grouping, losses.both
    gains = [(max(of.value, 0.0), of.low, of.high) for of in parts]
    index = pd.Index(STEPS, name="step")
    return pd.DataFrame(gains, index, columns=["brier", "brier_low", "brier_high"])


def estimate_gains(
    calibration: Dataset, rows: Dataset, *, target: str | int = TOP_LABEL, random_state: int = 0
) -> GainEstimate:
    """Learn on calibration rows what recalibration and what a model of the features could mend.

    ``calibration, rows``: to learn on, and to predict; with the same features, or none. ``target``:
    see :meth:`~lore_core.data.dataset.Dataset.target`. ``random_state``: seed of the trees and of
    the 20,000 rows they see at most. Raises InputError if rows have weights or units.

    Beta calibration of the confidence, then gradient-boosted trees (50 of at most 8 leaves of at
    least 20 rows) of the rest. Better models find more of what there is, none finds more.
    """
    from sklearn.ensemble import HistGradientBoostingRegressor

    known, new = calibration.target(target), rows.target(target)
    if not (calibration.is_simple_sample and rows.is_simple_sample):
        raise InputError(
            "recalibrate or retrain is not said of weighted rows or those of units: its bounds "
            "were tried on rows that count alike and alone. Leave weights and units out "
            '(mapping={"weight": "", "unit": ""}).'
        )
    curve = BetaCalibration().fit(_two_classes(known))
    before, after = (
        curve.recalibrate(_two_classes(one)).probabilities[:, 1] for one in (known, new)
    )
    inputs = np.column_stack(_inputs(calibration))
    chosen = np.random.default_rng(random_state).permutation(len(inputs))[:_MOST_ROWS]
    # (Threads that wait for each other at each tree of each block would take eight times as long.)
    with limited_threads(1):
        trees = HistGradientBoostingRegressor(
            max_iter=50,
            max_leaf_nodes=8,
            min_samples_leaf=20,
            l2_regularization=1.0,
            max_features=min(1.0, _MOST_FEATURES / inputs.shape[1]),
            early_stopping=False,
            random_state=random_state,
        ).fit(inputs[chosen], (known.outcome - before)[chosen])
        # (Trees copy rows to their own number type.)
        explained = by_blocks(lambda *part: trees.predict(np.column_stack(part)), *_inputs(rows))
    return GainEstimate(new.confidence, new.outcome, after, explained)


def _two_classes(target: Target) -> Dataset:
    c = target.confidence
    return Dataset(np.column_stack([1 - c, c]), target.outcome.astype(np.int64))


def _inputs(rows: Dataset) -> list[NDArray[Any]]:
    predicted = rows.predictions[:, None].astype(np.float32)
    return [predicted] if rows.features is None else [rows.features, predicted]
