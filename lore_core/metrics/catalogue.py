"""Catalogue of every metric of one set of predictions: what all tables, pages and files ask.

A new metric is a function in its own module and one entry here. No numpy at import, for the
command's help.
"""

from functools import partial

from lore_core.data.number_text import NATS, PERCENT, PLAIN, SIGMAS, Unit
from lore_core.metrics.metric import Metric, OverBandwidths, RowMean

MAX_GROUPWISE = "max group-wise MCE"
#: Smaller groups do not count for maxima over groups: theirs are mostly noise.
MIN_GROUP_SIZE = 30
#: Smaller cells of group and confidence bin do not count for the worst cell's gap.
MIN_CELL_ROWS = 10
#: Smaller confidence bins are not called the worst or the best.
MIN_BIN_ROWS = 30


ACCURACY = Metric(
    name="accuracy",
    explanation="Share of evaluation rows predicted right.",
    unit=PERCENT,
    direction="higher",
    measure=lambda rows: rows.right[0],
    interval=lambda rows: rows.right[1:],
)
MEAN_CONFIDENCE = Metric(
    name="mean_confidence",
    label="mean confidence",
    explanation="Mean confidence of the evaluation rows.",
    unit=PERCENT,
    direction=None,
    measure=RowMean(lambda rows: rows.scores.confidence),
)
NLL = Metric(
    name="NLL",
    explanation="Negative log-likelihood: mean −log p of the true class, in nats; p is clipped at "
    "1e-6.",
    unit=NATS,
    needs=("probabilities",),
    measure=RowMean(lambda rows: rows.row_nll),
    proper=True,
)
BRIER = Metric(
    name="Brier",
    explanation="Brier score: mean squared distance of the probabilities to the truth.",
    unit=PLAIN,
    needs=("probabilities",),
    measure=RowMean(lambda rows: rows.row_brier),
    proper=True,
)
ALCE_HELD_OUT = Metric(
    name="ALCE held out",
    label="held-out ALCE",
    explanation="What of the ALCE is no noise: the mean gap of one half of the rows, each in the "
    "direction that its neighbours in the other half show. About 0 where every confidence is "
    "right.",
    needs=("features",),
    measure=RowMean(lambda rows: rows.held_out_gap(local=True)),
)
ECE_HELD_OUT = Metric(
    name="ECE held out",
    label="held-out ECE",
    explanation="What of the ECE is no noise: the mean gap of one half of the rows, each in the "
    "direction that its confidence bin shows in the other half. About 0 where every confidence is "
    "right.",
    measure=RowMean(lambda rows: rows.held_out_gap(local=False)),
)
MLCE_SUPPORTED = Metric(
    name="MLCE supported",
    label="supported MLCE",
    explanation="The largest local calibration error of the rows with enough effective neighbours.",
    needs=("features",),
    measure=lambda rows: rows.local_errors.supported_maximum(),
    chance="mlce_supported",
    curve=OverBandwidths(
        key="mlce_supported",
        title="Supported MLCE",
        meaning="the largest local error over rows with enough effective neighbours",
        at_zero="",  # no row has neighbours there
        at_infinity="γ → ∞: MCE of bins with enough rows",
    ),
)
WORST_GROUP_GAP = Metric(
    name="max group gap",
    label="worst group's gap",
    explanation="The largest |confidence − accuracy| of a group, groups of few rows left out.",
    needs=("groups",),
    measure=lambda rows: float(rows.counted_gaps["gap"].abs().max()),
    interval=lambda rows: rows.largest_group_gap_interval,
)
ALCE = Metric(
    name="ALCE",
    explanation="Average local calibration error: the mean over rows, each compared with its "
    "neighbours.",
    needs=("features",),
    measure=lambda rows: rows.local_errors.average,
    chance="alce",
    curve=OverBandwidths(
        key="alce",
        title="ALCE",
        meaning="the mean local error over rows",
        at_zero="γ → 0: single rows, mean |c − a|",
        at_infinity="γ → ∞: ECE",
    ),
)
ECE = Metric(
    name="ECE",
    explanation="Expected calibration error: mean |confidence − accuracy| over confidence bins, "
    "weighted by rows.",
    measure=lambda rows: rows.reliability.expected_calibration_error,
    chance="ece",
)
SMOOTH_ECE = Metric(
    name="smooth ECE",
    explanation="The calibration error after smoothing along the confidence, without bins.",
    measure=lambda rows: rows.smooth_error,
    compared=False,
)
_OF_ONE_MODEL = partial(Metric, direction=None, unit=PLAIN, compared=False)
OBSERVED_OVER_EXPECTED = _OF_ONE_MODEL(
    name="O/E",
    explanation="Accuracy over mean confidence: 1 if right on average, below 1 if overconfident.",
    measure=lambda rows: rows.right[0] / rows.expected,
    interval=lambda rows: (rows.right[1] / rows.expected, rows.right[2] / rows.expected),
)
INTERCEPT = _OF_ONE_MODEL(
    name="calibration intercept",
    explanation="What the log-odds of confidences lack to be right on average: overconfident < 0.",
    measure=lambda rows: rows.line[0][0],
    interval=lambda rows: rows.line[0][1:],
)
SLOPE = _OF_ONE_MODEL(
    name="calibration slope",
    explanation="How log-odds of being right rise with the confidence's: below 1 if too extreme.",
    measure=lambda rows: rows.line[1][0],
    interval=lambda rows: rows.line[1][1:],
)
MULTICALIBRATION = Metric(
    name="multicalibration error",
    explanation="The largest cumulative error of all rows and of each group, in its standard "
    "deviations: 1.6 on average if it alone is looked at and calibrated.",
    unit=SIGMAS,
    needs=("groups",),
    measure=lambda rows: rows.multicalibration,
    compared=False,
)
MCE = Metric(
    name="MCE",
    explanation="Maximum calibration error: the gap of the worst confidence bin, however few rows "
    "it holds: small ones make it large by noise.",
    measure=lambda rows: rows.reliability.maximum_calibration_error,
    chance="mce",
)
WORST_CELL = Metric(
    name="max cell gap",
    label="worst cell's gap",
    explanation="The largest |confidence − accuracy| of a cell of group and confidence bin, cells "
    f"of fewer than {MIN_CELL_ROWS} rows left out.",
    needs=("groups",),
    measure=lambda rows: float(rows.cells["gap"].abs().max()),  # NaN without any
)
MLCE = Metric(
    name="MLCE",
    explanation="Maximum local calibration error: the largest of all rows, however few neighbours. "
    "Even a perfectly calibrated model shows a large one at small γ.",
    needs=("features",),
    measure=lambda rows: rows.local_errors.maximum,
    chance="mlce",
    curve=OverBandwidths(
        key="mlce",
        title="MLCE",
        choice="MLCE of all rows",
        meaning="the largest local error over rows",
        at_zero="γ → 0: single rows, max |c − a|",
        at_infinity="γ → ∞: MCE",
    ),
    unfiltered_maximum=True,
)
WORST_GROUP_MCE = Metric(
    name=MAX_GROUPWISE,
    explanation="The MCE of the worst group, over cells of group and bin however few their rows: "
    "the paper's maximum, which chance makes large.",
    needs=("groups",),
    measure=lambda rows: rows.largest_group_error,
    unfiltered_maximum=True,
)

