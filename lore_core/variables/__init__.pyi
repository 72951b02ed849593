"""Public names of this room."""

from .gaps import (
    describe_variable as describe_variable,
    gap_along as gap_along,
    gap_grid as gap_grid,
    rank_variables as rank_variables,
    smooth_gap as smooth_gap,
)
