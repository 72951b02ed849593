"""Two models on the same rows: which is better, and for which subgroups it is worse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from html import escape
from typing import Any, Literal

import numpy as np
import pandas as pd

from lore_core.comparison.methods import Comparison
from lore_core.comparison.summary import Summary, summarize
from lore_core.data.arrays import Floats, Ints, take_rows
from lore_core.data.dataset import EVALUATION, TOP_LABEL, Dataset, Target
from lore_core.data.defaults import GAMMA
from lore_core.data.errors import counted, short
from lore_core.data.number_text import (
    PLAIN,
    POINTS,
    p_sentence,
    rows_words,
    signed_points,
    with_points,
)
from lore_core.data.probabilities import by_blocks
from lore_core.data.progress import Progress, tell
from lore_core.data.units import chosen_units, mean_values
from lore_core.data.validation import InputError, Points, as_coordinates, check_lengths
from lore_core.data.weights import weighed
from lore_core.kernel_sums.schedule import thread_count
from lore_core.metrics.catalogue import CATALOGUE
from lore_core.metrics.local_error import LocalErrors
from lore_core.metrics.means import difference_range, joint_intervals
from lore_core.metrics.proper_scores import BY_CLASS
from lore_core.metrics.without_bins import score_parts
from lore_core.regions.selection import RegionReport, change_report, region_report
from lore_core.regions.subgroups.candidates import SAME, Tried
from lore_core.regions.subgroups.find import MOST_TRIED, Halves, Subgroup, SubgroupSearch, halves_of
from lore_core.regions.subgroups.overall import OVERALL_ALPHA, Average
from lore_core.regions.subgroups.verdict import rows_of_subgroup

Kind = Literal["new", "worse", "fixed", "better", "remaining"]
#: Chance of any statement about a subgroup where none is true; that of a statement about all rows
#: is :data:`~lore_core.regions.subgroups.overall.OVERALL_ALPHA`.
ALPHA = 0.04
#: Columns whose values name rows in a file of predictions.
_ROW_NAMES = ("row_id", "rowid", "id", "sample_id", "example_id", "index")
#: What one model knows of rows holds for the other as well.
_SHARED = ("features", "groups", "metadata", "images", "weights", "units")
#: Goes with another one.
_WITH = {"features": ("feature_names",), "images": ("has_image",)}
GAP, ACCURACY = "gap", "accuracy"
#: Of the mean gaps of both; only for the test that one is nearer to 0.
_BOTH = "sum of gaps"
_MIN_GAP = 0.02


@dataclass(frozen=True, eq=False)
class SameRows:
    """Two models' predictions of the same rows, in the same order."""

    first: Dataset
    second: Dataset
    rows: Ints  #: (n,); their numbers among those that the first was given
    how: str  #: How they were matched, and what was left out


def same_rows(first: Dataset, second: Dataset, *, by: str | None = None) -> SameRows:
    """Match the rows of two models.

    ``by``: a column of both that names the rows; by default one called ``row_id`` or ``id``, else
    rows are matched by position, if all true classes agree. The split is the first's; features,
    images, groups and other columns are its own or, where it has none, the second's.
    Raises InputError if rows, or classes, cannot be matched.
    """
    if first.name == second.name:
        second = second.with_parts(name=f"{second.name} (second)")
    second = _in_order_of(first.class_names, second)
    by = _shared_name(first, second) if by is None else by
    if by is None:
        rows, others, how = _by_position(first, second)
    else:
        rows, others, how = _by_name(first, second, by)
    # (A first model that lacks nothing stays what it is: what is known of it is its own.)
    one = first if len(rows) == len(first) else first.rows(rows)
    in_order = len(others) == len(second) and bool((np.diff(others) == 1).all())
    two = second if in_order else second.rows(others)
    if (wrong := np.flatnonzero(one.labels != two.labels)).size:
        row = int(wrong[0])
        at = f"row {rows[row]}" if by is None else f"'{by}' {_column(one, by)[row]}"
        is_, was = (of.class_name(int(of.labels[row])) for of in (two, one))
        fix = "Give both a column 'row_id'." if by is None else f"Look at '{by}' of both files."
        raise InputError(
            f"the models must have the same true classes; of {rows_words(len(wrong))} they differ, "
            f"first at {at}: '{was}' in '{first.name}', '{is_}' in '{second.name}'. {fix}"
        )
    lacks = [name for name in _SHARED if getattr(one, name) is None]
    added, known = (
        {part: getattr(of, part) for name in names for part in (name, *_WITH.get(name, ()))}
        for of, names in ((two, lacks), (one, [name for name in _SHARED if name not in lacks]))
    )
    if any(part is not None for part in added.values()):
        one = one.with_parts(**added)
    return SameRows(one, two.with_parts(**known, split=one.split), rows, how)


