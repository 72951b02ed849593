"""What pages compute of a view, behind this server's cache: one line each."""

from collections.abc import Callable, Hashable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import wraps
from hashlib import blake2b
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from lore_core import Comparison, Dataset, Embedding, compare_groups, composition, metrics, regions
from lore_core.comparison import ModelComparison, Summary
from lore_core.comparison.effects import compare_rewards
from lore_core.comparison.two_models import SameRows, same_rows
from lore_core.dashboard.background_tasks import estimate_gains, fit_methods
from lore_core.dashboard.large_arrays import map_arrays, release_pages
from lore_core.dashboard.worker_pool import Request, Result
from lore_core.data.progress import Progress
from lore_core.figures.browser.landscape import pack, packed_field
from lore_core.inference import VectorChance, class_table
from lore_core.regions.subgroups.find import SubgroupSearch
from lore_core.regions.subgroups.overall import Against
from lore_core.regions.subgroups.saved import identified, saved_subgroups
from lore_core.regions.subgroups.verdict import Remaining
from lore_core.view import View, inference, methods, where
from lore_core.view.methods import Grouping
from lore_core.view.scene import Scene
from lore_core.view.view import Part
from pages.shared.session import saved
from pages.shared.tasks import latest

#: What a cached result depends on. (A view's γ must not make what has all γ be computed anew.)
_BINS: tuple[Part, ...] = ("target", "n_bins", "binning")
_LOCAL: tuple[Part, ...] = (*_BINS, "gamma", "maps")
_EVERY_GAMMA: tuple[Part, ...] = (*_BINS, "maps")
#: Few rows' results are small: so many of each kind are kept, or readers push out each other's.
_FEW_ROWS, _ENTRIES = 20_000, 48
#: What a subgroup search depends on.
SEARCHED: tuple[Part, ...] = ("target", "gamma", "maps", "seed")
_FITTED: tuple[Part, ...] = ("gamma", "n_bins", "binning", "maps")
#: Of the worker pool: title, rough seconds a row (and method or class), parts of a view it needs.
_WORK: dict[Callable[..., Any], tuple[str, float, tuple[Part, ...]]] = {
    fit_methods: ("Fitting the recalibrators", 1e-5, _FITTED),
    methods.intervals_of: ("Simulating intervals", 3e-5, _FITTED),
    where.curve_of: ("Computing the curves", 5e-6, _FITTED),
    estimate_gains: ("Learning what could be gained", 2e-6, ("target", "seed")),
    methods.remaining_of: ("Testing a global method", 2e-5, (*_LOCAL, "seed")),
    methods.group_reports_of: ("Measuring groups", 3e-5, _FITTED),
    inference.chance_band_of: ("Simulating chance", 1.5e-4, _EVERY_GAMMA),
    inference.vector_errors_of: ("Computing local errors of every class", 2e-7, _FITTED),
    inference.vector_chance_of: ("Simulating every class", 2e-5, (*_FITTED, "seed")),
}
#: Work that builds on its last result of a view alike in these parts: what is fitted stays.
_BUILT_ON: dict[Callable[..., Any], tuple[Part, ...]] = {
    fit_methods: ("maps",),
    methods.remaining_of: ("target", "seed"),
}
#: How results are told apart by what they are of; what was fitted on a view by its methods.
_NAMES: dict[str | type, Callable[[Any], Hashable]] = {
    Dataset: lambda dataset: dataset.digest,
    SameRows: lambda pair: (pair.first.digest, pair.second.digest),
    Embedding: lambda embedding: embedding.digest,
    regions.Selection: lambda selection: selection.text,
    SubgroupSearch: lambda search: blake2b(
        b"|".join(subgroup.rows.tobytes() for subgroup in search.subgroups)
    ).digest(),
    Comparison: lambda result: tuple(result.datasets),
}


