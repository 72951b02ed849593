"""Public names of this room."""

from .cell_sums.change import Change as Change, change_between as change_between
from .cell_sums.kernel_bounds import Bounded as Bounded
from .cell_sums.local_values import LocalValues as LocalValues
from .cell_sums.summaries import (
    LocalDistribution as LocalDistribution,
    bandwidth_curve_of_sums as bandwidth_curve_of_sums,
    metrics_of_sums as metrics_of_sums,
    null_errors_of_sums as null_errors_of_sums,
)
from .cell_sums.sums import LocalErrorSums as LocalErrorSums
from .partitions.batches import (
    Batches as Batches,
    SummedBatches as SummedBatches,
    Watched as Watched,
    movement_frame as movement_frame,
)
from .partitions.files import (
    Partition as Partition,
    parquet_files as parquet_files,
    partitions_of as partitions_of,
    read_whole as read_whole,
    rows_in as rows_in,
)
from .partitions.plan import Plan as Plan, make_plan as make_plan, plan_of_rows as plan_of_rows
from .partitions.run import Run as Run, sum_files as sum_files
from .partitions.sample import Sample as Sample, sample_rows as sample_rows
