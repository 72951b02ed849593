"""Public names of this room."""

from .change import (
    Change as Change,
    change_between as change_between,
)
from .kernel_bounds import Bounded as Bounded
from .local_values import LocalValues as LocalValues
from .summaries import (
    BoundedCurve as BoundedCurve,
    LocalDistribution as LocalDistribution,
    bandwidth_curve_of_sums as bandwidth_curve_of_sums,
    metrics_of_sums as metrics_of_sums,
    null_errors_of_sums as null_errors_of_sums,
)
from .sums import LocalErrorSums as LocalErrorSums