#: What one model is described by, in the order of every table: stable metrics first, the paper's
#: unfiltered maxima last.
DESCRIBED = (
    ACCURACY,
    MEAN_CONFIDENCE,
    NLL,
    BRIER,
    ALCE_HELD_OUT,
    ECE_HELD_OUT,
    MLCE_SUPPORTED,
    WORST_GROUP_GAP,
    WORST_CELL,
    ALCE,
    ECE,
    SMOOTH_ECE,
    OBSERVED_OVER_EXPECTED,
    INTERCEPT,
    SLOPE,
    MULTICALIBRATION,
    MCE,
    MLCE,
    WORST_GROUP_MCE,
)
CATALOGUE = {metric.name: metric for metric in DESCRIBED}
"""Every metric, by its name in tables and files."""


def unit_of(name: str) -> Unit:
    """Return the unit of a column; plain numbers if it is no metric."""
    metric = CATALOGUE.get(name)
    return PLAIN if metric is None else metric.unit


def words_of(name: str) -> str:
    """Return the name of a column within text."""
    return CATALOGUE[name].words if name in CATALOGUE else name


def less_is_better(name: str) -> bool:
    """Return whether a column is a metric of which less is better."""
    return name in CATALOGUE and CATALOGUE[name].direction == "lower"


#: What every method is measured by: ``Summary.values``, comparisons and their files.
COMPARED = tuple(metric for metric in DESCRIBED if metric.compared)
#: What one model is shown by at a glance, with features and without.
TILES = (ACCURACY, ECE, ALCE_HELD_OUT, MLCE_SUPPORTED)
GLOBAL_TILES = (ACCURACY, ECE, NLL, BRIER)
#: Methods × metrics in the report: errors that do not rest on single rows.
REPORT_TABLE = tuple(
    metric for metric in COMPARED if metric.direction == "lower" and not metric.unfiltered_maximum
)
#: Methods × metrics on the pages; last what recalibration does not change.
METHOD_TABLE = (*REPORT_TABLE, *(metric for metric in COMPARED if metric.direction == "higher"))
#: The same over many runs, whose means make the unfiltered maxima steadier.
RUNS_TABLE = (*METHOD_TABLE, *(metric for metric in COMPARED if metric.unfiltered_maximum))
#: What recalibrators are ranked by: the first the data allow.
RANKED_BY = (*(metric for metric in DESCRIBED if metric.proper), ECE)
#: By key; drawn against γ.
CURVES = {metric.curve.key: metric.curve for metric in DESCRIBED if metric.curve is not None}
