"""Checks of all input: finite first, then range, then how the parts fit together."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.errors import InputError as InputError
from lore_core.data.probabilities import undo_rounded_sums


class Placed(Protocol):
    """What has coordinates: an :class:`~lore_core.embedding.Embedding`."""

    @property
    def coordinates(self) -> Floats:
        """Shape (n, d)."""
        ...


#: An embedding, or coordinates of shape (n, d) or (n,).
Points: TypeAlias = "Placed | ArrayLike"
#: Rows on no map, on one, or on several by name.
OnMaps: TypeAlias = "Points | Mapping[str, Points] | None"

Value = TypeVar("Value")

#: Largest deviation of a row's sum from 1.
SUM_TOLERANCE = 1e-3
#: The same of bfloat16, whose numbers are off by up to 0.4 %.
_COARSE_TOLERANCE = 1e-2
#: How far outside [0, 1] rounding may push a probability.
RANGE_TOLERANCE = 1e-6
#: Accepted by float() or as whole numbers, but no numbers here.
_NO_NUMBERS = (str, bytes, bytearray, bool, np.bool_, np.complexfloating, np.timedelta64)
#: Of features.
LARGEST = 1e150


def in_memory(values: Any) -> Any:
    """Return another library's tensor as a NumPy array (bfloat16 as float32); else as it is."""
    if isinstance(values, np.ndarray):
        return values
    if hasattr(values, "detach") and hasattr(values, "cpu"):
        plain = values.detach().cpu()
        return (plain.float() if "bfloat16" in str(plain.dtype) else plain).numpy()
    if hasattr(values, "__dlpack__") and not hasattr(values, "__array__"):
        return np.from_dlpack(values)
    return values


def _check_real(values: Any, name: str) -> None:
    """Refuse what numpy would silently change: masked values and imaginary parts."""
    hidden = np.atleast_1d(np.ma.getmask(values))
    rows = np.asarray(hidden.any(axis=tuple(range(1, hidden.ndim))))
    fix = "Drop or fill these rows."
    check_rows(rows, name, "be known in every row", lambda _: "a masked value", fix)
    if np.iscomplexobj(values):
        raise InputError(f"'{name}' must hold real numbers; got complex ones. Pass the real part.")


def _as_float(values: ArrayLike, name: str) -> Floats:
    values = in_memory(values)
    _check_real(values, name)
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"'{name}' must hold numbers only; got {_kind(values)}.") from error
    return array


def _kind(values: Any) -> str:
    array = np.asarray(values, dtype=object)
    for index, value in np.ndenumerate(array):
        try:
            float(value)
        except (TypeError, ValueError):
            return f"{value!r} at row {(*index, 0)[0]}"
    return type(values).__name__


def check_rows(bad: Mask, name: str, rule: str, got: Callable[[int], Any], fix: str = "") -> None:
    """Raise InputError for the first bad row: rule, its value (``got``) and fix."""
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        found = f"{got(row)} at row {row} ({int(bad.sum())} such rows)"
        raise InputError(f"'{name}' must {rule}; got {found}. {fix}".rstrip())


def check_finite(array: Floats, name: str) -> None:
    """Raise InputError for the first row (n, …) that holds NaN or infinity."""
    finite = np.isfinite(array)
    if finite.all():  # (Row by row takes several times as long.)
        return
    bad = np.asarray(~finite if finite.ndim == 1 else ~finite.all(axis=tuple(range(1, array.ndim))))
    check_rows(bad, name, "be finite", lambda row: array[row], "Drop or fill these rows.")


def _check_axes(array: NDArray[Any], name: str, *others: str) -> None:
    """Check that an array has rows, and beside them the ``others`` as axes."""
    if array.ndim != 1 + len(others) or 0 in array.shape[1:]:
        rule = f"have shape (rows, {', '.join(others)})" if others else "be one-dimensional"
        raise InputError(f"'{name}' must {rule}; got shape {array.shape}.")
    if len(array) == 0:
        raise InputError(f"'{name}' must have at least one row; got none.")


def as_vector(values: ArrayLike, name: str) -> Floats:
    """Return a float64 vector; InputError if empty, of more axes, or not finite."""
    array = _as_float(values, name)
    _check_axes(array, name)
    check_finite(array, name)
    return array


def as_confidence(values: ArrayLike, name: str = "confidence") -> Floats:
    """Return confidences (n,) in [0, 1], clipped if at most 1e-6 outside; InputError if invalid."""
    array = as_vector(values, name)
    bad = (array < -RANGE_TOLERANCE) | (array > 1 + RANGE_TOLERANCE)
    fix = "Pass probabilities, not scores or percentages."
    check_rows(bad, name, "lie in [0, 1]", lambda row: f"{array[row]:.6g}", fix)
    return np.clip(array, 0.0, 1.0)


