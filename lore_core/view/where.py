"""Where the confidence of a view is wrong: rows, subgroups, bandwidths, regions, columns."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from lore_core.comparison.conclusions import conclude_retraining, retraining_in_subgroup
from lore_core.comparison.retraining import GainEstimate, retraining_frame
from lore_core.data.arrays import Floats, Mask
from lore_core.data.dataset import CALIBRATION, TOP_LABEL, Dataset
from lore_core.data.progress import Progress, part_of
from lore_core.data.validation import InputError
from lore_core.embedding.result import Embedding
from lore_core.kernel_sums import laplacian_means
from lore_core.mergeable.cell_sums.summaries import bandwidth_curve_of_sums
from lore_core.metrics import bandwidth, local_error
from lore_core.metrics.global_metrics import ReliabilityTable, reliability_table
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE, LocalErrors
from lore_core.metrics.without_bins import IsotonicReliability, isotonic_reliability
from lore_core.regions.enrichment import composition
from lore_core.regions.field import Field, Outline, error_field, rows_outline, smoothed_field
from lore_core.regions.subgroups import verdict
from lore_core.regions.subgroups.find import Halves, Subgroup, SubgroupSearch, halves_of
from lore_core.regions.subgroups.overall import Against, Overall, overall_gap
from lore_core.regions.variables import attributes
from lore_core.regions.variables.attributes import word_attributes
from lore_core.regions.variables.cutting import Attribute
from lore_core.regions.variables.gaps import gap_along, gap_grid, rank_variables, smooth_gap
from lore_core.view.methods import gains_of
from lore_core.view.view import SumsView, View, scored_by_unit

#: Two columns together: parts of each, rows of a cell that is shown, and least share of such cells.
GRID_PARTS, GRID_MIN_ROWS, GRID_SHARE = 6, 20, 0.5
#: Calibration rows on which bandwidths are compared at most: more change γ by less than a step.
MOST_TRIED_ON = 50_000


def reliability_of(view: View | SumsView, within: Mask | None = None) -> ReliabilityTable:
    """Return confidence bins of the evaluation rows; ``within``: mask of those to count."""
    if isinstance(view, SumsView):
        return view.sums.reliability
    return reliability_table(**view.scored_by_unit, **view.bins, within=within)


def recalibrated_reliability_of(view: View, recalibrated: Dataset, rows: Mask) -> ReliabilityTable:
    """Confidence bins of some evaluation rows (a mask, (n,)) as a method left them."""
    return reliability_table(**scored_by_unit(recalibrated, rows), **view.bins)


def isotonic_of(view: View, recalibrated: Dataset | None = None) -> IsotonicReliability:
    """Return reliability of the evaluation rows, perhaps recalibrated, without bins."""
    rows = view.target_rows if recalibrated is None else recalibrated
    return isotonic_reliability(**scored_by_unit(rows), random_state=view.seed)


def errors_of(view: View) -> LocalErrors:
    """Local errors of the evaluation rows."""
    return local_error.local_errors(**view.scored, embedding=view.points(), **view.local)


def curve_of(
    view: View | SumsView,
    progress: Progress | None = None,
    *,
    confidence: Floats | None = None,
    on: Embedding | None = None,
) -> bandwidth.BandwidthCurve:
    """Return MLCE and ALCE over γ, by default of the target's confidence on the kernel's map."""
    if isinstance(view, SumsView):
        return bandwidth_curve_of_sums(view.sums, progress=part_of(progress, 0.8, 1.0))
    rows = view.target_rows if confidence is None else view.evaluation
    return bandwidth.bandwidth_curve(
        rows.confidence if confidence is None else confidence,
        rows.outcome,
        view.points(on=on),
        view.gammas,
        **view.bins,
        weights=rows.weights,
        progress=progress,
    )


def suggestion_of(view: View, tried_bins: Sequence[int]) -> bandwidth.BandwidthSuggestion | None:
    """Return the γ and bins that predict 50,000 calibration rows best; None where too few."""
    if view.calibration is None:
        return None
    tried = np.random.default_rng(0).permutation(len(view.calibration)) < MOST_TRIED_ON
    try:
        return bandwidth.suggest_bandwidth(
            **scored_by_unit(view.calibration.target(view.target), tried),
            embedding=view.points(CALIBRATION)[tried],
            gammas=view.gammas,
            n_bins=tried_bins,
            binning=view.binning,
        )
    except InputError:  # no bin holds two rows
        return None


def field_of(
    view: View,
    errors: LocalErrors,
    *,
    bin_index: int | None = None,
    on: Embedding | None = None,
    only: Mask | None = None,
    resolution: int = 200,
    min_effective_size: float = MIN_EFFECTIVE_SIZE,
) -> Field:
    """Return the signed local error over a 2-D map: exact for one bin on the kernel's own map."""
    rows = None if bin_index is None else errors.bin_index == bin_index
    look: dict[str, Any] = {
        "rows": rows,
        "resolution": resolution,
        "min_effective_size": min_effective_size,
        "only": only,
    }
    if rows is not None and (on is None or on is view.embedding):
        return error_field(**view.scored, coordinates=view.points(), gamma=view.gamma, **look)
    return smoothed_field(errors.signed, errors.effective_size, view.points(on=on), **look)


