"""Datasets from scikit-learn classifiers."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lore_core.data.arrays import Floats
from lore_core.data.dataset import Dataset
from lore_core.data.probabilities import softmax
from lore_core.data.validation import InputError, check_rows

#: Largest sparse matrix that is made dense, in numbers: 2 GiB.
_MAX_DENSE_NUMBERS = 2**28


def from_estimator(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    features: Any = None,
    groups: Any = None,
    weights: ArrayLike | None = None,
    units: ArrayLike | None = None,
) -> Dataset:
    """Let a fitted classifier predict, and keep what it said beside the truth.

    ``estimator``: of scikit-learn, with ``classes_`` and ``predict_proba``, or else
    ``decision_function``, whose margins are read as logits: of two classes the second has
    probability 1 / (1 + exp(−margin)), of more the softmax. (:class:`~lore_core.LoReClassifier`
    scales them first.) ``X`` (n, p): rows it was not trained on; sparse or a DataFrame too. ``y``
    (n,): their true classes, as in ``estimator.classes_``. ``features`` (n, q): what "similar rows"
    means; by default ``X`` itself. A DataFrame brings its column names. ``groups`` (n, g): group
    names. ``weights, units`` (n,): what each row counts for, above 0, and what it belongs to; see
    :class:`~lore_core.Dataset`. Raises InputError if the estimator has neither method, or ``y``
    holds a class it does not know.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression(max_iter=1000).fit(X[::2], y[::2])
    >>> from_estimator(model, X[1::2], y[1::2])
    Dataset('LogisticRegression', rows=75, classes=3, features=4)
    """
    name = type(estimator).__name__
    if not hasattr(estimator, "classes_"):
        raise InputError(f"'estimator' must be a fitted classifier with 'classes_'; got {name}.")
    classes = np.asarray(estimator.classes_)
    truth = np.asarray(y)
    labels = np.searchsorted(classes, truth)
    unknown = (labels >= len(classes)) | (classes[np.minimum(labels, len(classes) - 1)] != truth)
    rule = f"hold only the estimator's classes {classes.tolist()}"
    check_rows(unknown, "y", rule, lambda row: repr(truth[row]))
    if hasattr(estimator, "predict_proba"):
        probabilities = estimator.predict_proba(X)
    else:
        probabilities = softmax(class_margins(estimator, X))
    return Dataset(
        probabilities=probabilities,
        labels=labels,
        features=feature_columns(X) if features is None else features,
        groups=groups,
        class_names=[str(name) for name in classes],
        name=name,
        weights=weights,
        units=units,
    )


def class_margins(estimator: Any, X: Any) -> Floats:
    """Return margins (n, K) of ``decision_function``; of two classes (0, margin). Or InputError."""
    name = type(estimator).__name__
    if not hasattr(estimator, "decision_function"):
        raise InputError(f"{name} must have 'predict_proba' or 'decision_function'.")
    margins = np.asarray(estimator.decision_function(X), dtype=np.float64)
    n_classes = len(estimator.classes_)
    if n_classes == 2 and margins.size == len(margins):
        return np.column_stack([np.zeros(len(margins)), margins.ravel()])
    if margins.shape[1:] != (n_classes,):
        raise InputError(
            f"'decision_function' of {name} must give each of {n_classes} classes a margin; got "
            f"shape {margins.shape}. A support vector machine needs decision_function_shape='ovr'."
        )
    return margins


def feature_columns(X: Any) -> Any:
    """Return a DataFrame as it is, else an array; InputError if sparse and too large."""
    if hasattr(X, "toarray"):
        n, p = X.shape
        if n * p > _MAX_DENSE_NUMBERS:
            raise InputError(
                f"a sparse 'X' of {n:,} × {p:,} numbers would take {n * p * 8 / 2**30:,.1f} GiB as "
                "features. Pass fewer as 'features', such as those of TruncatedSVD(50)."
            )
        return X.toarray()
    return X if hasattr(X, "columns") else np.asarray(X)