def work(
    function: Callable[..., Result],
    view: View,
    n_rows: int | None = None,
    of: str = "",
    **arguments: Any,
) -> Request[Result]:
    """Ask for work on rows (times methods or classes), all unless said; ``of`` names arrays."""
    title, seconds, parts = _WORK[function]
    n_rows = len(view.dataset) if n_rows is None else n_rows
    named = [value for value in arguments.values() if not isinstance(value, np.ndarray)]
    key = (view.key(*parts), of, *map(_name_of, named))
    basis = view.key(*_BUILT_ON[function]) if function in _BUILT_ON else None
    if basis is not None:
        arguments["earlier"] = latest(function, basis)
    arguments["view"] = view
    # (Subgroups are searched along every column.)
    how: dict[str, Any] = {"basis": basis, "is_whole": function == methods.remaining_of}
    return Request(function, arguments, key, title, seconds * n_rows, of, **how)


def _name_of(value: Any) -> Hashable:
    name = tuple if isinstance(value, dict) else _NAMES.get(type(value))
    return value if name is None else name(value)


def _cached(entries: int, spinner: str | bool, *parts: Part) -> Callable[[Any], Any]:
    """Keep results, ``entries`` of many rows, by what they depend on but for arguments ``_…``."""

    def keep(function: Callable[..., Any]) -> Any:
        def cache(rows: str, n_entries: int) -> Callable[..., Any]:
            @wraps(function)
            def computed(*arguments: Any, **named: Any) -> Any:
                try:
                    return function(*arguments, **named)
                finally:
                    release_pages()  # of what was looked at only for this

            computed.__qualname__ += rows  # by which Streamlit tells functions apart
            names = {View: lambda view: view.key(*parts), **_NAMES}
            how: dict[str, Any] = {"show_spinner": spinner, "hash_funcs": names}
            return st.cache_resource(max_entries=n_entries, **how)(computed)

        many, few = cache("", entries), cache(" of few rows", max(entries, _ENTRIES))

        @wraps(function)
        def cached(of: View | Dataset, *arguments: Any, **named: Any) -> Any:
            n_rows = len(of if isinstance(of, Dataset) else of.dataset)
            return (few if n_rows <= _FEW_ROWS else many)(of, *arguments, **named)

        return cached

    return keep


reliability = _cached(64, False, *_BINS)(where.reliability_of)
isotonic = _cached(64, False, "target")(where.isotonic_of)


@_cached(12, "Computing local errors …", *_LOCAL)
def errors(view: View) -> metrics.LocalErrors:
    """Local errors of the evaluation rows."""
    return map_arrays(where.errors_of(view))


@_cached(32, "Computing the curve …", *_EVERY_GAMMA)
def curve(view: View, _progress: Progress | None = None) -> metrics.BandwidthCurve:
    """MLCE and ALCE of the evaluation rows over γ; ``_progress`` may raise."""
    return where.curve_of(view, _progress)


suggestion = _cached(32, "Looking for the best γ …", "target", "binning", "maps")(
    where.suggestion_of
)
halves = _cached(4, False, "target", "seed")(where.view_halves)
telling_column = _cached(16, False)(regions.telling_column)
matching_rows = _cached(16, False)(regions.rows_with)
chance_errors = _cached(32, "Simulating chance …", *_LOCAL)(inference.chance_errors_of)
ranking = _cached(32, "Looking along every column …", "target")(where.ranking_of)
along = _cached(64, False, "target")(where.along_of)
on_grid = _cached(64, False, "target")(where.grid_of)


@_cached(12, False, *SEARCHED)
def unnamed_subgroups(view: View, against: Against) -> SubgroupSearch:
    """Subgroups of the evaluation rows as they are found, in any thread."""
    usual = halves(view)
    chosen = usual if usual.against == against else halves(view, against=against)
    return where.subgroups_of(view, halves=chosen)


def subgroups(view: View, against: Against | None = None) -> SubgroupSearch:
    """Subgroups of the evaluation rows with names; ``against``: what they are worse than."""
    is_slow = len(view.evaluation) > _FEW_ROWS
    with st.spinner("Searching subgroups …") if is_slow else nullcontext():
        usual: Against = halves(view).against
        search: SubgroupSearch = unnamed_subgroups(view, against or usual)
    known = list(saved().values())
    # A region has the id that it has in the first search at the first γ, if it is found there.
    if any(subgroup.is_region for subgroup in search.subgroups):
        first = unnamed_subgroups(view.with_(gamma=View.gamma), usual)
        known += saved_subgroups(first, view.evaluation)
    return identified(search, view.evaluation, known)


