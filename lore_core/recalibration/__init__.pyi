"""Public names of this room."""

from .affine_softmax import (
    DirichletCalibration as DirichletCalibration,
    MatrixScaling as MatrixScaling,
    VectorScaling as VectorScaling,
)
from .base import (
    NoRecalibration as NoRecalibration,
    Recalibrator as Recalibrator,
    load_recalibrator as load_recalibrator,
)
from .boosting import BoostingRecalibration as BoostingRecalibration
from .logistic import (
    BetaCalibration as BetaCalibration,
    LogisticRecalibration as LogisticRecalibration,
    PlattScaling as PlattScaling,
)
from .lore import LoRe as LoRe
from .registry import (
    offered_recalibrators as offered_recalibrators,
    standard_recalibrators as standard_recalibrators,
)
from .smooth_lore import LevelLoRe as LevelLoRe, SmoothLoRe as SmoothLoRe
from .step_functions import (
    HistogramBinning as HistogramBinning,
    IsotonicRegression as IsotonicRegression,
    VennAbers as VennAbers,
)
from .temperature_scaling import (
    MMCEOptimization as MMCEOptimization,
    TemperatureScaling as TemperatureScaling,
    maximum_mean_calibration_error as maximum_mean_calibration_error,
)
