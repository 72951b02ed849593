"""The neighbours behind one row's local number, by their share of weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from lore_core.data.arrays import Floats, Ints
from lore_core.data.binning import Binning, confidence_bins
from lore_core.data.dataset import TOP_LABEL, Dataset, Target
from lore_core.data.defaults import GAMMA, N_BINS
from lore_core.data.number_text import neighbours_words, percent, share_words
from lore_core.data.validation import (
    InputError,
    Points,
    as_coordinates,
    check_integer,
    check_lengths,
)
from lore_core.data.weights import as_weights, chosen_weights, weighed
from lore_core.metrics.local_error import scaled_bandwidth

#: Rows whose differences are held at once.
_BLOCK = 65_536


@dataclass(frozen=True)
class RowEvidence:
    """One row, and the rows that answer for it."""

    row: int  #: Number among the evaluation rows
    confidence: float  #: What the classifier said
    #: Kernel-weighted means over the rows of its confidence bin; of calibration rows the accuracy
    #: is LoRe's answer. NaN where the bin holds none.
    accuracy: float
    neighbour_confidence: float
    effective_size: float  #: n_eff behind them
    n_rows: int  #: Rows of its bin that could have had weight
    bin_name: str  #: The bin in words
    source: Literal["calibration", "evaluation"]  #: Which rows answer
    #: The heaviest, heaviest first: ``row`` (number within its split), ``share`` of all weight,
    #: ``cumulative`` share, ``distance`` (‖z − z'‖₁ / d: the weight falls to 37 % over γ),
    #: ``confidence, right, predicted, true``.
    neighbours: pd.DataFrame

    @property
    def gap(self) -> float:
        """Weighted confidence − weighted accuracy of the neighbours; of evaluation rows, SLCE."""
        return self.neighbour_confidence - self.accuracy

    @property
    def sentence(self) -> str:
        """What the neighbours say, and how many of them say most of it."""
        if self.n_rows == 0:
            return (
                f"Row {self.row} has confidence {percent(self.confidence)}. No {self.source} row "
                f"has a confidence of {self.bin_name} to compare with."
            )
        share = float(self.neighbours["cumulative"].iloc[-1])
        text = (
            f"LoRe would give {percent(self.accuracy)}"
            if self.source == "calibration"
            else f"its neighbours have mean confidence {percent(self.neighbour_confidence)} and "
            f"accuracy {percent(self.accuracy)}"
        )
        shown = len(self.neighbours)
        listed = "This one row carries" if shown == 1 else f"These {shown} rows carry"
        return (
            f"Row {self.row} has confidence {percent(self.confidence)}; {text}, from "
            f"{self.n_rows:,} {self.source} rows of confidence {self.bin_name}, which weigh as "
            f"much as {neighbours_words(self.effective_size)}. {listed} {share_words(share)} of "
            "the weight."
        )


def row_evidence(
    evaluation: Dataset,
    embedding: Points,
    row: int,
    *,
    calibration: Dataset | None = None,
    calibration_embedding: Points | None = None,
    target: str | int = TOP_LABEL,
    gamma: float = GAMMA,
    n_bins: int = N_BINS,
    binning: Binning = "equal-width",
    n: int = 12,
) -> RowEvidence:
    """List the rows that weigh most in one row's local error, or in LoRe's answer for it.

    ``embedding`` (n_eval, d): coordinates of the evaluation rows. ``row``: its number among them.
    ``calibration``, with ``calibration_embedding`` (n_cal, d): these rows answer, as in
    :class:`~lore_core.recalibration.LoRe`; without, the evaluation rows, the row itself among them.
    ``target``: see :meth:`~lore_core.data.dataset.Dataset.target`. ``gamma, n_bins, binning``: see
    :func:`~lore_core.metrics.local_error.local_errors`; bins are chosen on the rows that answer.
    ``n``: most neighbours listed.

    Raises InputError if ``row`` does not exist, or the coordinates do not fit the rows.

    Row j has the share k_γ(z_i, z_j) / Σ_l k_γ(z_i, z_l) with l over the rows of i's bin; of
    weighted rows k stands for w_j k. Shares stay exact where every k underflows.
    """
    n = check_integer(n, "n")
    row = check_integer(row, "row", minimum=0, maximum=len(evaluation) - 1)
    z = as_coordinates(embedding)
    check_lengths(embedding=z, evaluation=evaluation)
    source, points = evaluation, z
    if calibration is not None:
        source, points = calibration, _calibration_points(calibration, calibration_embedding, z)
    d = z.shape[1]
    own = evaluation.target(target).confidence[row]
    target_rows = source.target(target)
    bins = confidence_bins(target_rows.confidence, n_bins, binning)
    index = int(bins.assign([own])[0])
    members = np.flatnonzero(bins.assign(target_rows.confidence) == index)
    blocks = np.array_split(members, len(members) // _BLOCK + 1)
    distance = np.concatenate([np.abs(points[block] - z[row]).sum(axis=1) for block in blocks])
    share = np.exp((distance.min(initial=np.inf) - distance) / scaled_bandwidth(gamma, d))
    share = weighed(share, chosen_weights(as_weights(target_rows.weights), members))
    effective, accuracy, confidence = 0.0, float("nan"), float("nan")
    if len(members):
        effective = float(share.sum() ** 2 / (share**2).sum())
        share = share / share.sum()
        accuracy, confidence = (
            float(share @ of[members]) for of in (target_rows.outcome, target_rows.confidence)
        )
    # By distance, not by share: far rows' shares may all have become 0.
    first = np.argsort(distance, kind="stable")[:n]
    return RowEvidence(
        row=row,
        confidence=float(own),
        accuracy=accuracy,
        neighbour_confidence=confidence,
        effective_size=effective,
        n_rows=len(members),
        bin_name=bins.name(index),
        source="evaluation" if calibration is None else "calibration",
        neighbours=_listed(source, target_rows, members[first], share[first], distance[first] / d),
    )


def _calibration_points(calibration: Dataset, embedding: Points | None, z: Floats) -> Floats:
    if embedding is None:
        raise InputError("'calibration_embedding' must be given with 'calibration'; got None.")
    points = as_coordinates(embedding, "calibration_embedding")
    check_lengths(calibration_embedding=points, calibration=calibration)
    if points.shape[1] != z.shape[1]:
        raise InputError(
            "'calibration_embedding' must have the dimensions of 'embedding'; got "
            f"{points.shape[1]} and {z.shape[1]}."
        )
    return points


def _listed(
    source: Dataset, target_rows: Target, rows: Ints, share: Floats, distance: Floats
) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "row": rows,
            "share": share,
            "cumulative": np.minimum(np.cumsum(share), 1.0),
            "distance": distance,
            "confidence": target_rows.confidence[rows],
            "right": target_rows.outcome[rows].astype(bool),
            "predicted": [source.class_name(k) for k in source.predictions[rows]],
            "true": [source.class_name(k) for k in source.labels[rows]],
        }
    )
