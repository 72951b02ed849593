"""Public names of this room."""

from .budget import affordable_intervals as affordable_intervals
from .intervals import calibration_intervals as calibration_intervals
from .significance import (
    Significance as Significance,
    local_significance as local_significance,
)
from .simulation import (
    NullBand as NullBand,
    NullErrors as NullErrors,
    affordable_null_draws as affordable_null_draws,
    describe_bias as describe_bias,
    describe_maximum as describe_maximum,
    null_band as null_band,
    null_errors as null_errors,
)
from .vector_bands import VectorBand as VectorBand, vector_band as vector_band
from .whole_vector import (
    VectorChance as VectorChance,
    classes_by_chance as classes_by_chance,
    describe_classes as describe_classes,
    vector_chance as vector_chance,
)
