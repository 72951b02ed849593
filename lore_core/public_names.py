"""The public names of the library, each from the module that defines it.

:mod:`lore_core` hands them on when one is first asked for, so that a process which only applies a
shipped recalibrator (:mod:`lore_core.shipping`) does not import what it never uses.
"""

from lore_core import demo, reading
from lore_core.chance.bootstrap import BootstrapDraws, affordable_draws, bootstrap_draws
from lore_core.chance.budget import affordable_intervals
from lore_core.chance.intervals import calibration_intervals
from lore_core.chance.significance import Significance, local_significance
from lore_core.chance.simulation import (
    NullBand,
    NullErrors,
    affordable_null_draws,
    describe_bias,
    describe_maximum,
    null_band,
    null_errors,
)
from lore_core.comparison.groups import compare_groups, group_report, worst_group_error
from lore_core.comparison.methods import Comparison, compare
from lore_core.comparison.runs import compare_runs
from lore_core.comparison.runs_result import PairedDifference, RunsComparison
from lore_core.comparison.summary import (
    Summary,
    Verdict,
    describe_rows,
    local_bin_table,
    summarize,
    verdict,
)
from lore_core.dashboard.launch import Dashboard, launch
from lore_core.data.binning import ConfidenceBins, confidence_bins
from lore_core.data.dataset import Dataset, Target
from lore_core.data.estimator import from_estimator
from lore_core.data.saving import save_npz
from lore_core.data.validation import InputError
from lore_core.embedding import Embedding, embed
from lore_core.metrics.bandwidth import (
    BandwidthCurve,
    BandwidthSpread,
    bandwidth_curve,
    default_gammas,
    mean_bandwidth_curve,
)
from lore_core.metrics.bandwidth_choice import BandwidthSuggestion, suggest_bandwidth
from lore_core.metrics.global_metrics import (
    ReliabilityTable,
    brier_score,
    expected_calibration_error,
    groupwise_calibration_error,
    groupwise_maximum_calibration_error,
    maximum_calibration_error,
    negative_log_likelihood,
    reliability_table,
    wilson_interval,
)
from lore_core.metrics.local_error import (
    LocalErrors,
    average_local_calibration_error,
    local_calibration_error,
    local_errors,
    maximum_local_calibration_error,
)
from lore_core.metrics.rewards import (
    RewardCurve,
    default_ratios,
    describe_rewards,
    reward_curve,
    unsure_threshold,
)
from lore_core.reading import load, load_runs
from lore_core.recalibration import (
    BetaCalibration,
    GroupWise,
    HistogramBinning,
    IsotonicRegression,
    LoRe,
    MCGrad,
    MMCEOptimization,
    NoRecalibration,
    PlattScaling,
    Recalibrator,
    TemperatureScaling,
    TunedLoRe,
    maximum_mean_calibration_error,
    offered_recalibrators,
    standard_recalibrators,
)
from lore_core.recalibration.classifier import LoReClassifier
from lore_core.regions.composition import composition, describe_composition
from lore_core.regions.field import Field, Outline, error_field, rows_outline, smoothed_field
from lore_core.regions.joined_rows import rows_like
from lore_core.regions.region_recalibration import RegionRecalibration, recalibrate_region
from lore_core.regions.row_evidence import RowEvidence, row_evidence
from lore_core.regions.row_tables import class_places, drawn_rows, row_table, worst_rows
from lore_core.regions.search import (
    HeldOut,
    MiscalibratedRegion,
    RegionSearch,
    find_regions,
)
from lore_core.regions.selection import (
    Region,
    RegionReport,
    describe_excess,
    region_report,
    report_by,
)
from lore_core.report import write_report
from lore_core.shipping import Predictor
from lore_core.shipping.files import recalibrate_file
from lore_core.shipping.record import load_recalibrator
from lore_core.variables.gaps import (
    describe_variable,
    gap_along,
    gap_grid,
    rank_variables,
    smooth_gap,
)

__all__ = [
    "BandwidthCurve",
    "BandwidthSpread",
    "BandwidthSuggestion",
    "BetaCalibration",
    "BootstrapDraws",
    "Comparison",
    "ConfidenceBins",
    "Dashboard",
    "Dataset",
    "Embedding",
    "Field",
    "GroupWise",
    "HeldOut",
    "HistogramBinning",
    "InputError",
    "IsotonicRegression",
    "LoRe",
    "LoReClassifier",
    "LocalErrors",
    "MCGrad",
    "MMCEOptimization",
    "MiscalibratedRegion",
    "NoRecalibration",
    "NullBand",
    "NullErrors",
    "Outline",
    "PairedDifference",
    "PlattScaling",
    "Predictor",
    "Recalibrator",
    "Region",
    "RegionRecalibration",
    "RegionReport",
    "RegionSearch",
    "ReliabilityTable",
    "RewardCurve",
    "RowEvidence",
    "RunsComparison",
    "Significance",
    "Summary",
    "Target",
    "TemperatureScaling",
    "TunedLoRe",
    "Verdict",
    "affordable_draws",
    "affordable_intervals",
    "affordable_null_draws",
    "average_local_calibration_error",
    "bandwidth_curve",
    "bootstrap_draws",
    "brier_score",
    "calibration_intervals",
    "class_places",
    "compare",
    "compare_groups",
    "compare_runs",
    "composition",
    "confidence_bins",
    "default_gammas",
    "default_ratios",
    "demo",
    "describe_bias",
    "describe_composition",
    "describe_excess",
    "describe_maximum",
    "describe_rewards",
    "describe_rows",
    "describe_variable",
    "drawn_rows",
    "embed",
    "error_field",
    "expected_calibration_error",
    "find_regions",
    "from_estimator",
    "gap_along",
    "gap_grid",
    "group_report",
    "groupwise_calibration_error",
    "groupwise_maximum_calibration_error",
    "launch",
    "load",
    "load_recalibrator",
    "load_runs",
    "local_bin_table",
    "local_calibration_error",
    "local_errors",
    "local_significance",
    "maximum_calibration_error",
    "maximum_local_calibration_error",
    "maximum_mean_calibration_error",
    "mean_bandwidth_curve",
    "negative_log_likelihood",
    "null_band",
    "null_errors",
    "offered_recalibrators",
    "rank_variables",
    "reading",
    "recalibrate_file",
    "recalibrate_region",
    "region_report",
    "reliability_table",
    "report_by",
    "reward_curve",
    "row_evidence",
    "row_table",
    "rows_like",
    "rows_outline",
    "save_npz",
    "smooth_gap",
    "smoothed_field",
    "standard_recalibrators",
    "suggest_bandwidth",
    "summarize",
    "unsure_threshold",
    "verdict",
    "wilson_interval",
    "worst_group_error",
    "worst_rows",
    "write_report",
]
