"""Means, standard deviations and differences of methods over runs of one experiment."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from lore_core.comparison.tables import long_table, note_on_nll
from lore_core.data.shown import Shown
from lore_core.data.validation import InputError
from lore_core.metrics.catalogue import MAX_GROUPWISE, less_is_better


@dataclass(frozen=True)
class PairedDifference:
    """Mean paired differences of every method to one of them."""

    #: Over the runs, with its Student-t interval: one row a method, one column a metric. Bounds are
    #: NaN where fewer than two runs have the metric.
    mean: pd.DataFrame
    low: pd.DataFrame
    high: pd.DataFrame
    p_value: pd.DataFrame  #: Student's t


def range_words(counts: pd.Series) -> str:
    """Say from where to where counts go."""
    low, high = int(counts.min()), int(counts.max())
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


@dataclass(frozen=True, repr=False)
class RunsComparison(Shown):
    """Metrics of every method on the evaluation rows of every run."""

    runs: pd.DataFrame  #: One row a run and method: ``run, method``, then the metrics
    rows: pd.DataFrame | None = None  #: One row a run: ``run, calibration_rows, evaluation_rows``
    #: By method: rows of all runs whose p the NLL clips, and the mean over runs without that.
    unclipped_nll: Mapping[str, tuple[int, float]] = field(default_factory=dict)

    @property
    def n_runs(self) -> int:
        """The number of runs."""
        return int(self.runs["run"].nunique())

    @property
    def note_on_nll(self) -> str:
        """See :func:`~lore_core.metrics.proper_scores.clip_note`."""
        return note_on_nll(self.unclipped_nll)

    @property
    def in_words(self) -> str:
        """How many runs and evaluation rows these are, in words."""
        counts = self.rows
        rows = "" if counts is None else f", {range_words(counts['evaluation_rows'])}"
        return f"{self.n_runs:,} runs{rows and f'{rows} evaluation rows each'}"

    @property
    def methods(self) -> list[str]:
        """Methods, in the order they were compared; differences are taken to the first."""
        return [str(name) for name in self.runs["method"].unique()]

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics."""
        return [str(name) for name in self.runs.columns if name not in ("run", "method")]

    @property
    def table(self) -> pd.DataFrame:
        """Mean over the runs: one row a method, one column a metric."""
        return pd.DataFrame(self._by_method().mean())

    @property
    def sd(self) -> pd.DataFrame:
        """Population standard deviation over the runs, shaped like ``table``."""
        return pd.DataFrame(self._by_method().std(ddof=0))

    def _by_method(self) -> Any:
        return self.runs.drop(columns="run").groupby("method", sort=False)

    def values(self, metric: str) -> pd.DataFrame:
        """Return one metric: one row a run, one column a method."""
        self._check_metric(metric, "metric")
        wide = self.runs.pivot(index="run", columns="method", values=metric)
        return wide.reindex(index=self.runs["run"].unique(), columns=self.methods)

    def difference(self, to: str | None = None, *, level: float = 0.95) -> PairedDifference:
        """Return mean differences of every method to one of them, with intervals.

        ``to``: a method; by default the first. ``level``: of the interval. Raises InputError if
        there is no such method.

        Runs are pairs, whose mean difference has the interval d̄ ± t · s/√R of R runs. It covers
        other trainings, and what chance adds to ECE, ALCE and the maxima, but not other data where
        runs share theirs.
        """
        methods = self.methods
        to = methods[0] if to is None else to
        if to not in methods:
            raise InputError(f"'to' must be one of {methods}; got {to!r}.")
        wide = {metric: self.values(metric) for metric in self.metrics}
        gaps = {metric: values.sub(values[to], axis=0) for metric, values in wide.items()}
        mean, error, count = (
            pd.DataFrame({metric: getattr(gap, of)() for metric, gap in gaps.items()})
            for of in ("mean", "sem", "count")
        )
        freedom = np.maximum(count - 1, 1)
        half = error * special.stdtrit(freedom, (1 + level) / 2)
        with np.errstate(invalid="ignore", divide="ignore"):
            t = (mean / error).abs().where(mean != 0, 0.0)
        p_value = pd.DataFrame(2 * special.stdtr(freedom, -t), mean.index, mean.columns)
        return PairedDifference(mean, mean - half, mean + half, p_value)

    def best(self) -> dict[str, str]:
        """Return by error metric the method that is significantly lower than all others, if any.

        By the intervals of its paired differences, Bonferroni-corrected for their number.
        """
        found: dict[str, str] = {}
        for metric in filter(less_is_better, self.metrics):
            means = self.table[metric].dropna()
            if len(means) > 1:
                lowest = str(means.idxmin())
                low = self.difference(lowest, level=1 - 0.05 / (len(means) - 1)).low[metric]
                if (low[means.index].drop(lowest) > 0).all():
                    found[metric] = lowest
        return found

    def correlation(self, of: str = MAX_GROUPWISE) -> pd.Series:
        """Return the Pearson correlation of every metric with one over all runs and methods."""
        metrics = self.runs.drop(columns=["run", "method"])
        self._check_metric(of, "of")
        varies = metrics.columns[metrics.nunique() > 1]
        with_it = metrics[varies].corr()[of] if of in varies else pd.Series(dtype=float)
        return with_it.reindex(metrics.columns).drop(of).rename(f"correlation with {of}")

    def to_dict(self) -> dict[str, Any]:
        """Return means and standard deviations by method, and correlations with the worst group."""
        known = MAX_GROUPWISE in self.metrics
        return {
            "runs": self.n_runs,
            "mean": self.table.to_dict(orient="index"),
            "sd": self.sd.to_dict(orient="index"),
            "correlation_with_worst_group": self.correlation().to_dict() if known else None,
        }

    def frame(self, level: float = 0.95) -> pd.DataFrame:
        """Return everything in one long table, with intervals at ``level``.

        ``method, metric, unit, runs, mean, sd`` and the paired ``difference`` to the first method
        with ``difference_low, difference_high, p_value`` (Student's t).
        """
        found = self.difference(level=level)
        columns = {
            "runs": self._by_method().count(),
            "mean": self.table,
            "sd": self.sd,
            "difference": found.mean,
            "difference_low": found.low,
            "difference_high": found.high,
            "p_value": found.p_value,
        }
        return long_table(columns, self.methods, self.metrics)

    def _check_metric(self, name: str, argument: str) -> None:
        if name not in self.metrics:
            hint = " Give 'group_column' to measure it." if name == MAX_GROUPWISE else ""
            raise InputError(f"'{argument}' must be one of {self.metrics}; got {name!r}.{hint}")