def fields_of(view: View, gammas: Sequence[float], on: Embedding) -> list[Field]:
    """Return the fields of all rows on a map at some γ, from one pass over the rows."""
    rows, z = view.target_rows, view.points()
    means = laplacian_means(
        z,
        None,
        rows.confidence - rows.outcome,
        rows.weights,
        bandwidth=local_error.scaled_bandwidth(np.asarray(gammas), z.shape[1]),
        target_groups=reliability_of(view).bins.assign(rows.confidence),
    )
    errors = zip(means.mean, means.effective_size, strict=True)
    return [smoothed_field(*of_rows, view.points(on=on)) for of_rows in errors]


def view_halves(view: View, *, against: Against | Literal["auto"] = "auto") -> Halves:
    """Halve the evaluation rows for the search; depends neither on the map nor on γ."""
    return halves_of(view.evaluation, target=view.target, against=against, random_state=view.seed)


def subgroups_of(
    view: View,
    *,
    against: Against | Literal["auto"] = "auto",
    halves: Halves | None = None,
    progress: Progress | None = None,
) -> SubgroupSearch:
    """Find subgroups of evaluation rows; without a map only columns are searched."""
    halves = view_halves(view, against=against) if halves is None else halves
    return halves.search(view.points_if_any, gamma=view.gamma, progress=progress)


def overall_of(view: View) -> Overall:
    """Test the average of the evaluation rows; depends neither on the map nor on γ."""
    return overall_gap(**view.scored_by_unit, **view.bins, random_state=view.seed)


def verdict_of(
    view: View, search: SubgroupSearch | None, *, overall: Overall | None = None
) -> verdict.Verdict:
    """Say what the evaluation rows come to; ``search``: None if subgroups were not looked for."""
    overall = overall_of(view) if overall is None else overall
    return verdict.conclude(overall, search, top_label=view.target == TOP_LABEL)


def compositions_of(view: View, search: SubgroupSearch) -> dict[int, pd.DataFrame]:
    """Say what regions among subgroups are made of, by their numbers from 0."""
    numbers = [number for number, subgroup in enumerate(search.subgroups) if subgroup.is_region]
    known = telling_of(view) if numbers else []
    return {
        number: composition(view.evaluation, search.mask(number), coded=known) for number in numbers
    }


def subgroup_table(
    view: View, search: SubgroupSearch, known: GainEstimate | None = None
) -> pd.DataFrame:
    """Return subgroups as a table, one row each, with a sentence about each."""
    top_label = view.target == TOP_LABEL
    return search.frame().assign(
        sentence=[verdict.describe_subgroup(subgroup) for subgroup in search.subgroups],
        evidence=[
            verdict.evidence_of(subgroup, search, top_label=top_label)
            for subgroup in search.subgroups
        ],
        retraining=[retraining_words(subgroup, known) for subgroup in search.subgroups],
    )


def retraining_words(subgroup: Subgroup, known: GainEstimate | None) -> str:
    """Say what recalibration can gain at a subgroup, and what not; "" where that is open."""
    return "" if known is None else retraining_in_subgroup(known.losses(subgroup.held_out))


def retraining_of(view: View, known: GainEstimate | None = None) -> tuple[str, pd.DataFrame | None]:
    """Say whether to recalibrate or retrain, and what each step gains."""
    known = gains_of(view.with_(target=TOP_LABEL)) if known is None else known
    losses = None if known is None else known.losses()
    conclusion = conclude_retraining(
        losses,
        has_features=view.dataset.features is not None,
        simple_sample=view.dataset.is_simple_sample,
    )
    return conclusion.sentence, None if losses is None else retraining_frame(losses)


def outlines_of(
    search: SubgroupSearch, points: Floats, most: int | None = None
) -> list[tuple[str, Outline]]:
    """Outline the first subgroups on a map, by number, except scattered ones."""
    drawn = []
    for number, subgroup in enumerate(search.subgroups[:most]):
        outline = rows_outline(points, search.mask(number))
        if outline.holds_most(points[subgroup.rows]):
            drawn.append((str(number + 1), outline))
    return drawn


def ranking_of(view: View, n_parts: int = 12) -> pd.DataFrame:
    """Columns of the evaluation rows by the evidence that the gap differs along them."""
    return rank_variables(view.evaluation, target=view.target, n_bins=n_parts)


def telling_of(view: View) -> list[Attribute]:
    """Columns and words of the evaluation rows that may describe a set of rows."""
    known = attributes.telling_attributes(view.evaluation, target=view.target)
    return [*known, *word_attributes(view.evaluation)]


def along_of(view: View, name: str, n_parts: int) -> tuple[pd.DataFrame, pd.DataFrame | None, bool]:
    """Return gaps along one column: of parts, smoothed (of numbers), and if it tells the truth.

    See :func:`~lore_core.regions.variables.gaps.gap_along` and ``smooth_gap`` there. Along what
    tells the true class any model looks wrong.
    """
    coded = attributes.attribute(view.evaluation, name, n_parts=n_parts)
    curve = None
    if coded.numeric:
        columns = attributes.columns(view.evaluation)
        values = next(values for known, _, values in columns if known == name)
        if pd.api.types.is_numeric_dtype(values):
            curve = smooth_gap(**view.scored_by_unit, values=values.to_numpy(np.float64))
    table = gap_along(**view.scored_by_unit, values=coded)
    truth = attributes.division_of(view.evaluation.labels)
    return table, curve, attributes.division_of(coded.codes) == truth


def grid_of(view: View, across: str, up: str, n_parts: int, min_rows: int) -> pd.DataFrame:
    """Gaps on the combinations of two columns."""
    rows = view.evaluation
    one, two = (attributes.attribute(rows, name, n_parts=n_parts) for name in (across, up))
    return gap_grid(**view.scored_by_unit, values_x=one, values_y=two, min_rows=min_rows)
