"""Public names of this room."""

from .enrichment import composition as composition, describe_composition as describe_composition
from .field import (
    Field as Field,
    Outline as Outline,
    SumsLandscape as SumsLandscape,
    error_field as error_field,
    rows_outline as rows_outline,
    smoothed_field as smoothed_field,
)
from .rows import (
    class_positions as class_positions,
    drawn_rows as drawn_rows,
    row_table as row_table,
    rows_with as rows_with,
    telling_column as telling_column,
    telling_rows as telling_rows,
    worst_rows as worst_rows,
)
from .selection import (
    Region as Region,
    RegionReport as RegionReport,
    Selection as Selection,
    region_report as region_report,
)
from .subgroups.candidates import Held as Held
from .subgroups.find import (
    Subgroup as Subgroup,
    SubgroupSearch as SubgroupSearch,
    find_subgroups as find_subgroups,
)
from .subgroups.overall import Overall as Overall, overall_gap as overall_gap
from .subgroups.saved import (
    SavedSubgroup as SavedSubgroup,
    identified as identified,
    load_subgroups as load_subgroups,
    measure_subgroups as measure_subgroups,
    save_subgroups as save_subgroups,
    saved_subgroups as saved_subgroups,
)
from .subgroups.verdict import (
    Verdict as Verdict,
    conclude as conclude,
    describe_subgroup as describe_subgroup,
    detectable_gap as detectable_gap,
    evidence_of as evidence_of,
)
from .variables.gaps import (
    describe_variable as describe_variable,
    gap_along as gap_along,
    gap_grid as gap_grid,
    rank_variables as rank_variables,
    smooth_gap as smooth_gap,
)
