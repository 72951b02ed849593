"""Public names of this room."""

from .conclusions import (
    Conclusion as Conclusion,
    conclude_bandwidths as conclude_bandwidths,
    conclude_groups as conclude_groups,
    conclude_recalibration as conclude_recalibration,
    conclude_retraining as conclude_retraining,
    conclude_runs as conclude_runs,
    retraining_in_subgroup as retraining_in_subgroup,
    subgroup_gaps as subgroup_gaps,
)
from .effects import (
    compare_groups as compare_groups,
    compare_rewards as compare_rewards,
    group_report as group_report,
)
from .methods import (
    Comparison as Comparison,
    ConfidenceDifference as ConfidenceDifference,
    compare as compare,
    confidence_difference as confidence_difference,
)
from .over_time import (
    RowBatches as RowBatches,
    SliceChange as SliceChange,
    conclude_batches as conclude_batches,
)
from .retraining import (
    GainEstimate as GainEstimate,
    estimate_gains as estimate_gains,
    retraining_frame as retraining_frame,
)
from .runs import compare_runs as compare_runs
from .runs_result import PairedDifference as PairedDifference, RunsComparison as RunsComparison
from .summary import Summary as Summary, summarize as summarize
from .two_models import (
    ChangedSubgroup as ChangedSubgroup,
    ModelComparison as ModelComparison,
    SameRows as SameRows,
    compare_models as compare_models,
    same_rows as same_rows,
)
