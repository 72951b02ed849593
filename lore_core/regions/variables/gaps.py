"""The signed gap over the values of a column, and which columns it differs along."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import special

from lore_core.data.arrays import Floats, Ints
from lore_core.data.binning import confidence_bins
from lore_core.data.dataset import TOP_LABEL, Dataset
from lore_core.data.number_text import p_sentence, signed_points
from lore_core.data.units import as_units, chosen_units, design_effects
from lore_core.data.validation import InputError, as_rows, check_integer
from lore_core.data.weights import as_weights, chosen_weights, effective_rows, weighed
from lore_core.kernel_sums import laplacian_means
from lore_core.metrics.global_metrics import gap_table, set_means, wilson_interval
from lore_core.metrics.means import holm
from lore_core.regions.variables.attributes import telling_attributes
from lore_core.regions.variables.cutting import Attribute, cut

#: Names of a column that are shown; the rarest beyond are put together.
MAX_NAMES, _MAX_GRID_NAMES = 20, 12
#: Points of a smoothed gap, at equal steps of rows; its bandwidth as a share of the rows.
_SMOOTH_POINTS, _SMOOTH_BANDWIDTH = 121, 0.06
#: Confidence bins from which each row's chance to be right is taken for the test.
_NULL_BINS = 15
#: Values are tested with this many rows and this much variance Σ q(1 − q): with less, a gap is far
#: from normal.
_MIN_ROWS, _MIN_VARIANCE = 10, 3.0
#: Columns of a heterogeneity test, in the order of the table.
_HETEROGENEITY = (
    *("parts", "chi2", "dof", "p_value", "p_adjusted", "spread"),
    *("worst_value", "worst_rows", "worst_gap", "worst_low", "worst_high"),
)


def gap_along(
    confidence: ArrayLike,
    outcome: ArrayLike,
    values: Any,
    *,
    n_bins: int = 12,
    weights: ArrayLike | None = None,
    units: ArrayLike | None = None,
) -> pd.DataFrame:
    """Mean confidence − accuracy for each part of a number, or each name of a column.

    ``confidence, outcome`` (n,): confidences in [0, 1] and outcomes 0 or 1. ``values`` (n,): the
    column, or one that is cut already (:func:`~lore_core.regions.variables.cutting.cut`).
    ``n_bins``: parts of about equal size of a number; ties stay together. The rarest names beyond
    20 are put together as ``"other"``. ``weights`` (n,): above 0; parts are cut by rows. ``units``
    (n,): whose rows go together.

    Returns one row a part, in the order of the values, missing and other last: ``value`` (in
    words), ``border`` (to the next part of a number, in words, else empty), ``rows, confidence,
    accuracy, gap, gap_low, gap_high`` (95 %, Wilson). Parts without rows are left out. Raises
    InputError if the lengths disagree or a number is out of range.
    """
    attribute = _attribute(values, n_bins, MAX_NAMES)
    c, a = as_rows(confidence, outcome, values=attribute.codes)
    size = len(attribute.values)
    counted = as_weights(weights, len(c)), as_units(units, len(c))
    table = gap_table(c, a, attribute.codes, size, *counted)
    borders = [*attribute.borders, *[""] * (size - len(attribute.borders))]
    table.insert(0, "value", list(attribute.values))
    table.insert(1, "border", borders)
    return table[table["rows"] > 0].reset_index(drop=True)


def smooth_gap(
    confidence: ArrayLike,
    outcome: ArrayLike,
    values: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    units: ArrayLike | None = None,
) -> pd.DataFrame:
    """Kernel-smoothed gap along a number, with a pointwise band.

    ``confidence, outcome`` (n,): confidences in [0, 1] and outcomes 0 or 1. ``values`` (n,):
    numbers; rows without one are left out. ``weights`` (n,): above 0. ``units`` (n,): whose rows go
    together; their design effect over all rows divides ``n_eff``. Returns ``share`` (of the rows at
    or below, in [0, 1]), ``value``, ``gap, low, high`` (95 % at that point), ``n_eff``. Empty
    without two different numbers. Raises InputError if the values are no numbers or the lengths
    disagree.

    How it is smoothed: docs/method.md ("Along columns").
    """
    series = pd.Series(np.asarray(values))
    c, a = as_rows(confidence, outcome, values=series)
    if not pd.api.types.is_numeric_dtype(series):
        raise InputError(f"'values' must hold numbers only to be smoothed; got {series.dtype}.")
    x = series.to_numpy(np.float64)
    known = np.isfinite(x)
    w = chosen_weights(as_weights(weights, len(c)), known)
    u = chosen_units(as_units(units, len(c)), known)
    x, c, a = x[known], c[known], a[known]
    if len(x) == 0 or x.min() == x.max():
        return pd.DataFrame(columns=["share", "value", "gap", "low", "high", "n_eff"], dtype=float)
    share = (pd.Series(x).rank().to_numpy() - 0.5) / len(x)
    at = np.linspace(0.0, 1.0, _SMOOTH_POINTS)
    means = laplacian_means(at, share, np.column_stack([c, a]), w, bandwidth=_SMOOTH_BANDWIDTH)
    sure, right = means.mean[:, 0], np.clip(means.mean[:, 1], 0.0, 1.0)
    n_eff = means.effective_size
    if u is not None:
        n_eff = n_eff / design_effects(c - a, np.zeros_like(u), 1, w, u)[0]
    low, high = wilson_interval(right * n_eff, n_eff)
    return pd.DataFrame(
        {
            "share": at,
            "value": np.quantile(x, at),
            "gap": sure - right,
            "low": sure - high,
            "high": sure - low,
            "n_eff": n_eff,
        }
    )


def gap_grid(
    confidence: ArrayLike,
    outcome: ArrayLike,
    values_x: Any,
    values_y: Any,
    *,
    n_bins: int = 6,
    min_rows: int = 20,
    weights: ArrayLike | None = None,
    units: ArrayLike | None = None,
) -> pd.DataFrame:
    """Mean gap for every combination of two columns' parts.

    ``values_x, values_y`` (n,): the columns; the others as in :func:`gap_along`. ``min_rows``:
    combinations of fewer rows are not ``shown``. Returns one row a combination, those without rows
    too: ``x, y`` (ordered categories), ``rows, confidence, accuracy, gap, gap_low, gap_high,
    shown``.
    """
    across, up = (_attribute(values, n_bins, _MAX_GRID_NAMES) for values in (values_x, values_y))
    c, a = as_rows(confidence, outcome, values_x=across.codes, values_y=up.codes)
    n_x, n_y = len(across.values), len(up.values)
    codes = up.codes.astype(np.int64) * n_x + across.codes
    counted = as_weights(weights, len(c)), as_units(units, len(c))
    table = gap_table(c, a, codes, n_x * n_y, *counted)
    at_x, at_y = np.tile(np.arange(n_x), n_y), np.repeat(np.arange(n_y), n_x)
    for place, name, at, names in ((0, "x", at_x, across.values), (1, "y", at_y, up.values)):
        parts = pd.Categorical.from_codes(at, pd.Index(names), ordered=True)
        table.insert(place, name, pd.Series(parts))
    table["shown"] = table["rows"] >= check_integer(min_rows, "min_rows")
    return table


def rank_variables(
    dataset: Dataset, *, target: str | int = TOP_LABEL, n_bins: int = 12
) -> pd.DataFrame:
    """Rank all columns by the evidence that the gap differs along them: where to look first.

    The true class, columns that tell it or which rows are right, and identifiers are left out:
    along the answer even a calibrated model looks wrong. ``target``: see
    :meth:`~lore_core.data.dataset.Dataset.target`. ``n_bins``: most parts of a number.

    Returns strongest evidence first: ``variable, origin, parts`` (tested), ``chi2, dof, p_value,
    p_adjusted`` (Holm, for all variables ranked), ``spread`` (standard deviation of the true gaps
    over the parts: DerSimonian, Laird, Controlled Clinical Trials 7, 1986), and of the part whose
    95 % interval ends furthest from 0, ``worst_value, worst_rows, worst_gap, worst_low,
    worst_high``.

    The test is Cochran's Q: docs/method.md ("Along columns").
    """
    target_rows = dataset.target(target)
    c, a, w = target_rows.confidence, target_rows.outcome, as_weights(target_rows.weights)
    bins = confidence_bins(c, _NULL_BINS, "equal-mass")
    index = bins.assign(c)
    # Chance of each row to be right: the accuracy at its confidence, drawn to 1/2 by one row.
    right = np.bincount(index, weights=weighed(a, w), minlength=bins.n_bins) + 0.5
    q = (right / (np.bincount(index, weights=w, minlength=bins.n_bins) + 1))[index]
    most = check_integer(n_bins, "n_bins", minimum=2)
    doubt = (q * (1 - q)).sum() * effective_rows(w, len(c)) / len(c)
    n_parts = int(np.clip(doubt / (2 * _MIN_VARIANCE), 2, most))
    records = []
    for attribute in telling_attributes(dataset, target=target, n_parts=n_parts):
        few = _few_names(attribute, MAX_NAMES)
        record = _heterogeneity(c, a, w, target_rows.units, q, few)
        if record is not None:
            records.append({"variable": attribute.name, "origin": attribute.origin, **record})
    frame = pd.DataFrame(records, columns=["variable", "origin", *_HETEROGENEITY])
    frame = frame.sort_values("p_value", kind="stable", ignore_index=True)
    return frame.assign(p_adjusted=holm(frame["p_value"].to_numpy(np.float64)))


def describe_variable(name: str, table: pd.DataFrame, ranking: pd.DataFrame) -> str:
    """Say how the gap runs along a variable, and whether the differences are significant.

    ``table``: from :func:`gap_along`. ``ranking``: from :func:`rank_variables`.
    """
    enough = table[table["rows"] >= min(_MIN_ROWS, int(table["rows"].max()))]
    gap = enough["gap"].to_numpy()
    low, high = enough.iloc[int(gap.argmin())], enough.iloc[int(gap.argmax())]
    text = (
        f"Along {name} the gap runs from {signed_points(low['gap'])} points ({low['value']}, "
        f"{low['rows']:,} rows) to {signed_points(high['gap'])} ({high['value']}, "
        f"{high['rows']:,} rows)"
    )
    ranked = ranking[ranking["variable"] == name]
    if ranked.empty:
        return f"{text}."
    p, size = float(ranked["p_adjusted"].iloc[0]), len(ranking)
    if size > 1 and ranking["p_adjusted"].min() >= 0.05:
        text = f"None of the {size:,} variables tested makes a significant difference. {text}"
    many = "" if size == 1 else f", adjusted for the {size:,} variables tested"
    verdict = "a significant difference" if p < 0.05 else "not a significant difference"
    return f"{text}: {verdict} ({p_sentence(p)}{many})."


def _attribute(values: Any, n_bins: int, max_names: int) -> Attribute:
    n_bins = check_integer(n_bins, "n_bins", minimum=2)
    given = values if isinstance(values, Attribute) else cut("values", values, n_parts=n_bins)
    return _few_names(given, max_names)


def _few_names(attribute: Attribute, most: int) -> Attribute:
    """Put the rarest names together where there are more than can be shown."""
    size = len(attribute.values)
    if attribute.numeric or size <= most:
        return attribute
    count = np.bincount(attribute.codes, minlength=size)
    frequent = np.sort(np.argsort(-count, kind="stable")[: most - 1])
    code = np.full(size, len(frequent), dtype=np.int64)
    code[frequent] = np.arange(len(frequent))
    names = (*(attribute.values[k] for k in frequent), f"other ({size - len(frequent):,} values)")
    return Attribute(attribute.name, attribute.origin, code[attribute.codes], names)


def _heterogeneity(
    c: Floats, a: Floats, w: Floats | None, u: Ints | None, q: Floats, attribute: Attribute
) -> dict[str, Any] | None:
    size = len(attribute.values)
    of = set_means(c, a, attribute.codes, size, w, u)
    square = np.ones(len(c)) if w is None else w**2
    variance = of.design * np.bincount(attribute.codes, square * (q * (1 - q)), size)
    # So much of it as that of the equal rows that a part is worth.
    of_equal = variance * np.square(of.worth / np.where(of.mass > 0, of.mass, 1.0))
    used = np.flatnonzero((of.worth >= _MIN_ROWS) & (of_equal >= _MIN_VARIANCE))
    if len(used) < 2:
        return None
    gap, low, high = (of.confidence - end for end in (of.accuracy, of.high, of.low))
    off = gap[used]
    weight = of.mass[used] ** 2 / variance[used]
    mean = (weight * off).sum() / weight.sum()
    chi2, dof = float((weight * (off - mean) ** 2).sum()), len(used) - 1
    excess = (chi2 - dof) / (weight.sum() - (weight**2).sum() / weight.sum())
    worst = used[int(np.argmax(np.maximum(low, -high)[used]))]
    return {
        "parts": len(used),
        "chi2": chi2,
        "dof": dof,
        "p_value": float(special.chdtrc(dof, chi2)),
        "spread": float(np.sqrt(max(excess, 0.0))),
        "worst_value": attribute.values[worst],
        "worst_rows": int(of.rows[worst]),
        "worst_gap": float(gap[worst]),
        "worst_low": float(low[worst]),
        "worst_high": float(high[worst]),
    }
