"""Local recalibration as a scikit-learn classifier: any classifier in, calibrated one out."""

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, get_tags, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_method_params,
    assert_all_finite,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
)

from lore_core.data.arrays import Floats, Ints
from lore_core.data.dataset import Dataset
from lore_core.data.estimator import class_margins, feature_columns
from lore_core.data.probabilities import softmax
from lore_core.data.validation import InputError, as_vector, check_lengths, check_rows
from lore_core.embedding import Embedding
from lore_core.embedding.embed import make_maps
from lore_core.recalibration import Recalibrator, SmoothLoRe, TemperatureScaling

#: Rows to fit a classifier on, and rows it then predicts.
Split = tuple[Ints, Ints]


class LoReClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose probabilities are recalibrated where they are locally wrong.

    ``estimator``: with ``predict_proba`` or ``decision_function``; copied. A ``FrozenEstimator`` is
    used as it is, and all rows of ``fit`` calibrate, whatever ``cv`` is. By default a logistic
    regression. ``recalibrator``: by default :class:`~lore_core.recalibration.SmoothLoRe`; copied.
    Grids search its parameters as ``recalibrator__gamma``. ``feature_map``: one or several maps on
    which rows are near each other, fitted on the rows of ``fit`` without their labels, such as
    ``"umap-3"`` or ``"identity"``; ``"pca-20"`` has at most as many dimensions as there are
    features. LoRe smooth weighs all, other methods take the first. ``features``: computes the
    features of map and recalibrator, an object with ``transform`` (copied, and fitted if it is not)
    or a function of ``X``. By default ``X`` itself, which must then be numbers, unless only
    probabilities are used; a sparse ``X`` is made dense, up to 2 GiB. ``cv``: a share in (0, 1) of
    each class is held out to calibrate on, else as in scikit-learn: a number of stratified folds,
    None for five, an object with ``split``, or (train, test) indices, as of a splitter that needs
    groups; ``"prefit"``: the classifier is fitted, and all rows of ``fit`` calibrate.
    ``random_state``: seed of the rows that are held out, and of the map.

    Fitted: ``classes_``; ``estimator_``; ``recalibrator_``, which ``recalibrator_.save("m.lore")``
    ships; ``maps_``, by name, none where the recalibrator needs none; ``margin_scale_``, what the
    margins of a classifier without ``predict_proba`` are divided by, else None.

    Which rows calibrate, and how margins become probabilities, which a saved recalibrator is to be
    given: docs/recalibrators.md ("How they work"). ``predict`` gives the class that is most
    probable *after* recalibration. With the default recalibrator a row of weight 2 is not two rows.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from lore_core import LoReClassifier, negative_log_likelihood
    >>> X, y = load_digits(return_X_y=True)
    >>> X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    >>> bare = GaussianNB().fit(X, y)
    >>> model = LoReClassifier(GaussianNB(), feature_map="pca-10", cv=5).fit(X, y)
    >>> bool(
    ...     negative_log_likelihood(model.predict_proba(X_test), y_test)
    ...     < 0.5 * negative_log_likelihood(bare.predict_proba(X_test), y_test)
    ... )
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        recalibrator: Recalibrator | None = None,
        feature_map: str | Sequence[str] = ("pca-2", "pca-20"),
        features: Any = None,
        cv: Any = 0.25,
        random_state: int = 0,
    ) -> None:
        self.estimator = estimator
        self.recalibrator = recalibrator
        self.feature_map = feature_map
        self.features = features
        self.cv = cv
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, **fit_params: Any
    ) -> Self:
        """Fit the classifier, then the recalibrator on rows the classifier did not see.

        ``X``, ``y``: rows as the classifier takes them, and their classes (n,). ``sample_weight``
        (n,): what each row counts for, from 0, for the recalibrator and for a classifier whose
        ``fit`` takes ``sample_weight`` (for another one a warning is given). Rows of weight 0 are
        left out. In the feature map each row counts once. ``fit_params``: passed on to the
        classifier's ``fit``; values a row are split as rows are. Raises InputError if an argument
        is invalid, or ``sample_weight`` is given and the recalibrator takes no weights.
        """
        X, y = indexable(X, y)
        assert_all_finite(np.asarray(y), input_name="y")
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        method = SmoothLoRe() if self.recalibrator is None else self.recalibrator
        if not isinstance(method, Recalibrator):
            raise InputError(
                f"'recalibrator' must be a recalibrator such as LoRe(); got {method!r}."
            )
        weights = None
        positive = np.arange(len(y))
        if sample_weight is not None:
            if not method.takes_weights:
                raise InputError(
                    f"{method.label} lets every calibration row count once. Take another "
                    "recalibrator, or leave 'sample_weight' out."
                )
            weights = _row_weights(sample_weight, y)
            positive = np.flatnonzero(weights > 0)
        estimator = self.estimator
        if estimator is None:
            estimator = LogisticRegression(max_iter=1000)
        fit_params = self._passed_on(estimator, weights, fit_params)
        splits = None if self._is_prefit else self._splits(X, y, positive)
        if weights is not None and len(positive) < len(y):
            fit_params = _check_method_params(X, fit_params, positive)
            X, y, weights = _safe_indexing(X, positive), y[positive], weights[positive]
        rows, scores = self._fit_estimator(estimator, X, y, splits, fit_params)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        labels = np.searchsorted(self.classes_, y[rows])
        row_weights = None if weights is None else weights[rows]
        self.margin_scale_: float | None = None
        if not hasattr(self.estimator_, "predict_proba"):
            self.margin_scale_ = _margin_temperature(scores, labels, row_weights)
        self.maps_: dict[str, Embedding] = {}
        table = None
        if not method.is_global:
            self._fit_features(X)
            columns = self._columns(X)
            self._feature_names = list(columns.columns) if hasattr(columns, "columns") else None
            table = _numbers(columns)
            if method.needs_embedding:
                # Of the calibration rows alone, as a file places new ones by these.
                made = make_maps(table, self.feature_map, random_state=self.random_state)
                self.maps_ = {name: item.rows(rows) for name, item in made.items()}
            table = table[rows]
        calibration = self._dataset(scores, labels, table, row_weights)
        self.recalibrator_ = method.clone().fit(calibration, self.maps_ or None)
        return self

    @property
    def _is_prefit(self) -> bool:
        return isinstance(self.estimator, FrozenEstimator) or (
            isinstance(self.cv, str) and self.cv == "prefit"
        )

    def _passed_on(
        self, estimator: Any, weights: Floats | None, fit_params: dict[str, Any]
    ) -> dict[str, Any]:
        """Return what the classifier's ``fit`` gets beside X and y."""
        if self._is_prefit:
            if fit_params:
                raise InputError(
                    "the classifier is fitted already and is not fitted again, so "
                    f"{', '.join(sorted(fit_params))} would go nowhere. Leave that out."
                )
            return {}
        if weights is None:
            return fit_params
        if has_fit_parameter(estimator, "sample_weight"):
            return {**fit_params, "sample_weight": weights}
        warnings.warn(
            f"{type(estimator).__name__}.fit takes no 'sample_weight': all rows count alike for "
            "the classifier; only its recalibration goes by the weights.",
            UserWarning,
            stacklevel=3,
        )
        return fit_params

    def _splits(self, X: Any, y: NDArray[Any], positive: Ints) -> list[Split]:
        """Return splits of the rows of positive weight, as positions among these."""
        cv, n = self.cv, len(positive)
        if isinstance(cv, (float, np.floating)):
            if not 0 < cv < 1:
                raise InputError(f"'cv' must be a share in (0, 1); got {cv!r}.")
            held_out = self._held_out(y[positive], float(cv))
            if len(held_out) == 0:
                raise InputError(
                    f"'cv' must leave rows to calibrate on; got {cv:g} of n_samples={n}. Pass "
                    "more rows or a larger share."
                )
            return [(np.setdiff1d(np.arange(n), held_out), held_out)]
        try:
            splitter = check_cv(cv, y, classifier=True)
        except ValueError as error:
            raise InputError(
                "'cv' must be a share in (0, 1), a number of folds from 2, None, a splitter, an "
                f"iterable of (train, test) indices or 'prefit'; got {cv!r}."
            ) from error
        number = np.full(len(y), -1)
        number[positive] = np.arange(n)
        splits = []
        for split in splitter.split(X, y):
            train, test = (number[np.asarray(rows)] for rows in split)
            splits.append((train[train >= 0], test[test >= 0]))
        splits = [split for split in splits if len(split[1])]
        if not splits:
            raise InputError("'cv' must leave rows to calibrate on; none of its splits does.")
        return splits

    def _fit_estimator(
        self,
        estimator: Any,
        X: Any,
        y: NDArray[Any],
        splits: list[Split] | None,
        fit_params: dict[str, Any],
    ) -> tuple[Ints, Floats]:
        """Fit the classifier if needed; return calibration rows and their scores."""
        everyone = np.arange(len(y))
        if splits is None:
            check_is_fitted(estimator)
            self.estimator_ = estimator
            self.classes_ = np.unique(estimator.classes_)
            unknown, rule = ~np.isin(y, self.classes_), "hold only classes the estimator knows"
            check_rows(unknown, "y", rule, lambda row: repr(y[row]))
            return everyone, self._scores(estimator, X)
        self.classes_ = np.unique(y)

        def fit_copy(rows: Ints) -> Any:
            params = _check_method_params(X, fit_params, rows)
            return clone(estimator).fit(_safe_indexing(X, rows), y[rows], **params)

        total, count = np.zeros((len(y), len(self.classes_))), np.zeros(len(y))
        for train, test in splits:
            self.estimator_ = fit_copy(train)
            np.add.at(total, test, self._scores(self.estimator_, _safe_indexing(X, test)))
            np.add.at(count, test, 1.0)
        if len(splits) > 1:
            self.estimator_ = fit_copy(everyone)
        rows = np.flatnonzero(count)
        return rows, total[rows] / count[rows, None]

    def _scores(self, estimator: Any, X: Any) -> Floats:
        """Return the probabilities of :attr:`classes_`, or their margins, shape (n, K)."""
        if hasattr(estimator, "predict_proba"):
            values, of_missing = np.asarray(estimator.predict_proba(X)), 0.0
        else:
            values, of_missing = class_margins(estimator, X), -np.inf
        if np.array_equal(estimator.classes_, self.classes_):
            return values
        scores = np.full((len(values), len(self.classes_)), of_missing)
        scores[:, np.searchsorted(self.classes_, estimator.classes_)] = values
        return scores

    def _held_out(self, y: NDArray[Any], share: float) -> Ints:
        """Rows to calibrate on: the same share of each class, never all of one."""
        random = np.random.default_rng(self.random_state)
        order = random.permutation(len(y))
        codes = np.unique(y, return_inverse=True)[1][order]
        order = order[np.argsort(codes, kind="stable")]
        size = np.bincount(codes)
        end = np.cumsum(size)
        # Rounded along the classes, so that many small ones come to the share together.
        quota = np.diff(np.floor(end * share), prepend=0.0)
        rank = np.arange(len(y)) - np.repeat(end - size, size)
        return np.sort(order[rank < np.repeat(np.minimum(quota, size - 1), size)])

    def _fit_features(self, X: Any) -> None:
        self.features_ = self.features
        if hasattr(self.features, "fit") and hasattr(self.features, "transform"):
            try:
                check_is_fitted(self.features)
            except ValueError:
                self.features_ = clone(self.features).fit(X)

    def _columns(self, X: Any) -> Any:
        if self.features_ is not None:
            X = getattr(self.features_, "transform", self.features_)(X)
        return feature_columns(X)

    def _features(self, X: Any) -> Floats:
        columns, names = self._columns(X), self._feature_names
        if names is not None and hasattr(columns, "columns"):
            missing = [name for name in names if name not in columns.columns]
            if missing:
                raise InputError(f"'X' must have the columns of 'fit'; {missing} are missing.")
            columns = columns[names]
        return _numbers(columns)

    def _dataset(
        self,
        scores: Floats,
        labels: ArrayLike,
        features: Floats | None,
        weights: Floats | None = None,
    ) -> Dataset:
        scale = self.margin_scale_
        return Dataset(
            scores if scale is None else softmax(scores / scale),
            labels,
            features,
            class_names=[str(name) for name in self.classes_],
            name=type(self.estimator_).__name__,
            feature_names=None if features is None else self._feature_names,
            weights=weights,
        )

    def predict_proba(self, X: Any) -> Floats:
        """Return recalibrated probabilities, (n, n_classes), in the order of ``classes_``."""
        check_is_fitted(self)
        method = self.recalibrator_
        scores = self._scores(self.estimator_, X)
        table = None if method.is_global else self._features(X)
        rows = self._dataset(scores, np.zeros(len(scores)), table)
        points = None
        if table is not None:
            points = {name: item.transform(table) for name, item in self.maps_.items()}
        return method.recalibrate(rows, points or None).probabilities

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of rows that is most probable after recalibration, shape (n,)."""
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        given = self.estimator
        tags.input_tags.sparse = given is None or get_tags(given).input_tags.sparse
        return tags


def _numbers(columns: Any) -> Floats:
    try:
        table = np.asarray(columns, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            "'features' must turn X into numbers for the recalibrator; X holds something else "
            f"({error}). Pass a transformer or a function."
        ) from error
    return table.reshape(len(table), -1)


def _margin_temperature(margins: Floats, labels: Ints, weights: Floats | None) -> float:
    """Return the temperature of margins of the lowest NLL, at least a fifth of their size."""
    behind = margins - margins.max(axis=1, keepdims=True)
    size = float(np.sqrt(np.mean(behind[np.isfinite(behind)] ** 2))) or 1.0
    rows = Dataset(softmax(margins / size), labels, weights=weights)
    return float(size * TemperatureScaling(bounds=(0.2, 20.0)).fit(rows).temperature_)


def _row_weights(sample_weight: ArrayLike, y: NDArray[Any]) -> Floats:
    """Check weights of rows, from 0 and not all 0, shape (n,)."""
    weights = as_vector(np.asarray(sample_weight), "sample_weight")
    check_lengths(sample_weight=weights, y=y)
    check_rows(weights < 0, "sample_weight", "not be below 0", lambda row: f"{weights[row]:.6g}")
    if not weights.any():
        raise InputError("'sample_weight' must not be zero for every row: none would count.")
    return weights
