"""The public names of the library: this is the one list of them. The rest is in the rooms."""

from . import (
    comparison as comparison,
    dashboard as dashboard,
    data as data,
    demo as demo,
    embedding as embedding,
    figures as figures,
    inference as inference,
    kernel_sums as kernel_sums,
    mergeable as mergeable,
    metrics as metrics,
    reading as reading,
    recalibration as recalibration,
    regions as regions,
    report as report,
    shipping as shipping,
    view as view,
)
from .comparison.effects import compare_groups as compare_groups, group_report as group_report
from .comparison.methods import Comparison as Comparison, compare as compare
from .comparison.runs import compare_runs as compare_runs
from .comparison.summary import summarize as summarize
from .comparison.two_models import compare_models as compare_models
from .dashboard.launch import landscape as landscape, launch as launch
from .data.dataset import Dataset as Dataset
from .data.dataset_files import save_npz as save_npz
from .data.estimator import from_estimator as from_estimator
from .data.progress import Cancelled as Cancelled
from .data.validation import InputError as InputError
from .embedding import Embedding as Embedding, embed as embed
from .inference.intervals import calibration_intervals as calibration_intervals
from .inference.simulation import (
    describe_maximum as describe_maximum,
    null_band as null_band,
    null_errors as null_errors,
)
from .mergeable.cell_sums.sums import LocalErrorSums as LocalErrorSums
from .metrics.bandwidth import (
    BandwidthCurve as BandwidthCurve,
    bandwidth_curve as bandwidth_curve,
    suggest_bandwidth as suggest_bandwidth,
)
from .metrics.global_metrics import (
    expected_calibration_error as expected_calibration_error,
    groupwise_maximum_calibration_error as groupwise_maximum_calibration_error,
    maximum_calibration_error as maximum_calibration_error,
    reliability_table as reliability_table,
)
from .metrics.local_error import (
    average_local_calibration_error as average_local_calibration_error,
    local_calibration_error as local_calibration_error,
    local_errors as local_errors,
    maximum_local_calibration_error as maximum_local_calibration_error,
)
from .metrics.proper_scores import (
    brier_score as brier_score,
    negative_log_likelihood as negative_log_likelihood,
)
from .metrics.rewards import reward_curve as reward_curve
from .reading import load as load, load_runs as load_runs
from .recalibration.base import (
    NoRecalibration as NoRecalibration,
    Recalibrator as Recalibrator,
    load_recalibrator as load_recalibrator,
)
from .recalibration.classifier import LoReClassifier as LoReClassifier
from .recalibration.logistic import BetaCalibration as BetaCalibration, PlattScaling as PlattScaling
from .recalibration.lore import LoRe as LoRe
from .recalibration.registry import standard_recalibrators as standard_recalibrators
from .recalibration.smooth_lore import SmoothLoRe as SmoothLoRe
from .recalibration.step_functions import (
    HistogramBinning as HistogramBinning,
    IsotonicRegression as IsotonicRegression,
)
from .recalibration.temperature_scaling import (
    MMCEOptimization as MMCEOptimization,
    TemperatureScaling as TemperatureScaling,
)
from .regions.enrichment import (
    composition as composition,
    describe_composition as describe_composition,
)
from .regions.field import error_field as error_field
from .regions.selection import Region as Region, region_report as region_report
from .regions.subgroups.find import find_subgroups as find_subgroups
from .regions.variables.gaps import gap_along as gap_along, rank_variables as rank_variables
from .report import write_report as write_report
from .shipping import Predictor as Predictor
from .shipping.files import recalibrate_file as recalibrate_file

__version__: str
