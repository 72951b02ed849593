"""Public names of this room."""

from .find import (
    Place as Place,
    PlaceSearch as PlaceSearch,
    find_places as find_places,
)
from .held_out import Held as Held
from .overall import (
    Overall as Overall,
    overall_gap as overall_gap,
)
from .sentences import (
    describe_place as describe_place,
    evidence_of as evidence_of,
)
from .verdict import (
    Verdict as Verdict,
    conclude as conclude,
    detectable_gap as detectable_gap,
)