def _in_order_of(names: tuple[str, ...], second: Dataset) -> Dataset:
    """Return a model's predictions with its classes in another order."""
    if second.class_names == names:
        return second
    if {*names} != {*second.class_names}:
        only = sorted({*names} ^ {*second.class_names})
        raise InputError(
            f"both models must have the same classes; only one has {short(', '.join(only))}."
        )
    place = [second.class_names.index(name) for name in names]
    new = np.argsort(place)
    return replace(
        second,
        probabilities=second.probabilities[:, place],
        labels=new[second.labels],
        predictions=new[second.predictions],
        class_names=names,
    )


def _column(dataset: Dataset, name: str) -> pd.Series[Any]:
    frames = [frame for frame in (dataset.metadata, dataset.groups) if frame is not None]
    found = next((frame[name] for frame in frames if name in frame), None)
    if found is None:
        raise InputError(f"'by' must be a column of both models; '{dataset.name}' has no {name}.")
    if found.isna().any():
        empty = f"it is empty in {rows_words(int(found.isna().sum()))}"
        raise InputError(f"'{name}' must name each row of '{dataset.name}'; {empty}.")
    return found


def _shared_name(first: Dataset, second: Dataset) -> str | None:
    """Return the column that names each row of both, if there is one."""
    frames = [of.metadata for of in (first, second) if of.metadata is not None]
    both = [name for name in frames[0] if name in frames[1]] if len(frames) == 2 else []
    for name in both:
        names = [frame[name] for frame in frames]
        if str(name).lower() in _ROW_NAMES and all(
            of.is_unique and of.notna().all() for of in names
        ):
            return str(name)
    return None


def _by_position(first: Dataset, second: Dataset) -> tuple[Ints, Ints, str]:
    if len(first) == len(second):
        rows = others = np.arange(len(first))
    else:
        rows, others = (np.flatnonzero(of.in_split(EVALUATION)) for of in (first, second))
    if len(rows) != len(others):
        raise InputError(
            f"both models must have the same rows; '{first.name}' has {len(rows):,} and "
            f"'{second.name}' {len(others):,}, without a column that names each ('row_id' or 'id')."
        )
    return rows, others, f"{rows_words(len(rows))}, matched by their position"


def _by_name(first: Dataset, second: Dataset, by: str) -> tuple[Ints, Ints, str]:
    names = [_column(of, by) for of in (first, second)]
    # (What one file holds as numbers another may hold as text.)
    numbers = [pd.to_numeric(of, errors="coerce") for of in names]
    is_text = not any(map(pd.api.types.is_numeric_dtype, names))
    if is_text or any(of.isna().any() for of in numbers):
        numbers = [of.astype(str) for of in names]
    for of, values in zip((first, second), numbers, strict=True):
        if not values.is_unique:
            again = values[values.duplicated()].iloc[0]
            raise InputError(f"'{by}' must name each row of '{of.name}' once; '{again}' is twice.")
    others = pd.Index(numbers[1]).get_indexer(pd.Index(numbers[0]))
    rows = np.flatnonzero(others >= 0)
    if not first.in_split(EVALUATION)[rows].any():
        raise InputError(
            f"no evaluation row of '{first.name}' has the same '{by}' as one of '{second.name}'."
        )
    how = f"{rows_words(len(rows))}, matched by '{by}'"
    for of in (first, second):
        if only := len(of) - len(rows):
            how += f", {only:,} only in “{of.name}”"
    return rows, others[rows], how