def as_outcome(values: ArrayLike) -> Floats:
    """Return outcomes as a float64 vector of 0 and 1; InputError if they are anything else."""
    array = as_vector(values, "outcome")
    bad = (array != 0) & (array != 1)
    fix = "Pass 1 where the prediction was right and 0 where it was wrong."
    check_rows(bad, "outcome", "hold only 0 and 1", lambda row: f"{array[row]:.6g}", fix)
    return array


def as_probabilities(
    values: ArrayLike, name: str = "probabilities", *, owned: bool = False
) -> Floats:
    """Return class probabilities as a float64 matrix (n, K) whose rows sum to 1.

    A vector (n,) is P(y = 1). Sums within 1e-3 of 1 (bfloat16: 1e-2) are rescaled, others only if
    rounded decimals explain them; else InputError, calling them ``name``. ``owned``: may be
    changed in place.
    """
    coarse = str(getattr(values, "dtype", "")).endswith("bfloat16")
    array = _as_float(values, name)
    if array.ndim == 1:
        positive = as_confidence(array, name)
        return np.column_stack([1.0 - positive, positive])
    _check_axes(array, name, "classes")
    if array.shape[1] == 1:
        return as_probabilities(array[:, 0], name)
    check_finite(array, name)
    if array.min() < -RANGE_TOLERANCE or array.max() > 1 + RANGE_TOLERANCE:
        outside = (array < -RANGE_TOLERANCE) | (array > 1 + RANGE_TOLERANCE)
        bad = np.asarray(outside.any(axis=1))
        worst = array[np.arange(len(array)), np.abs(array - 0.5).argmax(axis=1)]
        fix = "If these are scores, pass them as logits."
        check_rows(bad, name, "lie in [0, 1]", lambda row: f"{worst[row]:.6g}", fix)
    array = np.clip(array, 0.0, 1.0, out=array if owned else None)
    tolerance = _COARSE_TOLERANCE if coarse else SUM_TOLERANCE
    restored, total, bad = undo_rounded_sums(array, tolerance)
    fix = "Pass one column for every class."
    check_rows(bad, name, "sum to 1 in each row", lambda row: f"{total[row]:.6g}", fix)
    restored /= (total if restored is array else restored.sum(axis=1))[:, None]
    return restored


def as_labels(values: ArrayLike, n_classes: int, name: str = "labels") -> Ints:
    """Return int64 class indices; InputError if not whole numbers in 0 … K−1."""
    array = as_vector(values, name)
    bad = (array != np.floor(array)) | (array < 0) | (array >= n_classes)
    rule = f"be class indices 0 to {n_classes - 1}"
    check_rows(bad, name, rule, lambda row: f"{array[row]:.6g}")
    return array.astype(np.int64)


def as_coordinates(values: Points, name: str = "embedding") -> Floats:
    """Return an Embedding's or array's coordinates as C-ordered float64 (n, d)."""
    given: Any = values
    array = _as_float(getattr(given, "coordinates", given), name)
    if array.ndim == 1:
        array = array[:, None]
    _check_axes(array, name, "dimensions")
    check_finite(array, name)
    return np.ascontiguousarray(array)


def as_rows(confidence: ArrayLike, outcome: ArrayLike, **others: Any) -> tuple[Floats, Floats]:
    """Return confidences and outcomes, checked to have as many rows as the others."""
    c, a = as_confidence(confidence), as_outcome(outcome)
    check_lengths(outcome=a, confidence=c, **others)
    return c, a


def as_placed_rows(
    confidence: ArrayLike, outcome: ArrayLike, embedding: Points
) -> tuple[Floats, Floats, Floats]:
    """Return confidences, outcomes and coordinates (n, d), of as many rows."""
    c, a = as_rows(confidence, outcome)
    z = as_coordinates(embedding)
    check_lengths(embedding=z, confidence=c)
    return c, a, z


def as_group_labels(values: Any, name: str = "groups") -> NDArray[np.object_]:
    """Return one group name a row; several columns become their intersection, ``"a × b"``."""
    array = np.asarray(in_memory(values))
    if array.ndim == 2:
        array = np.array([" × ".join(map(str, row)) for row in array], dtype=object)
    _check_axes(array, name)
    return np.array([str(value) for value in array], dtype=object)


