"""Public names of this room."""

from .batches import (
    Batches as Batches,
    Watched as Watched,
    movement_frame as movement_frame,
)
from .files import (
    Partition as Partition,
    parquet_files as parquet_files,
    partitions_of as partitions_of,
    read_whole as read_whole,
    rows_in as rows_in,
)
from .plan import (
    Plan as Plan,
    make_plan as make_plan,
)
from .run import (
    Run as Run,
    sum_files as sum_files,
)
from .sample import (
    Sample as Sample,
    sample_rows as sample_rows,
)