@dataclass(frozen=True, eq=False, kw_only=True)
class ChangedSubgroup(Subgroup):
    """Rows that can be named, and what both models say of those not used to find them."""

    #: "new": the second's gap is significantly larger, at least twice the first's; "worse": larger,
    #: by less; "fixed": significantly smaller, at most half of the first's; "better": smaller, by
    #: less; "remaining": both differ from 0, in one direction; whether they differ from each other
    #: was not tested, or is not significant.
    kind: Kind
    #: Of the held-out rows, under the first model and the second, and the second less the first.
    before: RegionReport
    after: RegionReport
    change: RegionReport
    growth: tuple[float, float, float]  #: |second's gap| − |first's|, with its 95 % interval

    @property
    def words(self) -> str:
        """Its rows, both gaps and the change: ``"rows predicted 3 (+2.1 → +15.0 points; …)"``."""
        ends = POINTS.interval_text(self.change.gap_low, self.change.gap_high, signed=True)
        return (
            f"{self.rows_in_words} ({signed_points(self.before.gap)} → "
            f"{signed_points(self.after.gap)} points; change {signed_points(self.change.gap)}, "
            f"held-out 95 % CI {ends})"
        )

    @property
    def rows_in_words(self) -> str:
        """Its rows: ``"rows with corruption rotated 90°"``."""
        return rows_of_subgroup(self)


