"""Public names of this room."""

from .bandwidths import conclude_bandwidths as conclude_bandwidths
from .conclusion import Conclusion as Conclusion
from .groups import conclude_groups as conclude_groups
from .recalibration import conclude_recalibration as conclude_recalibration
from .retraining import (
    conclude_retraining as conclude_retraining,
    retraining_at_place as retraining_at_place,
)
from .whole_vector import conclude_vector as conclude_vector
