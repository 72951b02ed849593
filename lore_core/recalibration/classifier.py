"""Local recalibration as a scikit-learn classifier: any classifier in, calibrated one out."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import _safe_indexing, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
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
from lore_core.data.validation import InputError, as_vector, check_lengths
from lore_core.embedding import Embedding, embed
from lore_core.recalibration import Recalibrator, SmoothLoRe


class LoReClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose probabilities are recalibrated where they are locally wrong.

    Parameters
    ----------
    estimator : scikit-learn classifier, optional
        With ``predict_proba``; copied, not changed (with ``cv="prefit"``: used as it is). By
        default a logistic regression.
    recalibrator : Recalibrator, optional
        By default :class:`~lore_core.recalibration.SmoothLoRe`. Copied, not changed.
    feature_map : "pca", "identity", "tsne" or "umap"
        Map on which rows are near each other, fitted on the rows of ``fit`` without their labels.
    n_components : int
        Its dimensions; fewer where there are fewer rows or features.
    features : transformer or callable, optional
        What the map is made of: a fitted or unfitted object with ``transform`` (an unfitted one is
        copied and fitted), or a function of ``X``. By default ``X`` itself, which must be numbers.
    cv : float, int or "prefit"
        Share of rows held out to calibrate on, alike in all classes; or number of folds whose
        left-out predictions calibrate, the classifier then being fitted on all rows; or
        ``"prefit"``: the classifier is fitted already and all rows of ``fit`` calibrate.
    random_state : int
        Seed of the split and the map.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    estimator_ : scikit-learn classifier
        The fitted classifier.
    recalibrator_ : Recalibrator
        The fitted recalibrator; ``recalibrator_.save("m.lore")`` ships it.
    embedding_ : Embedding or None
        The feature map; None for a recalibrator that needs none.
    n_features_in_, feature_names_in_
        Those of ``estimator_``, where it has them.

    Notes
    -----
    ``predict`` gives the class that is most probable *after* recalibration, as scikit-learn
    expects of a classifier. A recalibrator itself never changes the predicted class, only its
    confidence; where that falls below another class, the two differ.

    Where scikit-learn's metadata routing is on, ``fit`` is a router: what it is given goes to
    ``estimator`` as that asks for it (``set_fit_request``).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from lore_core import LoReClassifier, negative_log_likelihood
    >>> X, y = load_digits(return_X_y=True)
    >>> X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    >>> bare = GaussianNB().fit(X, y)
    >>> model = LoReClassifier(GaussianNB(), n_components=10, cv=5).fit(X, y)
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
        feature_map: str = "pca",
        n_components: int = 2,
        features: Any = None,
        cv: float | str = 0.25,
        random_state: int = 0,
    ) -> None:
        self.estimator = estimator
        self.recalibrator = recalibrator
        self.feature_map = feature_map
        self.n_components = n_components
        self.features = features
        self.cv = cv
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, **fit_params: Any
    ) -> Self:
        """Fit the classifier, then the recalibrator on rows the classifier did not see.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, p)
            Rows, as the classifier takes them.
        y : array-like of shape (n,)
            Their classes.
        sample_weight : array-like of shape (n,), optional
            What each row counts for, from 0, for the recalibrator and for a classifier whose
            ``fit`` takes ``sample_weight``; for another one a warning says that it does not. Rows
            of weight 0 are left out. The feature map is made of rows, each of which counts once.
        **fit_params
            Passed on to the classifier's ``fit``; what has one value a row is divided as rows are.

        Returns
        -------
        LoReClassifier
            Itself.

        Raises
        ------
        InputError
            If an argument is not as described, or the recalibrator lets every row count once and
            ``sample_weight`` is given.
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
        if sample_weight is not None:
            if not method.takes_weights:
                raise InputError(
                    f"{method.label} lets every calibration row count once. Take another "
                    "recalibrator, or leave 'sample_weight' out."
                )
            weights = _row_weights(sample_weight, y)
            kept = np.flatnonzero(weights > 0)
            if len(kept) < len(y):
                fit_params = _check_method_params(X, fit_params, kept)
                X, y, weights = _safe_indexing(X, kept), y[kept], weights[kept]
        estimator = self._unfitted()
        if not hasattr(estimator, "predict_proba"):
            raise InputError(
                "'estimator' must be a classifier with 'predict_proba'; got "
                f"{type(estimator).__name__}."
            )
        rows, probabilities = self._fit_estimator(
            estimator, X, y, self._routed(estimator, weights, fit_params)
        )
        # Checked by the classifier by now.
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        self.classes_ = np.asarray(self.estimator_.classes_)
        self.embedding_: Embedding | None = None
        calibration = self._dataset(
            probabilities,
            np.searchsorted(self.classes_, y[rows]),
            None if weights is None else weights[rows],
        )
        if method.needs_embedding:
            self._fit_features(X)
            table = self._features(X)
            dimensions = min(self.n_components, *table.shape)
            # Of the calibration rows alone, by which a file would place new ones.
            self.embedding_ = embed(
                table, self.feature_map, dimensions, random_state=self.random_state
            ).rows(rows)
        self.recalibrator_ = method.clone().fit(calibration, self.embedding_)
        return self

    def _unfitted(self) -> Any:
        """Return the classifier that is to be copied and fitted (or, prefit, used)."""
        if self.estimator is not None:
            return self.estimator
        from sklearn.linear_model import LogisticRegression

        estimator = LogisticRegression(max_iter=1000)
        if get_config()["enable_metadata_routing"]:
            estimator.set_fit_request(sample_weight=True)
        return estimator

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which parameters of ``fit`` go where, for scikit-learn's metadata routing.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRouter
        """
        return (
            MetadataRouter(owner=type(self).__name__)
            .add_self_request(self)
            .add(
                estimator=self._unfitted(),
                method_mapping=MethodMapping().add(caller="fit", callee="fit"),
            )
        )

    def _routed(
        self, estimator: Any, weights: Floats | None, fit_params: dict[str, Any]
    ) -> dict[str, Any]:
        """Return what the classifier's ``fit`` is given beside X and y."""
        if self.cv == "prefit":
            if fit_params:
                raise InputError(
                    "'cv' is 'prefit': the classifier is not fitted again, so "
                    f"{', '.join(sorted(fit_params))} would go nowhere. Leave that out."
                )
            return {}
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", sample_weight=weights, **fit_params)
            return dict(routed.estimator.fit)
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

    def _fit_estimator(
        self, estimator: Any, X: Any, y: NDArray[Any], fit_params: dict[str, Any]
    ) -> tuple[Ints, Floats]:
        """Fit the classifier; return the calibration rows and what it says of them."""
        n = len(y)
        everyone = np.arange(n)
        if isinstance(self.cv, str):
            if self.cv != "prefit":
                raise InputError(f"'cv' must be a number or 'prefit'; got {self.cv!r}.")
            check_is_fitted(estimator)
            self.estimator_ = estimator
            unknown = ~np.isin(y, estimator.classes_)
            if unknown.any():
                row = int(np.flatnonzero(unknown)[0])
                raise InputError(
                    f"'y' must hold only classes the estimator knows; got {y[row]!r} at row {row}."
                )
            return everyone, estimator.predict_proba(X)
        if isinstance(self.cv, (int, np.integer)) and not isinstance(self.cv, bool):
            from sklearn.model_selection import StratifiedKFold, cross_val_predict

            folds = StratifiedKFold(self.cv, shuffle=True, random_state=self.random_state)
            left_out = cross_val_predict(
                clone(estimator), X, y, cv=folds, method="predict_proba", params=fit_params
            )
            self.estimator_ = clone(estimator).fit(X, y, **fit_params)
            return everyone, left_out
        if not (isinstance(self.cv, (float, np.floating)) and 0 < self.cv < 1):
            raise InputError(
                "'cv' must be a share in (0, 1), a number of folds from 2 or 'prefit'; got "
                f"{self.cv!r}."
            )
        held_out = self._held_out(y, float(self.cv))
        if len(held_out) == 0:
            raise InputError(
                f"'cv' must leave rows to calibrate on; got {self.cv:g} of n_samples={n}. Pass "
                "more rows or a larger share."
            )
        fitted_on = np.setdiff1d(everyone, held_out)
        self.estimator_ = clone(estimator).fit(
            _safe_indexing(X, fitted_on),
            y[fitted_on],
            **_check_method_params(X, fit_params, fitted_on),
        )
        return held_out, self.estimator_.predict_proba(_safe_indexing(X, held_out))

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

    def _features(self, X: Any) -> Floats:
        given = X
        if self.features_ is not None:
            transform = getattr(self.features_, "transform", self.features_)
            given = transform(X)
        if hasattr(given, "toarray"):
            given = given.toarray()
        try:
            table = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(
                "'features' must turn X into numbers for the feature map; X holds something else "
                f"({error}). Pass a transformer or a function."
            ) from error
        return table.reshape(len(table), -1)

    def _dataset(
        self, probabilities: Any, labels: NDArray[Any], weights: Floats | None = None
    ) -> Dataset:
        return Dataset(
            probabilities,
            labels,
            class_names=[str(name) for name in self.classes_],
            name=type(self.estimator_).__name__,
            weights=weights,
        )

    def predict_proba(self, X: Any) -> Floats:
        """Return recalibrated class probabilities.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, p)
            Rows.

        Returns
        -------
        ndarray of shape (n, n_classes)
            In the order of ``classes_``.
        """
        check_is_fitted(self)
        probabilities = self.estimator_.predict_proba(X)
        rows = self._dataset(probabilities, np.zeros(len(probabilities)))
        points = None
        if self.embedding_ is not None:
            points = self.embedding_.transform(self._features(X))
        return self.recalibrator_.recalibrate(rows, points).probabilities

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class that is most probable after recalibration, shape (n,).

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, p)
            Rows.
        """
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is None:
            tags.input_tags.sparse = True
        else:
            tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        return tags


def _row_weights(sample_weight: ArrayLike, y: NDArray[Any]) -> Floats:
    """Return weights of rows, from 0 and not all 0, shape (n,)."""
    weights = as_vector(np.asarray(sample_weight), "sample_weight")
    check_lengths(sample_weight=weights, y=y)
    if (weights < 0).any():
        row = int(np.flatnonzero(weights < 0)[0])
        raise InputError(
            f"'sample_weight' must not be below 0; got {weights[row]:.6g} at row {row}."
        )
    if not weights.any():
        raise InputError("'sample_weight' must not be zero for every row: none would count.")
    return weights
