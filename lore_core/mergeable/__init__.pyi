"""Public names of this room."""

from .cell_sums.cells import Bounded as Bounded
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
    Change as Change,
    SummedBatches as SummedBatches,
    Watched as Watched,
    change_between as change_between,
    movement_frame as movement_frame,
)
from .partitions.plan import (
    Partition as Partition,
    Plan as Plan,
    make_plan as make_plan,
    parquet_files as parquet_files,
    partitions_of as partitions_of,
    plan_of_rows as plan_of_rows,
    rows_in as rows_in,
)
from .partitions.run import (
    Run as Run,
    Sample as Sample,
    sample_rows as sample_rows,
    sum_files as sum_files,
)
