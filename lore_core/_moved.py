"""Names that moved from the root of the library to a room: they work for one release more."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

#: Old name at the root, and where it is now below it.
MOVED = {
    "BandwidthSpread": "metrics",
    "BandwidthSuggestion": "metrics",
    "ConfidenceBins": "data",
    "Dashboard": "dashboard",
    "Field": "regions",
    "LocalErrors": "metrics",
    "NullBand": "chance",
    "NullErrors": "chance",
    "Outline": "regions",
    "PairedDifference": "comparison",
    "RegionRecalibration": "regions",
    "RegionReport": "regions",
    "ReliabilityTable": "metrics",
    "RewardCurve": "metrics",
    "RowEvidence": "regions",
    "RunsComparison": "comparison",
    "Significance": "chance",
    "Summary": "comparison",
    "Target": "data",
    "affordable_intervals": "chance",
    "affordable_null_draws": "chance",
    "class_places": "regions",
    "confidence_bins": "data",
    "default_gammas": "metrics",
    "default_ratios": "metrics",
    "describe_bias": "chance",
    "describe_rewards": "metrics",
    "describe_rows": "comparison",
    "describe_variable": "regions",
    "drawn_rows": "regions",
    "gap_grid": "regions",
    "groupwise_calibration_error": "metrics",
    "local_bin_table": "comparison",
    "maximum_mean_calibration_error": "recalibration",
    "mean_bandwidth_curve": "metrics",
    "offered_recalibrators": "recalibration",
    "recalibrate_region": "regions",
    "report_by": "regions",
    "row_table": "regions",
    "rows_like": "regions",
    "rows_outline": "regions",
    "smooth_gap": "regions",
    "smoothed_field": "regions",
    "unsure_threshold": "metrics",
    "wilson_interval": "metrics",
    "worst_rows": "regions",
}


def moved(name: str) -> Any:
    """Return what moved, with a warning that says where to.

    ``name``: one of :data:`MOVED`, asked of :mod:`lore_core`.
    """
    room = f"lore_core.{MOVED[name]}"
    warnings.warn(
        f"'lore_core.{name}' is now '{room}.{name}'; the old name goes with the next release.",
        DeprecationWarning,
        stacklevel=3,
    )
    return getattr(import_module(room), name)
