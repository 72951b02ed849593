"""Public names of this room."""

from .bandwidth import (
    BandwidthCurve as BandwidthCurve,
    BandwidthSuggestion as BandwidthSuggestion,
    bandwidth_curve as bandwidth_curve,
    default_gammas as default_gammas,
    suggest_bandwidth as suggest_bandwidth,
)
from .catalogue import CATALOGUE as CATALOGUE
from .gains import LossParts as LossParts, loss_parts as loss_parts
from .global_metrics import (
    ReliabilityTable as ReliabilityTable,
    expected_calibration_error as expected_calibration_error,
    groupwise_calibration_error as groupwise_calibration_error,
    groupwise_maximum_calibration_error as groupwise_maximum_calibration_error,
    maximum_calibration_error as maximum_calibration_error,
    reliability_table as reliability_table,
    wilson_interval as wilson_interval,
)
from .local_error import (
    LocalErrors as LocalErrors,
    VectorErrors as VectorErrors,
    average_local_calibration_error as average_local_calibration_error,
    local_calibration_error as local_calibration_error,
    local_errors as local_errors,
    maximum_local_calibration_error as maximum_local_calibration_error,
    vector_errors as vector_errors,
)
from .means import joint_intervals as joint_intervals, mean_interval as mean_interval
from .metric import Metric as Metric
from .proper_scores import (
    brier_score as brier_score,
    negative_log_likelihood as negative_log_likelihood,
)
from .rewards import (
    RewardCurve as RewardCurve,
    answer_threshold as answer_threshold,
    default_ratios as default_ratios,
    describe_rewards as describe_rewards,
    reward_curve as reward_curve,
    reward_curves as reward_curves,
    risk_curve as risk_curve,
    unsure_threshold as unsure_threshold,
)
from .without_bins import (
    IsotonicReliability as IsotonicReliability,
    calibration_line as calibration_line,
    isotonic_reliability as isotonic_reliability,
    multicalibration_error as multicalibration_error,
    smooth_calibration_error as smooth_calibration_error,
)
