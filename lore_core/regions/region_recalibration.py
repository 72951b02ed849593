"""Preview of recalibrating the rows of one region alone, with intervals."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from lore_core.data.arrays import Ints, Mask
from lore_core.data.dataset import Dataset
from lore_core.data.number_text import gap_words, signed_points
from lore_core.data.units import chosen_units, mean_values
from lore_core.data.validation import InputError, check_lengths
from lore_core.data.weights import chosen_weights
from lore_core.metrics.catalogue import COMPARED
from lore_core.metrics.global_metrics import share_interval
from lore_core.metrics.means import mean_interval
from lore_core.metrics.measured import Measured
from lore_core.metrics.metric import RowMean
from lore_core.recalibration import NoRecalibration, PlattScaling, Recalibrator, TemperatureScaling
from lore_core.regions.selection import RegionReport, region_report

BEFORE = "as it is"
#: Two parameters fitted on fewer calibration rows would be noise.
MIN_ROWS = 50
#: Probabilities that are recalibrated at a time.
_AT_ONCE = 2**20


@dataclass(frozen=True)
class RegionRecalibration:
    """Simple recalibrators fitted on one region only, and what they do to its other rows."""

    #: One row a method, first the confidence as it is: ``method``; ``gap`` and, where whole
    #: probability vectors are known, ``NLL`` and ``Brier``, each with its 95 % interval (``gap_low,
    #: gap_high`` …) and its paired difference from the first row (``<metric>_change`` with ``_low,
    #: _high``).
    table: pd.DataFrame
    #: The calibration rows inside (fitted on), as they are: they had no part in the choice of the
    #: region.
    calibration: RegionReport
    n_measured: int  #: Evaluation rows inside

    @property
    def sentence(self) -> str:
        """Which rows were used for what, and what came of it, in plain words."""
        report, before = self.calibration, self.table.iloc[0]
        low, high = report.gap_low, report.gap_high
        verdict = "they disagree, so the region may be chance"
        if low <= 0 <= high:
            verdict = "they alone do not show an error"
        elif (low > 0) == (before["gap"] > 0):
            verdict = "they confirm it"
        best = self.table.iloc[1:].sort_values("gap", key=abs).iloc[0]
        return (
            f"Fitted on the {report.n_rows:,} calibration rows inside, measured on the "
            f"{self.n_measured:,} evaluation rows inside. The calibration rows, which played no "
            f"part in drawing the region, have a gap of {gap_words(report.gap, low, high)}: "
            f"{verdict}. {best['method']} takes the gap from {signed_points(before['gap'])} to "
            f"{gap_words(best['gap'])}."
        )


def recalibrate_region(
    calibration: Dataset,
    evaluation: Dataset,
    calibration_inside: ArrayLike,
    evaluation_inside: ArrayLike,
) -> RegionRecalibration:
    """Fit temperature and Platt scaling on the calibration rows of a region, measure on its others.

    ``calibration_inside, evaluation_inside``: masks of the rows inside. Raises InputError where
    :func:`why_too_few` says why.

    The gap's interval is Wilson's around the accuracy; NLL, Brier and paired differences have
    t-intervals of their row means, without the uncertainty of the fitted parameters. A model with a
    recalibrated patch is a new model: check it as a whole.
    """
    # (The methods look at nothing else, and a region may be most of a million rows.)
    calibration, evaluation = calibration.predictions_only(), evaluation.predictions_only()
    fit_rows = np.asarray(calibration_inside, dtype=bool)
    test_rows = np.asarray(evaluation_inside, dtype=bool)
    check_lengths(calibration_inside=fit_rows, calibration=calibration)
    check_lengths(evaluation_inside=test_rows, evaluation=evaluation)
    too_few = why_too_few(fit_rows, test_rows)
    if too_few is not None:
        raise InputError(too_few)
    own, rows = calibration.rows(fit_rows), np.flatnonzero(test_rows)
    counted = chosen_weights(evaluation.weights, rows), chosen_units(evaluation.units, rows)
    share = share_interval(evaluation.outcome[rows], *counted)
    losses = {BEFORE: _losses(evaluation, rows, NoRecalibration().fit(own))}
    for method in (TemperatureScaling(), PlattScaling()):
        losses[method.label] = _losses(evaluation, rows, method.fit(own))
    records = [_record(label, of, losses[BEFORE], share) for label, of in losses.items()]
    report = region_report(
        calibration.confidence,
        calibration.outcome,
        fit_rows,
        weights=calibration.weights,
        units=calibration.units,
    )
    return RegionRecalibration(pd.DataFrame(records), report, len(rows))


def why_too_few(calibration_inside: Mask, evaluation_inside: Mask) -> str | None:
    """Say why a region, two masks of rows, cannot be recalibrated on its own; None where it can."""
    n_fitted = int(calibration_inside.sum())
    if n_fitted < MIN_ROWS:
        return (
            f"a region must hold at least {MIN_ROWS} calibration rows to be recalibrated on its "
            f"own; this one holds {n_fitted:,}."
        )
    if not evaluation_inside.any():
        return "a region must hold evaluation rows to measure on; this one holds none."
    return None


def _losses(evaluation: Dataset, rows: Ints, method: Recalibrator) -> pd.DataFrame:
    """Return ``gap`` and proper losses after a method, a line a row or unit, linearised."""

    def of_some(chosen: Ints) -> pd.DataFrame:
        known = Measured(method.recalibrate(evaluation.rows(chosen)))
        found = {"gap": known.scores.confidence - known.scores.outcome}
        for metric in COMPARED:
            if metric.proper and isinstance(metric.measure, RowMean) and known.allows(metric):
                found[metric.name] = metric.measure.of_row(known)
        return pd.DataFrame(found)

    n_parts = -(-len(rows) * evaluation.n_classes // _AT_ONCE)
    raw = pd.concat(map(of_some, np.array_split(rows, n_parts)), ignore_index=True)
    counted = chosen_weights(evaluation.weights, rows), chosen_units(evaluation.units, rows)
    return pd.DataFrame({name: mean_values(raw[name].to_numpy(), *counted) for name in raw})


def _record(
    label: str, losses: pd.DataFrame, first: pd.DataFrame, share: tuple[float, float, float]
) -> dict[str, Any]:
    record: dict[str, Any] = {"method": label}
    for name in map(str, losses):
        bounds = mean_interval(losses[name])
        if name == "gap":
            right, low, high = share
            confidence = bounds[0] + right
            bounds = bounds[0], confidence - high, confidence - low
        for part, ends in (
            (name, bounds),
            (f"{name}_change", mean_interval(losses[name] - first[name])),
        ):
            record |= dict(zip((part, f"{part}_low", f"{part}_high"), ends, strict=True))
    return record
