"""Public names of this room."""

from .affine_softmax import (
    DirichletCalibration as DirichletCalibration,
    MatrixScaling as MatrixScaling,
    VectorScaling as VectorScaling,
)
from .base import NoRecalibration as NoRecalibration, Recalibrator as Recalibrator
from .beta_calibration import BetaCalibration as BetaCalibration
from .boosting import BoostingRecalibration as BoostingRecalibration
from .group_wise import GroupWise as GroupWise
from .histogram_binning import HistogramBinning as HistogramBinning
from .isotonic_regression import IsotonicRegression as IsotonicRegression, VennAbers as VennAbers
from .logistic_regression import LogisticRecalibration as LogisticRecalibration
from .lore import LocalAccuracy as LocalAccuracy, LoRe as LoRe
from .mcgrad_boosting import MCGrad as MCGrad
from .platt_scaling import PlattScaling as PlattScaling
from .registry import (
    installed_rivals as installed_rivals,
    offered_recalibrators as offered_recalibrators,
    standard_recalibrators as standard_recalibrators,
)
from .saved import load_recalibrator as load_recalibrator
from .smooth_lore import LevelLoRe as LevelLoRe, SmoothLoRe as SmoothLoRe
from .temperature_scaling import (
    MMCEOptimization as MMCEOptimization,
    TemperatureScaling as TemperatureScaling,
    maximum_mean_calibration_error as maximum_mean_calibration_error,
)
