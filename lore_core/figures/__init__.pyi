"""Public names of this room."""

from .chart import Chart as Chart
from .export import exported as exported, side_by_side as side_by_side
from .pictures.curves import (
    bandwidth_figure as bandwidth_figure,
    cdf_figure as cdf_figure,
    movement_figure as movement_figure,
    reward_figure as reward_figure,
    risk_figure as risk_figure,
    suggestion_figure as suggestion_figure,
)
from .pictures.dot_plots import (
    group_figure as group_figure,
    run_scatter_figure as run_scatter_figure,
    runs_figure as runs_figure,
)
from .pictures.landscape import (
    change_figure as change_figure,
    landscape_3d_figure as landscape_3d_figure,
    landscape_figure as landscape_figure,
    sums_landscape_figure as sums_landscape_figure,
    surface_figure as surface_figure,
)
from .pictures.picture import shared_limit as shared_limit
from .pictures.reliability import (
    isotonic_figure as isotonic_figure,
    reliability_figure as reliability_figure,
)
from .pictures.variables import (
    variable_figure as variable_figure,
    variable_grid_figure as variable_grid_figure,
)
from .style import Mode as Mode
