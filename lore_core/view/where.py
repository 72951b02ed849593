"""Where the confidence of a view is wrong: rows, places, bandwidths, regions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd

from lore_core.comparison.conclusions.retraining import retraining_at_place
from lore_core.comparison.retraining import Taught
from lore_core.data.arrays import Floats, Mask
from lore_core.data.dataset import CALIBRATION, TOP_LABEL, Dataset
from lore_core.data.progress import Progress
from lore_core.data.weights import chosen_weights
from lore_core.embedding.result import Embedding
from lore_core.metrics.bandwidth import BandwidthCurve, bandwidth_curve
from lore_core.metrics.bandwidth_choice import BandwidthSuggestion, has_pairs, suggest_bandwidth
from lore_core.metrics.corp import IsotonicReliability, isotonic_reliability
from lore_core.metrics.global_metrics import ReliabilityTable, reliability_table
from lore_core.metrics.local_error import LocalErrors, local_errors
from lore_core.regions.enrichment import composition
from lore_core.regions.evidence import RowEvidence, row_evidence
from lore_core.regions.field import Field, Outline, error_field, rows_outline, smoothed_field
from lore_core.regions.rows import rows_like
from lore_core.regions.subgroups.average import Against
from lore_core.regions.subgroups.find import Halves, Place, PlaceSearch, halves_of
from lore_core.regions.subgroups.overall import Overall, overall_gap
from lore_core.regions.subgroups.verdict import (
    Verdict,
    conclude,
    describe_place,
    evidence_of as words_of_evidence,
)
from lore_core.view.variables import telling_of
from lore_core.view.view import View


def reliability_of(view: View, within: Mask | None = None) -> ReliabilityTable:
    """Confidence bins of the evaluation rows.

    ``within`` (n,): mask of the rows to count; by default all.
    """
    aimed = view.aimed
    return reliability_table(
        aimed.confidence, aimed.outcome, **view.bins, within=within, weights=aimed.weights
    )


def isotonic_of(view: View) -> IsotonicReliability:
    """Reliability of the evaluation rows without bins."""
    aimed = view.aimed
    return isotonic_reliability(
        aimed.confidence, aimed.outcome, weights=aimed.weights, random_state=view.seed
    )


def recalibrated_isotonic_of(view: View, recalibrated: Dataset) -> IsotonicReliability:
    """Reliability without bins of the evaluation rows as a method left them.

    ``recalibrated``: its evaluation rows after the method.
    """
    c, a = recalibrated.confidence, recalibrated.outcome
    return isotonic_reliability(c, a, weights=recalibrated.weights, random_state=view.seed)


def errors_of(view: View) -> LocalErrors:
    """Local errors of the evaluation rows."""
    c, a = view.aimed.confidence, view.aimed.outcome
    return local_errors(c, a, view.points(), **view.local, weights=view.aimed.weights)


def curve_of(view: View, progress: Progress | None = None) -> BandwidthCurve:
    """MLCE and ALCE of the evaluation rows over γ."""
    c, a = view.aimed.confidence, view.aimed.outcome
    return bandwidth_curve(
        c,
        a,
        view.points(),
        view.gammas,
        **view.bins,
        weights=view.aimed.weights,
        progress=progress,
    )


def recalibrated_curve_of(
    view: View,
    confidence: Floats,
    *,
    on: Embedding | None = None,
    progress: Progress | None = None,
) -> BandwidthCurve:
    """MLCE and ALCE over γ of the evaluation rows as a method left them.

    ``confidence`` (n,): of the evaluation rows after the method. ``on``: map to measure on; by
    default the one the kernel works on.
    """
    rows = view.evaluation
    return bandwidth_curve(
        confidence,
        rows.outcome,
        view.points(on=on),
        view.gammas,
        **view.bins,
        weights=rows.weights,
        progress=progress,
    )


def recalibrated_reliability_of(view: View, recalibrated: Dataset, rows: Mask) -> ReliabilityTable:
    """Confidence bins of some evaluation rows as a method left them.

    ``recalibrated``: its evaluation rows after the method. ``rows`` (n,): mask of those that are
    meant.
    """
    c, a = recalibrated.confidence[rows], recalibrated.outcome[rows]
    weights = chosen_weights(recalibrated.weights, rows)
    return reliability_table(c, a, **view.bins, weights=weights)


def suggestion_of(view: View, tried_bins: Sequence[int]) -> BandwidthSuggestion | None:
    """Return the γ and bins that predict calibration rows best; None where they are too few."""
    if view.calibration is None:
        return None
    aimed = view.calibration.target(view.target)
    if not has_pairs(aimed.confidence, tried_bins, view.binning):
        return None
    return suggest_bandwidth(
        aimed.confidence,
        aimed.outcome,
        view.points(CALIBRATION),
        view.gammas,
        n_bins=tried_bins,
        binning=view.binning,
        weights=aimed.weights,
    )


def field_of(
    view: View,
    errors: LocalErrors,
    *,
    bin_index: int | None = None,
    on: Embedding | None = None,
    only: Mask | None = None,
    resolution: int = 200,
) -> Field:
    """Signed local error at every place of a 2-D map: ``on``, or the one the kernel works on.

    Exact for one confidence bin on the kernel's own map; else the rows' own errors, averaged.
    ``only`` is a mask of rows: where none of them is the nearest row there is no value. With
    :meth:`PlaceSearch.inside <lore_core.regions.PlaceSearch.inside>` that leaves what is beyond
    chance.
    """
    rows = None if bin_index is None else errors.bin_index == bin_index
    if rows is not None and (on is None or on is view.embedding):
        return error_field(
            view.aimed.confidence,
            view.aimed.outcome,
            view.points(),
            gamma=view.gamma,
            rows=rows,
            resolution=resolution,
            only=only,
            weights=view.aimed.weights,
        )
    return smoothed_field(
        errors.signed,
        errors.effective_size,
        view.points(on=on),
        rows=rows,
        resolution=resolution,
        only=only,
    )


def view_halves(view: View, *, against: Against | Literal["auto"] = "auto") -> Halves:
    """Halve the evaluation rows to be searched: what depends neither on the map nor on γ.

    ``against``: see :func:`~lore_core.regions.subgroups.find.find_places`.
    """
    return halves_of(view.evaluation, target=view.target, against=against, random_state=view.seed)


def places_of(
    view: View,
    *,
    against: Against | Literal["auto"] = "auto",
    halves: Halves | None = None,
    progress: Progress | None = None,
) -> PlaceSearch:
    """Find where the confidence of the evaluation rows is worse than on average.

    ``view``: what is looked at; without a map only columns are searched. ``against``, ``progress``:
    see :func:`~lore_core.regions.find_places`. ``halves``: from :func:`view_halves`, where they
    are kept.
    """
    halves = view_halves(view, against=against) if halves is None else halves
    return halves.search(view.points_if_any, gamma=view.gamma, progress=progress)


def overall_of(view: View) -> Overall:
    """Test the average of the evaluation rows: what depends neither on the map nor on γ."""
    c, a = view.aimed.confidence, view.aimed.outcome
    weights = view.aimed.weights
    return overall_gap(c, a, **view.bins, weights=weights, random_state=view.seed)


def verdict_of(
    view: View, search: PlaceSearch | None, *, overall: Overall | None = None
) -> Verdict:
    """Say what the evaluation rows come to.

    ``search``: from :func:`places_of`; None where places were not looked for. ``overall``: from
    :func:`overall_of`, where it is kept.
    """
    overall = overall_of(view) if overall is None else overall
    return conclude(overall, search, top_label=view.target == TOP_LABEL)


def compositions_of(view: View, search: PlaceSearch) -> dict[int, pd.DataFrame]:
    """Say what the regions among places are made of, by their numbers from 0; slices say it."""
    numbers = [number for number, place in enumerate(search.places) if place.is_region]
    known = telling_of(view) if numbers else []
    return {
        number: composition(view.evaluation, search.mask(number), coded=known) for number in numbers
    }


def listed_places(view: View, search: PlaceSearch, known: Taught | None = None) -> pd.DataFrame:
    """Return places as a table, one row each, with the sentences that are said of them.

    ``known``: from :func:`~lore_core.view.methods.taught_of`, to say what recalibration can gain.
    """
    top_label = view.target == TOP_LABEL
    return search.frame().assign(
        sentence=[describe_place(place, top_label=top_label) for place in search.places],
        evidence=[words_of_evidence(place, search) for place in search.places],
        retraining=[retraining_words(place, known) for place in search.places],
    )


def retraining_words(place: Place, known: Taught | None) -> str:
    """Say what recalibration can gain at a place, and what it cannot; "" where that is open.

    ``known``: see :func:`listed_places`.
    """
    return "" if known is None else retraining_at_place(known.losses(place.held_out))


def outlines_of(
    search: PlaceSearch, points: Floats, most: int | None = None
) -> list[tuple[str, Outline]]:
    """Find where the first places lie on a map, by their numbers; none of those that lie scattered.

    ``points`` (n, 2): all rows on the map. ``most``: how many places are looked at.
    """
    drawn = []
    for number, place in enumerate(search.places[:most]):
        outline = rows_outline(points, search.mask(number))
        if outline.holds_most(points[place.rows]):
            drawn.append((str(number + 1), outline))
    return drawn


def calibration_rows_of(view: View, place: Place) -> Mask:
    """Find a place's calibration rows, a mask of shape (n_cal,); empty where there are none.

    By what its columns hold; of a region those whose nearest evaluation row on the map is one of
    the place.
    """
    if view.calibration is None:
        return np.zeros(0, dtype=bool)
    if not place.is_region:
        return place.holds(view.calibration)
    inside = np.isin(np.arange(len(view.evaluation)), place.rows)
    return rows_like(view.points(), inside, view.points(CALIBRATION))


def evidence_of(view: View, row: int, *, by_calibration: bool = False) -> RowEvidence:
    """Rows that weigh most behind one evaluation row.

    ``by_calibration``: whether calibration rows answer, as in LoRe, or evaluation rows, as in the
    local error.
    """
    points = view.points()
    if by_calibration:
        points = points.copy()
        chosen = slice(row, row + 1)
        points[chosen] = view.as_new(view.embedding, chosen).coordinates
    return row_evidence(
        view.evaluation,
        points,
        row,
        calibration=view.calibration if by_calibration else None,
        calibration_embedding=view.points(CALIBRATION) if by_calibration else None,
        target=view.target,
        **view.local,
    )