@_cached(64, "Drawing the landscape …", *_LOCAL)
def field(
    view: View, bin_index: int | None, on_map: Embedding, key: Hashable, _only: np.ndarray | None
) -> regions.Field:
    """Field of one bin, or of all rows, or only where some rows are; ``key`` names these."""
    return where.field_of(view, errors(view), bin_index=bin_index, on=on_map, only=_only)


fields = _cached(12, "Drawing the landscape …", *_EVERY_GAMMA)(where.fields_of)


@_cached(12, False, *_LOCAL)
def packed_field_at(view: View, bin_index: int | None, on_map: Embedding) -> bytes:
    """Pack the exact field on a flat map as a browser asks for it, in any thread."""
    header, arrays = packed_field(field(view, bin_index, on_map, (), None))
    return pack({"gamma": view.gamma, "field": header}, arrays)


@_cached(8, False, *_LOCAL, "seed")
def scene(view: View, bin_index: int | None, on_map: Embedding, axes: str) -> Scene:
    """Rows of one bin, or all of them, on a map called ``axes``."""
    return Scene(view, errors(view), reliability(view), bin_index, on_map, axes)


overall = _cached(32, "Testing the average …", *_BINS, "seed")(where.overall_of)


def verdict(view: View, searched: bool) -> regions.Verdict:
    """Headline of the evaluation rows, and what it rests on."""
    return where.verdict_of(view, subgroups(view) if searched else None, overall=overall(view))


@_cached(64, "Drawing the landscape …", *_FITTED)
def row_field(
    view: View, key: Hashable, on_map: Embedding, _errors: metrics.LocalErrors, _rows: np.ndarray
) -> regions.Field:
    """Rows' errors averaged on a map; ``key`` names the errors and the rows."""
    points = view.points(on=on_map)
    return regions.smoothed_field(_errors.signed, _errors.effective_size, points, rows=_rows)


@_cached(48, False, "maps")
def outline(view: View, on_map: Embedding, search: SubgroupSearch) -> regions.Outline:
    """Where on a map the rows of any subgroup lie: the same at every γ that finds them."""
    return regions.rows_outline(view.points(on=on_map), search.inside())


@_cached(48, False, "maps")
def outlines(
    view: View, on_map: Embedding, search: SubgroupSearch
) -> list[tuple[str, regions.Outline]]:
    """Where subgroups lie on a map, by their number."""
    return where.outlines_of(search, view.points(on=on_map))


@_cached(12, "Measuring …", *_BINS)
def scores(view: View) -> Summary:
    """Metrics of the evaluation rows that need neither a map nor simulations."""
    return methods.summary_of(view.with_(maps={}), n_draws=0)


@_cached(12, "Simulating intervals …")
def summary(view: View) -> Summary:
    """Every metric of the evaluation rows, with the intervals that can be waited for."""
    found = methods.summary_of(view, errors=errors(view) if view.is_local else None)
    return found.without_row_values()  # which nobody compares here


@_cached(4, "Matching the rows …")
def matched(first: Dataset, second: Dataset) -> SameRows:
    """Two models' rows in one order."""
    pair = same_rows(first, second)
    one = pair.first if pair.first is first else map_arrays(pair.first)
    return replace(pair, first=one, second=map_arrays(pair.second))


@_cached(12, "Comparing the models …", *_LOCAL, "seed")
def models(view: View, pair: SameRows) -> ModelComparison:
    """Compare another model with that of a view."""
    return methods.models_of(view, pair, errors=errors)


def fits(
    view: View, labels: tuple[str, ...], grouping: Grouping | None, measured_on: Embedding | None
) -> Request[Comparison]:
    """Return the work that fits methods and measures them, without the :func:`intervals`."""
    how: dict[str, Any] = {"labels": labels, "grouping": grouping, "measured_on": measured_on}
    return work(fit_methods, view, len(labels) * len(view.dataset), **how)