@dataclass(frozen=True, eq=False)
class ModelComparison:
    """What a second model does differently from a first, on the same evaluation rows."""

    measured: Comparison  #: Metrics of both; their names are those of the models
    #: Second − first by metric: ``difference, low, high, p_value``, joint over all of them.
    differences: pd.DataFrame
    #: Subgroups whose gap changed or remained, those that became worse first.
    search: SubgroupSearch
    how: str  #: How rows were matched
    #: Of both, parts of the squared error of the confidence: what calibrating, and what telling
    #: rows apart would change (:func:`~lore_core.metrics.without_bins.score_parts`).
    parts: pd.DataFrame

    def __repr__(self) -> str:
        return f"ModelComparison({self.sentence!r})"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.sentence)}</p>{pd.DataFrame(self.texts).to_html(index=False)}"

    @property
    def names(self) -> tuple[str, str]:
        """Names of the first and of the second model."""
        first, second = self.measured.datasets
        return first, second

    @property
    def subgroups(self) -> list[ChangedSubgroup]:
        """The same as of ``search``."""
        return [item for item in self.search.subgroups if isinstance(item, ChangedSubgroup)]

    def of_kind(self, *kinds: Kind) -> list[ChangedSubgroup]:
        """Return subgroups of some kinds."""
        return [item for item in self.subgroups if item.kind in kinds]

    @property
    def score(self) -> str:
        """The proper score that says which is better; "" without whole probabilities."""
        return next((name for name in BY_CLASS if name in self.differences.index), "")

    @property
    def verdict(self) -> Literal["better", "worse", ""]:
        """What the second is overall by the proper score; "" where they cannot be told apart."""
        if not self.score or not self._is_sure(self.score):
            return ""
        return "better" if self.differences["difference"][self.score] < 0 else "worse"

    @property
    def is_significant(self) -> bool:
        """Whether anything is said to be better or worse."""
        changed = self.of_kind("new", "worse", "fixed", "better")
        return bool(self.verdict or self._gap_words or changed)

    def _is_sure(self, name: str) -> bool:
        return bool(self.differences["p_value"][name] <= OVERALL_ALPHA)

    @property
    def gaps(self) -> tuple[float, float]:
        """Mean gaps of both."""
        change, both = (float(self.differences["difference"][of]) for of in (GAP, _BOTH))
        return (both - change) / 2, (both + change) / 2

    @property
    def growth(self) -> tuple[float, float, float]:
        """|Second's mean gap| − |first's|, with its joint 95 % interval."""
        ends = self.differences.loc[[GAP, _BOTH], ["difference", "low", "high"]]
        return _growth(*ends.to_numpy())

    @property
    def _gap_words(self) -> str:
        """Say by how much the mean gap became larger or smaller; "" where that is not sure."""
        if not (self._is_sure(GAP) and self._is_sure(_BOTH)):
            return ""
        (before, after), (size, *_) = self.gaps, self.growth
        grew = f"{with_points(abs(size), 1)} {'larger' if size > 0 else 'smaller'}"
        return f"mean gap {grew} ({signed_points(before)} → {signed_points(after)})"

    @property
    def sentence(self) -> str:
        """Which model is better overall, and in which subgroups the second is worse or better."""
        return f"{self._overall()} {self._of_subgroups()}"

    def _overall(self) -> str:
        first, second = self.names
        gap = f"; {self._gap_words}" if self._gap_words else ""
        metric = CATALOGUE[self.score or ACCURACY]
        now, then = (metric.text(self.measured.table[metric.name][of]) for of in (second, first))
        change, low, high, p = (float(self.differences[of][metric.name]) for of in _ENDS)
        numbers = (
            f"{metric.name} {now} vs. {then} (difference {metric.unit.text(change, signed=True)}"
        )
        if ends := metric.unit.interval_text(low, high, signed=True):
            numbers += f", 95 % CI {ends}"
        if not self.score:
            return f"Without whole probabilities no score says which is better: {numbers}){gap}."
        if not self.verdict:
            apart = f", {p_sentence(p)} > {OVERALL_ALPHA:g}" if low > 0 or high < 0 else ""
            return f"Neither model is significantly better overall: {numbers}{apart}){gap}."
        return f"“{second}” is {self.verdict} overall: {numbers}){gap}."

    def _of_subgroups(self) -> str:
        worse, better = self.of_kind("new", "worse"), self.of_kind("fixed", "better")
        texts = [
            f"{what} in {counted(len(found), 'subgroup')}{', such as' if found[1:] else ':'} "
            f"{found[0].words}."
            for what, found in (("Worse", worse), ("Better", better))
            if found
        ]
        if not self.search.is_possible:
            return "No subgroups were searched: the rows have neither columns nor a map."
        if not texts:
            n = self.search.tried
            tested = f"{n} tested on held-out rows" if n else "none looked changed enough to test"
            texts = [f"In no subgroup did the gap change significantly ({tested})."]
        if n := len(self.of_kind("remaining")):
            texts.append(f"{counted(n, 'subgroup')} {'remain' if n > 1 else 'remains'} wrong.")
        return " ".join(texts)

    def frame(self) -> pd.DataFrame:
        """Return a row for each metric and each subgroup: both values, and the second − first."""
        tables = (self.measured.table, self.parts)
        values = {GAP: self.gaps} | {name: tuple(of[name]) for of in tables for name in of}
        rows = [
            {"what": name, "kind": "metric", "first": first, "second": second}
            | {end: self.differences[end].get(name) for end in _ENDS}
            for name, (first, second) in values.items()
        ]
        rows += [
            {
                "what": item.rows_in_words,
                "kind": item.kind,
                "first": item.before.gap,
                "second": item.after.gap,
                "difference": item.change.gap,
                "low": item.change.gap_low,
                "high": item.change.gap_high,
                # (What remains is tested to be wrong, not to differ.)
                "p_value": np.nan if item.kind == "remaining" else item.held.p_adjusted,
                "rows": item.n_rows,
                "held_out_rows": item.held.n_rows,
            }
            for item in self.subgroups
        ]
        columns = ["what", "kind", "first", "second", *_ENDS, "rows", "held_out_rows"]
        return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(columns[-2:], "Int64"))

    @property
    def texts(self) -> dict[str, list[str]]:
        """Columns of a table of both models' numbers: a line for each metric and each subgroup."""
        lines: list[tuple[str, ...]] = [("", *self.names, "difference (95 % CI)")]
        for row in self.frame().to_dict(orient="records"):
            metric = CATALOGUE.get(row["what"])
            if metric is not None and metric.unfiltered_maximum:
                continue
            of = f"{row['kind']}: gap of {row['what']}, points"
            name = "mean gap, points" if row["what"] == GAP else metric.heading if metric else of
            unit, ends = metric.unit if metric else POINTS, (row["low"], row["high"])
            if row["what"] in self.parts:
                name, unit = f"{row['what']} (Brier, predicted class)", PLAIN
            is_gap = unit is POINTS and metric is None
            values = (unit.text(row[of], signed=is_gap) for of in ("first", "second"))
            change = unit.estimate_text(row["difference"], *ends, signed=True)
            lines.append((name, *values, change))
        return {name: list(column) for name, *column in zip(*lines, strict=True)}

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers."""
        records = self.frame().astype(object).where(lambda table: table.notna(), None)
        return {
            "first": self.names[0],
            "second": self.names[1],
            "rows": self.search.n_rows,
            "how": self.how,
            "sentence": self.sentence,
            "verdict": self.verdict,
            "tried": self.search.tried,
            "changes": records.to_dict(orient="records"),
        }


_ENDS = ("difference", "low", "high", "p_value")


def _growth(change: Sequence[float], both: Sequence[float]) -> tuple[float, float, float]:
    """Return |second's gap| − |first's| of their difference d and sum s, each with an interval.

    It is sign(d s) min(|d|, |s|), monotone in d and in s: its ends are among those of the corners.
    """
    sizes = [np.sign(d * s) * min(abs(d), abs(s)) for d in change for s in both]
    corners = [size for k, size in enumerate(sizes) if k // 3 and k % 3]
    return float(sizes[0]), float(min(corners)), float(max(corners))


def compare_models(
    first: Dataset,
    second: Dataset,
    embedding: Points | None = None,
    *,
    by: str | None = None,
    target: str | int = TOP_LABEL,
    random_state: int = 0,
    progress: Progress | None = None,
    gamma: float = GAMMA,
    **measuring: Any,
) -> ModelComparison:
    """Compare a new model with an old one on the same evaluation rows.

    ``first, second``: predictions of the old and of the new model, matched by :func:`same_rows`;
    those of the first's evaluation rows that both have are compared. ``embedding`` (n, d):
    coordinates of the first's rows, all of them, on the map of both. ``by``: a column that names
    the rows. ``target``: whose gap is searched, "top-label" or a class; a model's gap is that of
    its own predicted class. ``random_state``: seed of the halves, of which one is searched and the
    other tested. ``gamma``, ``**measuring``: ``n_bins, binning, groups, min_group_size, n_draws,
    local_intervals`` of :func:`~lore_core.comparison.summary.summarize`. What is tested, and at
    which level: docs/method.md ("Two models").
    """
    pair = same_rows(first, second, by=by)
    points = None
    if embedding is not None:
        coordinates = as_coordinates(embedding)
        check_lengths(embedding=coordinates, first=first)
        points = coordinates[pair.rows]
    how: dict[str, Any] = {"target": target, "gamma": gamma, "random_state": random_state}
    return compare_same_rows(pair, points, **how, progress=progress, **measuring)


def compare_same_rows(
    pair: SameRows,
    points: Floats | None = None,
    *,
    errors: Callable[[str], LocalErrors] | None = None,
    target: str | int = TOP_LABEL,
    random_state: int = 0,
    progress: Progress | None = None,
    gamma: float = GAMMA,
    **measuring: Any,
) -> ModelComparison:
    """Compare two models of matched rows, as :func:`compare_models` does.

    ``points`` (n, d): these rows on a map. ``errors``: returns the local errors there of a model,
    by its name, in any thread.
    """
    if points is not None:
        points = take_rows(points, pair.first.in_split(EVALUATION))
    models = {of.name: of.evaluation for of in (pair.first, pair.second)}
    one, two = (rows.target(target) for rows in models.values())
    options: dict[str, Any] = {"target": target, "random_state": random_state}

    def summary(name: str) -> Summary:
        known = None if errors is None or points is None else errors(name)
        how: dict[str, Any] = {"local": known, "gamma": gamma, **options, **measuring}
        return summarize(models[name], points, details=False, **how)

    def measure() -> tuple[Comparison, pd.DataFrame, pd.DataFrame]:
        measured = Comparison.of(models, {name: summary(name) for name in models})
        parts = {
            name: score_parts(rows.confidence, rows.outcome, weights=rows.weights)
            for name, rows in zip(models, (one, two), strict=True)
        }
        return measured, _differences(measured, one, two), pd.DataFrame(parts).T

    tell(progress, 0.0, "measuring the models and searching subgroups")
    with ThreadPoolExecutor(thread_count(None)) as threads:
        found = threads.submit(measure)
        # (What one model predicts tells where that one errs: two models of one law differ there.)
        halves = halves_of(pair.first.evaluation, by_prediction=False, **options)
        if points is not None:  # neighbours are found once for both searches
            for half, _ in halves.turns:
                half.neighbours(points)
        search = _changed_subgroups(halves, one, two, points, threads, gamma)
    measured, differences, parts = found.result()
    summaries = {name: item.without_row_values() for name, item in measured.summaries.items()}
    measured = replace(measured, summaries=summaries)
    return ModelComparison(measured, differences, search, pair.how, parts)


def _differences(measured: Comparison, one: Target, two: Target) -> pd.DataFrame:
    """Test the second's means less the first's, all of them together."""
    before, after = (item.row_values for item in measured.summaries.values())
    assert before is not None
    assert after is not None
    columns = (after - before).dropna(axis=1)  # (held-out errors are of half of the rows)
    now, then = (of.confidence - of.outcome for of in (two, one))
    changes = {ACCURACY: two.outcome - one.outcome, GAP: now - then, _BOTH: now + then}
    for name, values in changes.items():
        columns[name] = mean_values(values, one.weights, one.units)
    largest = columns.abs().max()
    possible = np.stack([-largest, largest], axis=1)
    for name, of_class in BY_CLASS.items():
        if name in columns:
            first, second = (rows.probabilities for rows in measured.datasets.values())
            possible[list(columns).index(name)] = difference_range(
                of_class, by_blocks(of_class, first), second, weights=one.weights, units=one.units
            )
    return joint_intervals(columns, possible)


def _changed_subgroups(
    halves: Halves, one: Target, two: Target, points: Floats | None, threads: Executor, gamma: float
) -> SubgroupSearch:
    """Find subgroups whose gap changed or remained, of models of the same rows."""
    each = ALPHA / 2
    level = each / (2 * MOST_TRIED)
    before, after = (of.confidence - of.outcome for of in (one, two))
    differences = after - before, after + before

    def is_nearer_or_further(item: Tried) -> bool:
        p = (_p_of_mean(of, item.held_out, one.weights, one.units) for of in differences)
        return all(value <= level for value in p)

    how: dict[str, Any] = {"gamma": gamma, "alpha": each}
    remaining = threads.submit(halves.of_model(two).search, points, **how)
    changes = halves.of_model(two, change=True).search(points, **how, also=is_nearer_or_further)
    now = remaining.result()
    average = Average.of(one.confidence, one.outcome, "zero", one.weights, one.units)
    changed = [_changed(item, one, two) for item in changes.subgroups]
    for item in now.subgroups:
        inside = [np.isin(item.rows, other.rows).mean() > 1 - SAME for other in changes.subgroups]
        p = float(average.of_rows(item.held_out).p_value(item.sign))
        if p <= level and not any(inside):
            made = _changed(item, one, two, remains=True)
            if made.before.gap * item.sign >= _MIN_GAP:
                changed.append(made)
    order = ("new", "worse", "fixed", "better", "remaining")
    changed.sort(key=lambda item: order.index(item.kind))
    listed: list[Subgroup] = [replace(item, within=None) for item in changed]
    return replace(changes, subgroups=listed, alpha=ALPHA)


def _p_of_mean(values: Floats, rows: Ints, weights: Floats | None, units: Ints | None) -> float:
    """Two-sided p-value of a mean of 0 of some rows, however skewed, by Gaffke's bounds.

    The largest value of either sign is that of all rows: errors are rare, and some rows hold none.
    """
    each = weighed(values, weights)
    inside = each[rows]
    if (own := chosen_units(units, rows)) is not None:
        inside = np.bincount(own, inside).astype(np.float64)
    if units is not None:
        each = np.bincount(units, each).astype(np.float64)
    largest = np.abs(each).max()
    found = joint_intervals(pd.DataFrame({"mean": inside}), [[-largest, largest]])
    return float(found["p_value"].iloc[0])


def _changed(item: Subgroup, one: Target, two: Target, *, remains: bool = False) -> ChangedSubgroup:
    inside = np.zeros(len(one.confidence), dtype=bool)
    inside[item.held_out] = True
    counted: dict[str, Any] = {"weights": one.weights, "units": one.units}
    before, after = (
        region_report(of.confidence, of.outcome, inside, **counted) for of in (one, two)
    )
    ones, twos = (np.stack([rows.confidence, rows.outcome]) for rows in (one, two))
    change, both = (change_report(c, a, inside, **counted) for c, a in (twos - ones, twos + ones))
    growth = _growth(*((of.gap, of.gap_low, of.gap_high) for of in (change, both)))
    was, now = abs(before.gap), abs(after.gap)
    kind: Kind = "remaining"
    if not remains and now > was:
        kind = "new" if now >= 2 * was else "worse"
    elif not remains:
        kind = "fixed" if now <= was / 2 else "better"
    known = {part.name: getattr(item, part.name) for part in fields(Subgroup)}
    return ChangedSubgroup(
        **known, kind=kind, before=before, after=after, change=change, growth=growth
    )
