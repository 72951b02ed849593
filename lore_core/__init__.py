"""LoRe Lens: see and fix the local miscalibration of classifiers.

The reference implementation of Luo, Bhatnagar, Bai, Zhao, Wang, Xiong, Savarese, Ermon, Schmerling,
Pavone, "Local Calibration: Metrics and Recalibration", UAI 2022.

>>> import lore_core as lore
>>> data = lore.load(["model_cal.npz", "model_test.npz"])   # doctest: +SKIP
"""

from importlib.metadata import PackageNotFoundError, version

from lore_core import demo, reading
from lore_core.bandwidth import (
    BandwidthCurve,
    BandwidthSuggestion,
    bandwidth_curve,
    default_gammas,
    suggest_bandwidth,
)
from lore_core.binning import ConfidenceBins, confidence_bins
from lore_core.bootstrap import BootstrapDraws, affordable_draws, bootstrap_draws
from lore_core.comparison import Comparison, compare
from lore_core.dataset import Dataset, Target
from lore_core.decisions import (
    RewardCurve,
    default_ratios,
    describe_rewards,
    reward_curve,
    unsure_threshold,
)
from lore_core.embedding import Embedding, embed
from lore_core.estimator import from_estimator
from lore_core.fairness import compare_groups, group_report, worst_group_error
from lore_core.field import Field, error_field, smoothed_field
from lore_core.launch import Dashboard, launch
from lore_core.local_error import (
    LocalErrors,
    average_local_calibration_error,
    local_calibration_error,
    local_errors,
    maximum_local_calibration_error,
)
from lore_core.metrics import (
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
from lore_core.reading import load, load_runs
from lore_core.recalibration import (
    GroupWise,
    HistogramBinning,
    IsotonicRegression,
    LoRe,
    MMCEOptimization,
    NoRecalibration,
    PlattScaling,
    Recalibrator,
    TemperatureScaling,
    TunedLoRe,
    maximum_mean_calibration_error,
    standard_recalibrators,
)
from lore_core.rows import class_places, drawn_rows, row_table, worst_rows
from lore_core.runs import RunsComparison, compare_runs
from lore_core.selection import Region, RegionReport, region_report, report_by
from lore_core.summary import (
    Summary,
    Verdict,
    describe_rows,
    local_bin_table,
    summarize,
    verdict,
)
from lore_core.validation import InputError
from lore_core.writing import save_npz

try:
    __version__ = version("lore-lens")
except PackageNotFoundError:  # a checkout that was never installed
    __version__ = "0+unknown"

__all__ = [
    "BandwidthCurve",
    "BandwidthSuggestion",
    "BootstrapDraws",
    "Comparison",
    "ConfidenceBins",
    "Dashboard",
    "Dataset",
    "Embedding",
    "Field",
    "GroupWise",
    "HistogramBinning",
    "InputError",
    "IsotonicRegression",
    "LoRe",
    "LocalErrors",
    "MMCEOptimization",
    "NoRecalibration",
    "PlattScaling",
    "Recalibrator",
    "Region",
    "RegionReport",
    "ReliabilityTable",
    "RewardCurve",
    "RunsComparison",
    "Summary",
    "Target",
    "TemperatureScaling",
    "TunedLoRe",
    "Verdict",
    "__version__",
    "affordable_draws",
    "average_local_calibration_error",
    "bandwidth_curve",
    "bootstrap_draws",
    "brier_score",
    "class_places",
    "compare",
    "compare_groups",
    "compare_runs",
    "confidence_bins",
    "default_gammas",
    "default_ratios",
    "demo",
    "describe_rewards",
    "describe_rows",
    "drawn_rows",
    "embed",
    "error_field",
    "expected_calibration_error",
    "from_estimator",
    "group_report",
    "groupwise_calibration_error",
    "groupwise_maximum_calibration_error",
    "launch",
    "load",
    "load_runs",
    "local_bin_table",
    "local_calibration_error",
    "local_errors",
    "maximum_calibration_error",
    "maximum_local_calibration_error",
    "maximum_mean_calibration_error",
    "negative_log_likelihood",
    "reading",
    "region_report",
    "reliability_table",
    "report_by",
    "reward_curve",
    "row_table",
    "save_npz",
    "smoothed_field",
    "standard_recalibrators",
    "suggest_bandwidth",
    "summarize",
    "unsure_threshold",
    "verdict",
    "wilson_interval",
    "worst_group_error",
    "worst_rows",
]
