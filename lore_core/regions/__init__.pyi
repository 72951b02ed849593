"""Public names of this room."""

from .evidence import (
    RowEvidence as RowEvidence,
    row_evidence as row_evidence,
)
from .field import (
    Field as Field,
    Outline as Outline,
    error_field as error_field,
    rows_outline as rows_outline,
    smoothed_field as smoothed_field,
)
from .field_of_sums import SumsLandscape as SumsLandscape
from .joined_rows import rows_like as rows_like
from .made_of import (
    composition as composition,
    describe_composition as describe_composition,
)
from .region_recalibration import (
    RegionRecalibration as RegionRecalibration,
    recalibrate_region as recalibrate_region,
)
from .row_search import rows_with as rows_with
from .row_tables import (
    class_places as class_places,
    drawn_rows as drawn_rows,
    row_table as row_table,
    telling_column as telling_column,
    telling_rows as telling_rows,
    worst_rows as worst_rows,
)
from .selection import (
    Region as Region,
    RegionReport as RegionReport,
    Selection as Selection,
    region_report as region_report,
    report_by as report_by,
)