def as_features(values: Any) -> NDArray[np.floating[Any]] | None:
    """Return features as a finite matrix of the same precision, or None."""
    if values is None:
        return None
    values = in_memory(values)
    _check_real(values, "features")
    array: NDArray[np.floating[Any]] = np.asarray(values)
    if array.dtype == np.float16:
        array = array.astype(np.float32)
    elif array.dtype not in (np.float32, np.float64):
        array = _as_float(values, "features")
    if array.ndim != 2:
        array = array.reshape(len(array), math.prod(array.shape[1:]))
    # (Larger numbers have squares that overflow; NaN is neither above nor below.)
    limit = min(LARGEST, float(np.finfo(array.dtype).max))
    good = (array >= -limit) & (array <= limit)
    if not good.all():
        row, column = (int(k) for k in np.argwhere(~good)[0])
        got = f"{array[row, column]:g} in column {column}"
        rule, fix = f"be finite, within ±{LARGEST:g}", "Drop or fill these, or divide all values."
        check_rows(np.asarray(~good.all(axis=1)), "features", rule, lambda _: got, fix)
    return array if array.shape[1] else None


def as_feature_names(
    names: Sequence[str] | None, features: NDArray[Any] | None
) -> tuple[str, ...] | None:
    """Return one name a feature; None where they are only numbered."""
    if names is None or features is None:
        return None
    texts = _as_names(names, features.shape[1], "feature_names")
    for twice in repeated(texts):
        raise InputError(f"'feature_names' must differ; got {twice!r} twice.")
    # Numbers for names are what features without names are called anyway.
    return None if texts == tuple(f"f_{k}" for k in range(len(texts))) else texts


def repeated(names: Iterable[str]) -> list[str]:
    """Return the names that occur more than once."""
    return [name for name, count in Counter(names).items() if count > 1]


def as_class_names(values: Any, n_classes: int) -> tuple[str, ...]:
    """Return one name a class, numbers by default."""
    if values is None:
        return tuple(str(k) for k in range(n_classes))
    return _as_names(values, n_classes, "class_names")


def _as_names(values: Iterable[Any], count: int, name: str) -> tuple[str, ...]:
    names = tuple(map(str, values))
    if len(names) != count:
        raise InputError(f"'{name}' must hold {count:,} names; got {len(names):,}.")
    return names


def check_lengths(**arrays: Any) -> int:
    """Return the common number of rows, or raise InputError on the first two that differ."""
    lengths = {name: len(array) for name, array in arrays.items() if array is not None}
    (first, n), *rest = lengths.items()
    for name, m in rest:
        if m != n:
            raise InputError(f"'{name}' must have as many rows as '{first}'; got {m:,} and {n:,}.")
    return n


def as_number(value: Any) -> float:
    """Return a number; NaN for anything else: text, truth values and complex numbers."""
    try:
        return np.nan if isinstance(value, _NO_NUMBERS) or value is np.ma.masked else float(value)
    except (TypeError, ValueError):
        return np.nan
    except OverflowError:  # a whole number beyond floats
        return np.inf


def check_positive(value: float, name: str) -> float:
    """Return a finite number above 0, or raise InputError."""
    number = as_number(value)
    if not (np.isfinite(number) and number > 0):
        got = repr(value) if np.isnan(number) else f"{number:g}"
        raise InputError(f"'{name}' must be a finite number above 0; got {got}.")
    return number


def check_share(value: float, name: str) -> float:
    """Return a number strictly between 0 and 1, or raise InputError."""
    if not 0 < value < 1:
        raise InputError(f"'{name}' must lie strictly between 0 and 1; got {value!r}.")
    return float(value)


def check_integer(value: int, name: str, *, minimum: int = 1, maximum: int | None = None) -> int:
    """Return a whole number within its range, or raise InputError."""
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, _NO_NUMBERS)
    if not is_whole or value < minimum or (maximum is not None and value > maximum):
        upper = "inf)" if maximum is None else f"{maximum}]"
        raise InputError(f"'{name}' must be a whole number in [{minimum}, {upper}; got {value!r}.")
    return int(value)


def check_flag(value: bool, name: str) -> bool:
    """Return True or False, or raise InputError."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"'{name}' must be True or False; got {value!r}.")
    return bool(value)


def check_name(value: str, name: str) -> str:
    """Return a name, or raise InputError."""
    if not isinstance(value, str):
        raise InputError(f"'{name}' must be a name; got {value!r}.")
    return value


def check_each(values: Iterable[Any], name: str, check: Callable[[Any, str], Value]) -> list[Value]:
    """Return one or more values, each as ``check`` returns it."""
    no_list = isinstance(values, (str, bytes, bytearray, Mapping)) or not np.iterable(values)
    is_list = hasattr(values, "__getitem__") and not no_list
    found = [check(value, name) for value in values] if is_list else []
    if not found:
        raise InputError(f"'{name}' must be a list of one or more values; got {values!r}.")
    return found
