"""Public names of this room."""

from .curves import (
    bandwidth_figure as bandwidth_figure,
    suggestion_figure as suggestion_figure,
)
from .decisions import reward_figure as reward_figure
from .distribution import cdf_figure as cdf_figure
from .export import (
    chart_csv as chart_csv,
    chart_html as chart_html,
    chart_image as chart_image,
)
from .fairness import group_figure as group_figure
from .landscape import (
    landscape_figure as landscape_figure,
    shared_limit as shared_limit,
)
from .landscape_3d import (
    landscape_3d_figure as landscape_3d_figure,
    surface_figure as surface_figure,
)
from .paper import paper_chart as paper_chart
from .reliability import reliability_figure as reliability_figure
from .runs import (
    run_scatter_figure as run_scatter_figure,
    runs_figure as runs_figure,
)
from .style import (
    Chart as Chart,
    Mode as Mode,
)
from .variables import (
    variable_figure as variable_figure,
    variable_grid_figure as variable_grid_figure,
)
