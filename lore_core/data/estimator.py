"""From any scikit-learn classifier to a dataset."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from lore_core.data.dataset import Dataset
from lore_core.data.validation import InputError


def from_estimator(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    features: Any = None,
    groups: Any = None,
    weights: ArrayLike | None = None,
) -> Dataset:
    """Let a fitted classifier predict, and keep what it said beside the truth.

    Parameters
    ----------
    estimator : fitted scikit-learn classifier
        Anything with ``predict_proba`` and ``classes_``.
    X : array-like of shape (n, p)
        Rows the classifier was not trained on.
    y : array-like of shape (n,)
        Their true classes, as in ``estimator.classes_``.
    features : array-like of shape (n, q), optional
        What "similar rows" means; by default ``X`` itself. A DataFrame brings its column names.
    groups : DataFrame or array-like of shape (n, g), optional
        Group names.
    weights : array-like of shape (n,), optional
        What each row counts for, above 0; see :class:`~lore_core.Dataset`.

    Raises
    ------
    InputError
        If the estimator gives no probabilities, or ``y`` holds a class it does not know.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression(max_iter=1000).fit(X[::2], y[::2])
    >>> from_estimator(model, X[1::2], y[1::2])
    Dataset('LogisticRegression', rows=75, classes=3, features=4)
    """
    for needed in ("predict_proba", "classes_"):
        if not hasattr(estimator, needed):
            raise InputError(
                f"'estimator' must be a fitted classifier with '{needed}'; "
                f"got {type(estimator).__name__}."
            )
    classes = np.asarray(estimator.classes_)
    truth = np.asarray(y)
    labels = np.searchsorted(classes, truth)
    unknown = (labels >= len(classes)) | (classes[np.minimum(labels, len(classes) - 1)] != truth)
    if unknown.any():
        row = int(np.flatnonzero(unknown)[0])
        raise InputError(
            f"'y' must hold only the estimator's classes {classes.tolist()}; "
            f"got {truth[row]!r} at row {row}."
        )
    return Dataset(
        probabilities=estimator.predict_proba(X),
        labels=labels,
        features=_table(X) if features is None else features,
        groups=groups,
        class_names=[str(name) for name in classes],
        name=type(estimator).__name__,
        weights=weights,
    )


def _table(X: Any) -> Any:
    """Keep a DataFrame, whose columns have names, and make anything else an array."""
    return X if isinstance(X, pd.DataFrame) else np.asarray(X)
