"""Figures: a result object goes in, a Plotly figure comes out; nothing is computed here."""

from lore_core.figures.curves import bandwidth_figure, suggestion_figure
from lore_core.figures.decisions import reward_figure
from lore_core.figures.distribution import cdf_figure
from lore_core.figures.fairness import group_figure
from lore_core.figures.landscape import landscape_figure, shared_limit
from lore_core.figures.landscape_3d import landscape_3d_figure, surface_figure
from lore_core.figures.paper import paper_chart
from lore_core.figures.reliability import reliability_figure
from lore_core.figures.runs import run_scatter_figure, runs_figure
from lore_core.figures.style import Chart, Mode
from lore_core.figures.variables import variable_figure, variable_grid_figure

__all__ = [
    "Chart",
    "Mode",
    "bandwidth_figure",
    "cdf_figure",
    "group_figure",
    "landscape_3d_figure",
    "landscape_figure",
    "paper_chart",
    "reliability_figure",
    "reward_figure",
    "run_scatter_figure",
    "runs_figure",
    "shared_limit",
    "suggestion_figure",
    "surface_figure",
    "variable_figure",
    "variable_grid_figure",
]
