"""Public names of this room."""

from .intervals import (
    affordable_intervals as affordable_intervals,
    calibration_intervals as calibration_intervals,
)
from .simulation import (
    NullBand as NullBand,
    NullErrors as NullErrors,
    affordable_null_draws as affordable_null_draws,
    describe_maximum as describe_maximum,
    null_band as null_band,
    null_errors as null_errors,
)
from .whole_vector import (
    VectorChance as VectorChance,
    class_table as class_table,
    describe_classes as describe_classes,
    vector_chance as vector_chance,
)