def intervals(
    view: View, result: Comparison, measured_on: Embedding | None
) -> Request[dict[str, pd.DataFrame] | None] | None:
    """Return the work that simulates intervals of :func:`fits`; None if it takes too long."""
    n_methods = len(result.datasets)
    if not methods.interval_options(view, n_methods=n_methods, on=measured_on)["n_draws"]:
        return None
    confidences = {name: item.confidence for name, item in result.datasets.items()}
    how: dict[str, Any] = {"confidences": confidences, "measured_on": measured_on}
    return work(methods.intervals_of, view, n_methods * len(view.dataset), **how)


def remaining(view: View) -> Request[Remaining | None]:
    """Return the work that searches for what the best global method leaves."""
    return work(methods.remaining_of, view)


def chance_request(view: View) -> Request[Any] | None:
    """Return the work that simulates local errors over γ; None where it cannot be waited for."""
    return work(inference.chance_band_of, view) if inference.affordable_band(view) else None


def method_curve_requests(
    view: View, result: Comparison, names: Sequence[str], on_map: Embedding
) -> list[Request[metrics.BandwidthCurve]]:
    """Return the work behind the MLCE and ALCE over γ after each of some methods."""
    n_rows, of = len(view.evaluation), result.datasets
    return [
        work(where.curve_of, view, n_rows, name, confidence=of[name].confidence, on=on_map)
        for name in names
    ]


@_cached(32, "Comparing groups …", *_FITTED)
def worst_groups(
    view: View,
    result: Comparison,
    by: Hashable,
    _names: np.ndarray,
    _measured: np.ndarray,
    min_group_size: int,
) -> pd.DataFrame:
    """Group furthest off and worst cells of every method; ``by`` names the grouping."""
    names, datasets = _names[_measured], _rows_of(result, _measured)
    return compare_groups(datasets, names, **view.bins, min_group_size=min_group_size)


def _rows_of(result: Comparison, rows: np.ndarray) -> dict[str, Dataset]:
    """Return some rows under every method."""
    return result.datasets if rows.all() else {k: v.rows(rows) for k, v in result.datasets.items()}


def group_reports(
    view: View, result: Comparison, by: Hashable, names: np.ndarray, measured: np.ndarray
) -> Request[dict[str, pd.DataFrame]]:
    """Return the work on each group's numbers under every method, of the rows measured."""
    rows = {name: item.target() for name, item in _rows_of(result, measured).items()}
    n_rows = len(rows) * int(measured.sum())
    of = blake2b(repr(by).encode(), digest_size=8).hexdigest()
    return work(methods.group_reports_of, view, n_rows, of, rows=rows, groups=names[measured])


@_cached(64, "Counting rewards …", *_FITTED)
def rewards(
    view: View,
    result: Comparison,
    who: tuple[str, str],
    _rows: np.ndarray,
    ratio: float | None = None,
) -> dict[str, metrics.RewardCurve]:
    """Reward curves of every method on some rows, or the rewards at one cost ratio."""
    return compare_rewards(result.datasets, None if ratio is None else [ratio], rows=_rows)


def vector_request(function: Callable[..., Result], view: View) -> Request[Result]:
    """Return some work on the whole vector of the evaluation rows."""
    return work(function, view, len(view.evaluation) * view.dataset.n_classes)


@_cached(32, False, *_FITTED)
def classes(view: View, _errors: metrics.VectorErrors, _chance: VectorChance) -> pd.DataFrame:
    """Every class with what chance shows, the most wrong first."""
    return class_table(view.evaluation, _errors, _chance, **view.bins)


telling = _cached(8, False, "target")(where.telling_of)


@_cached(32, False, "target")
def region_composition(
    view: View,
    key: Hashable,
    _inside: np.ndarray,
    _among: np.ndarray,
    but_for: tuple[str, ...] = (),
) -> pd.DataFrame:
    """Composition of a set of evaluation rows but for some columns; ``key`` names the set."""
    known = [item for item in telling(view) if item.name not in but_for]
    return composition(view.evaluation, _inside, among=_among, coded=known)
