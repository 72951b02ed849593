"""Enrichment: the values that are over-represented in a set of rows, with intervals."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.dataset import Dataset
from lore_core.data.number_text import share_words
from lore_core.data.validation import InputError, check_lengths
from lore_core.metrics.global_metrics import NORMAL_95
from lore_core.metrics.means import holm
from lore_core.regions.subgroups.candidates import Condition, conditions_of
from lore_core.regions.variables.attributes import (
    PAIR,
    PREDICTED,
    RIGHT,
    TRUE,
    Predicate,
    attributes,
)
from lore_core.regions.variables.cutting import Attribute

#: What words of texts are called among the columns.
WORDS = "words"
#: Key of ``frame.attrs`` under which :func:`composition` says how many values it looked at.
LOOKED_AT = "looked_at"
#: Halvings of the search for an end of the interval: beyond double precision.
_HALVINGS = 70
#: The range of ratios the search looks at, as powers of e.
_LARGEST_LOG = 40.0
#: Values held by fewer rows are not looked at.
_FEWEST_ROWS = 5
#: What a sentence names: values of so many columns, of this adjusted p-value at most, so many times
#: as frequent inside as outside, and held by this share of the set.
_MOST_NAMED, _SIGNIFICANCE, _MIN_LIFT, _MIN_SHARE = 3, 0.05, 1.25, 0.1
#: The least lift of words: many are looked at, and one is always somewhat more frequent.
_MIN_WORD_LIFT = 3.0
#: Smaller p-values are only put in order.
_SMALLEST = 1e-250


def composition(
    dataset: Dataset,
    inside: ArrayLike,
    *,
    among: ArrayLike | None = None,
    coded: Sequence[Attribute] | None = None,
) -> pd.DataFrame:
    """List the values that rows inside hold more often than the rows they are compared with.

    ``dataset``: all rows; looked at are :func:`~lore_core.regions.variables.attributes.attributes`.
    ``inside`` (n,): the set. ``among`` (n,): the rows it was drawn from (default: all); those not
    inside are the comparison. ``coded``: ``attributes(dataset)``, computed once for many sets.

    Returns over-represented values, strongest evidence first: ``attribute, value, rows_inside,
    rows`` (of ``among``), ``share_inside, share_outside, lift`` (their ratio, inf where no row
    outside holds the value), ``lift_low, lift_high`` (95 %, of that one value), ``p_value``
    (Fisher's exact test) and ``p_adjusted`` (Holm, for all ``frame.attrs["looked_at"]`` values
    looked at). Of a number only the range of its quarters with the strongest evidence is listed.
    Rows are counted, whatever their weights; of rows of units p-values and intervals are those of
    so many units, at the same shares. Empty where the set or its complement is. Raises
    InputError if a mask or a column has another number of rows than the dataset.

    At most 5 % of sets chosen without regard to the columns show any ``p_adjusted`` below 0.05.
    """
    n = len(dataset)
    around = np.ones(n, dtype=bool) if among is None else _mask(among, "among", n)
    known = attributes(dataset) if coded is None else coded
    return _enriched(known, inside, around, dataset.n_units / n)[0]


def _enriched(
    coded: Sequence[Attribute], inside: ArrayLike, around: Mask, worth: float = 1.0
) -> tuple[pd.DataFrame, list[tuple[Attribute, Condition]]]:
    """Return :func:`composition`, and the column and its part behind each of its rows.

    ``worth``: how many independent rows p-values take a row for.
    """
    members = _mask(inside, "inside", len(around)) & around
    n_inside, n_outside = int(members.sum()), int((around & ~members).sum())
    parts: list[tuple[Attribute, Condition]] = []
    counts = [np.empty((2, 0), dtype=np.int64)]
    for attribute in coded if n_inside and n_outside else ():
        values, count = _counts(attribute, members, around)
        parts += [(attribute, value) for value in values]
        counts.append(count)
    within, total = np.concatenate(counts, axis=1)
    from scipy import stats  # slow to import

    sizes = within, n_inside + n_outside, total, n_inside
    found, *drawn = (np.rint(worth * np.asarray(size)).astype(np.int64) for size in sizes)
    p = np.minimum(stats.hypergeom.sf(found - 1, *drawn), 1.0)
    adjusted = holm(p)
    with np.errstate(divide="ignore", invalid="ignore"):
        share_in, share_out = within / n_inside, (total - within) / n_outside
        lift = share_in / share_out
        # Where p is too small for a number, this orders them.
        square = (share_in - share_out) ** 2 / (total * (n_inside + n_outside - total))
    over = np.flatnonzero(share_in > share_out)
    order = over[np.lexsort((-square[over], np.maximum(p, _SMALLEST)[over]))]
    of_number = [parts[k][0].name if parts[k][0].numeric else k for k in order]
    order = order[~pd.Series(of_number, dtype=object).duplicated().to_numpy(dtype=bool)]
    counted = within[order], n_inside, (total - within)[order], n_outside
    low, high = ratio_interval(*(worth * np.asarray(size) for size in counted))
    frame = pd.DataFrame(
        {
            "attribute": [WORDS if parts[k][0].words else parts[k][0].name for k in order],
            "value": [_name(*parts[k]) for k in order],
            "rows_inside": within[order],
            "rows": total[order],
            "share_inside": share_in[order],
            "share_outside": share_out[order],
            "lift": lift[order],
            "lift_low": low,
            "lift_high": high,
            "p_value": p[order],
            "p_adjusted": adjusted[order],
        }
    )
    frame.attrs[LOOKED_AT] = len(parts)
    return frame, [parts[k] for k in order]


def region_label(inside: Mask, coded: Sequence[Attribute]) -> tuple[Predicate, ...]:
    """Return what more than half of some rows hold, significantly more often than the others.

    ``coded``: columns of all rows. First a value, or two of one column together: of the predicted
    class, else of another column, else words; then brightness, if it is low or high. Features only
    where there is nothing else. Empty where nothing sets the rows apart.
    """
    frame, parts = _enriched(coded, inside, np.ones(len(inside), dtype=bool))
    least = np.where(frame["attribute"] == WORDS, _MIN_WORD_LIFT, _MIN_LIFT)
    clear = np.flatnonzero((frame["p_adjusted"] <= _SIGNIFICANCE) & (frame["lift"] >= least))
    mostly = [k for k in clear if frame["share_inside"][k] > 0.5]
    kinds: dict[int, list[tuple[Predicate, ...]]] = {kind: [] for kind in range(5)}
    for k in mostly:
        attribute, condition = parts[k]
        part = condition.predicate([attribute])
        is_end = -math.inf in (part.low, part.high) or math.inf in (part.low, part.high)
        if attribute.origin != "image" or (is_end and frame["rows"][k] <= len(inside) / 2):
            kinds[_kind(attribute)].append((part,))
    for name in dict.fromkeys(parts[k][0].name for k in clear):
        two = [k for k in clear if parts[k][0].name == name][:2]
        is_named = not (parts[two[0]][0].numeric or parts[two[0]][0].words)
        alone = any(parts[k][0].name == name for k in mostly)
        if is_named and not alone and sum(frame["share_inside"][k] for k in two) > 0.5:
            pair = tuple(parts[k][1].predicate([parts[k][0]]) for k in two)
            kinds[_kind(parts[two[0]][0])].append(pair)
    named = next((kinds[kind][0] for kind in range(3) if kinds[kind]), ())
    shown = (*named, *(kinds[3][0] if kinds[3] else ()))
    return shown or tuple(part for (part,) in kinds[4][:2])


def _kind(attribute: Attribute) -> int:
    """Return how soon a column names a region: the smallest first."""
    if attribute.name == PREDICTED:
        return 0
    return {"text": 2, "image": 3, "feature": 4}.get(attribute.origin, 1)


def _counts(attribute: Attribute, members: Mask, around: Mask) -> tuple[list[Condition], Ints]:
    """Values (of a number: ranges) to look at, and their rows inside and in all, (2, values)."""
    conditions = conditions_of(attribute, 0)
    if attribute.numeric:
        conditions.append(Condition(0, 0, len(attribute.borders) + 1))
    first, end = np.array([(item.first, item.end) for item in conditions]).T
    within, total = (
        np.append(0, np.cumsum(np.bincount(attribute.codes[rows], minlength=end.max())))
        for rows in (members, around)
    )
    within, total = within[end] - within[first], total[end] - total[first]
    # What all rows hold, and what hardly any row holds, cannot set a set apart.
    enough = (total >= _FEWEST_ROWS) & (total < around.sum())
    if attribute.name == PAIR:
        enough &= np.array([attribute.values[k] != RIGHT for k in first])
    looked_at = [conditions[k] for k in np.flatnonzero(enough)]
    return looked_at, np.stack([within[enough], total[enough]])


def _name(attribute: Attribute, condition: Condition) -> str:
    if attribute.numeric and (condition.first, condition.end) == (0, len(attribute.borders) + 1):
        return "known"
    predicate = condition.predicate([attribute])
    return str(predicate) if attribute.words else predicate.value


def describe_composition(frame: pd.DataFrame) -> str:
    """Say in a line what a set is mostly made of.

    ``frame``: from :func:`composition`. At most three columns are named, by significant values with
    a lift of 1.25 or more that a tenth of the set or more holds.

    Returns such as "mostly predicted T-shirt (63 % of these rows, 4 % of the others), more often
    than elsewhere brightness < 0.21 (48 % against 25 %)", to stand in a sentence. "Mostly" is said
    of more than half of the rows. The true class is left out: where the confidence is wrong it
    differs from the predicted one by necessity.
    """
    looked_at = int(frame.attrs.get(LOOKED_AT, len(frame)))
    if looked_at == 0:
        return "nothing to compare with"
    clear = frame[
        (frame["p_adjusted"] <= _SIGNIFICANCE)
        & (frame["lift"] >= _MIN_LIFT)
        & (frame["share_inside"] >= _MIN_SHARE)
        & ~frame["attribute"].isin([TRUE, PAIR])
    ]
    if clear.empty:
        return f"like the rest: none of {looked_at:,} values is significantly more frequent"
    named = clear.drop_duplicates("attribute").head(_MOST_NAMED)
    most = named["share_inside"] > 0.5
    parts: list[str] = []
    for how, rows in (("mostly", named[most]), ("more often than elsewhere", named[~most])):
        for k, row in enumerate(rows.to_dict("records")):
            inside, outside = share_words(row["share_inside"]), share_words(row["share_outside"])
            shares = (
                f"{inside} against {outside}"
                if parts
                else f"{inside} of these rows, {outside} of the others"
            )
            name, value = row["attribute"], row["value"]
            start = {PREDICTED: "predicted ", WORDS: ""}.get(name, f"{name} ")
            text = f"{start}{value} ({shares})"
            parts.append(text if k else f"{how} {text}")
    return ", ".join(parts)


def ratio_interval(
    k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike
) -> tuple[Floats, Floats]:
    """95 % score interval of the ratio of two independent shares, (k1/n1) / (k2/n2).

    The ratios θ that a score test of p1 = θ p2 does not reject. Coverage stays near 95 % at small
    and zero counts, where Katz's log interval fails. Low is 0 where k1 = 0, high is inf where k2 =
    0.

    Koopman, "Confidence intervals for the ratio of two binomial proportions", Biometrics 40, 1984.
    Miettinen, Nurminen, "Comparative analysis of two rates", Statistics in Medicine 4, 1985.
    """
    a, m, b, n = np.broadcast_arrays(
        *(np.asarray(part, dtype=np.float64) for part in (k1, n1, k2, n2))
    )

    def end(z: float) -> Floats:
        """Return the ratio at which the score falls to ``z``."""
        low, high = np.full(a.shape, -_LARGEST_LOG), np.full(a.shape, _LARGEST_LOG)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            above = _score(a, m, b, n, np.exp(middle)) > z
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        return np.asarray(np.exp((low + high) / 2))

    return np.where(a == 0, 0.0, end(NORMAL_95)), np.where(b == 0, np.inf, end(-NORMAL_95))


def _score(a: Floats, m: Floats, b: Floats, n: Floats, theta: Floats) -> Floats:
    """Return how many standard deviations a/m − θ b/n is from 0 if p1 = θ p2."""
    # The likeliest p2 solves A p² + B p + C = 0.
    big = (m + n) * theta
    half = -(m * theta + a + n + b * theta) / 2
    root = np.sqrt(np.maximum(half**2 - big * (a + b), 0.0))
    p2 = (a + b) / (-half + root)
    p1 = np.minimum(theta * p2, 1.0)
    variance = p1 * (1 - p1) / m + theta**2 * np.maximum(p2 * (1 - p2), 0.0) / n
    with np.errstate(divide="ignore", invalid="ignore"):
        score = (a / m - theta * b / n) / np.sqrt(variance)
    return np.asarray(np.nan_to_num(score, nan=0.0, posinf=np.inf, neginf=-np.inf))


def _mask(values: ArrayLike, name: str, n: int) -> Mask:
    mask = np.asarray(values)
    if mask.dtype != np.bool_ or mask.ndim != 1:
        raise InputError(f"'{name}' must be a mask, one True or False a row; got {mask.dtype}.")
    check_lengths(**{name: mask, "dataset": range(n)})
    return mask
