"""LoReClassifier: scikit-learn's own checks, and that the probabilities are LoRe's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from lore_core import (
    Dataset,
    GroupWise,
    InputError,
    IsotonicRegression,
    LoRe,
    LoReClassifier,
    Predictor,
    TemperatureScaling,
    negative_log_likelihood,
)
from lore_core.recalibration.venn_abers import VennAbers

#: As of scikit-learn's own CalibratedClassifierCV: which rows are held out depends on how many
#: there are, so that a row of weight 2 is not quite a row that stands there twice. Where nothing is
#: held out it is: test_whole_weights_are_repeated_rows.
HELD_OUT = {
    f"check_sample_weight_equivalence_on_{kind}_data": "rows are held out at random"
    for kind in ("dense", "sparse")
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([LoReClassifier()], expected_failed_checks=lambda model: HELD_OUT)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X[:900], y[:900], random_state=0)


@pytest.mark.parametrize(
    "recalibrator", [None, LoRe(0.4, 5), TemperatureScaling()], ids=["smooth", "lore", "global"]
)
@pytest.mark.parametrize("cv", [0.3, 3, "prefit"])
def test_probabilities_are_those_of_the_parts(digits, cv, recalibrator):
    X, X_test, y, y_test = digits
    base = GaussianNB()
    if cv == "prefit":
        base.fit(X[:300], y[:300])
        X, y = X[300:], y[300:]
    model = LoReClassifier(base, recalibrator=recalibrator, cv=cv).fit(X, y)
    rows = Dataset(model.estimator_.predict_proba(X_test), y_test)
    points = model.embedding_ and model.embedding_.transform(X_test)
    expected = model.recalibrator_.recalibrate(rows, points).probabilities
    found = model.predict_proba(X_test)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(model.predict(X_test), found.argmax(axis=1))
    before = negative_log_likelihood(rows.probabilities, y_test)
    assert negative_log_likelihood(found, y_test) < before
    assert (model.embedding_ is None) == (not model.recalibrator_.needs_embedding)
    assert model.recalibrator_.n_rows_ == {0.3: 202, 3: 675, "prefit": 375}[cv]
    # The template is nobody's to change.
    assert recalibrator is None or recalibrator.n_rows_ == 0
    assert (cv == "prefit") == (model.estimator_ is base)


def test_a_part_of_scikit_learn(digits):
    X, X_test, y, _ = digits
    model = LoReClassifier(GaussianNB(), recalibrator=LoRe(0.4, 5), n_components=5)
    pipeline = make_pipeline(StandardScaler(), model)
    scores = cross_val_score(pipeline, X, y, cv=2, scoring="neg_log_loss")
    assert np.isfinite(scores).all()
    fitted = clone(pipeline).fit(X, y)
    settings = model.get_params()
    assert settings["estimator__var_smoothing"] == 1e-9
    assert settings["cv"] == 0.25
    # What was fitted can be shipped, and does the same to what the classifier says.
    shipped = Predictor.load(fitted[-1].recalibrator_.to_bytes())
    scaled = fitted[0].transform(X_test)
    np.testing.assert_allclose(
        shipped.predict(fitted[-1].estimator_.predict_proba(scaled), scaled),
        fitted.predict_proba(X_test),
        atol=1e-15,
    )


def test_text_needs_features():
    texts = ["a good day", "good", "bad luck", "a bad night", "very good", "so bad"] * 10
    classes = ["+", "+", "-", "-", "+", "-"] * 10
    bag = make_pipeline(CountVectorizer(), GaussianNBOnSparse())
    model = LoReClassifier(bag, recalibrator=LoRe(0.4, 2), features=CountVectorizer())
    assert model.fit(texts, classes).predict(["a good day", "so bad"]).tolist() == ["+", "-"]
    of_length = LoReClassifier(bag, features=lambda X: [[len(text)] for text in X])
    assert of_length.fit(texts, classes).predict_proba(texts).shape == (60, 2)
    with pytest.raises(InputError, match="'features' must turn X into numbers"):
        LoReClassifier(bag).fit(texts, classes)


class GaussianNBOnSparse(GaussianNB):
    def fit(self, X, y):
        return super().fit(X.toarray(), y)

    def predict_proba(self, X):
        return super().predict_proba(X.toarray())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cv": "fold"}, "'cv' must be a number or 'prefit'"),
        ({"cv": 1.5}, "'cv' must be a share"),
        ({"cv": True}, "'cv' must be a share"),
        ({"recalibrator": "platt"}, "'recalibrator' must be a recalibrator"),
        ({"estimator": LinearSVC()}, "'estimator' must be a classifier with 'predict_proba'"),
        ({"feature_map": "mds"}, "'method' must be 'pca'"),
        ({"recalibrator": GroupWise(TemperatureScaling())}, "has no groups"),
    ],
)
def test_misuse(digits, arguments, message):
    X, _, y, _ = digits
    with pytest.raises(InputError, match=message):
        LoReClassifier(**{"estimator": GaussianNB(), **arguments}).fit(X, y)


def test_an_unknown_class_for_a_fitted_classifier(digits):
    X, _, y, _ = digits
    base = GaussianNB().fit(X[y < 9], y[y < 9])
    with pytest.raises(InputError, match="only classes the estimator knows; got .*9.* at row"):
        LoReClassifier(base, cv="prefit").fit(X, y)


def test_held_out_rows_are_alike_in_all_classes():
    y = np.repeat([0, 1, 2], [100, 40, 1])
    rows = LoReClassifier()._held_out(y, 0.25)
    assert np.bincount(y[rows], minlength=3).tolist() == [25, 10, 0]
    assert len(set(rows)) == len(rows)


def weighted_rows():
    """Rows, classes, whole weights some of which are 0, and how often to repeat each row."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 2))
    y = (rng.random(300) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    return X, y, rng.integers(0, 4, 300)


@pytest.mark.parametrize("recalibrator", [TemperatureScaling(), IsotonicRegression()])
def test_whole_weights_are_repeated_rows(recalibrator):
    X, y, times = weighted_rows()
    base = GaussianNB().fit(X[:20], y[:20])
    model = LoReClassifier(base, recalibrator=recalibrator, cv="prefit")
    weighted = clone(model).set_params(estimator=base).fit(X, y, sample_weight=times)
    again = np.repeat(np.arange(300), times)
    repeated = clone(model).set_params(estimator=base).fit(X[again], y[again])
    plain = clone(model).set_params(estimator=base).fit(X, y)
    found = weighted.predict_proba(X)
    np.testing.assert_allclose(found, repeated.predict_proba(X), atol=2e-6)
    assert np.abs(found - plain.predict_proba(X)).max() > 1e-3
    assert weighted.recalibrator_.n_rows_ == (times > 0).sum()


@pytest.mark.parametrize("cv", [0.3, 3])
def test_the_classifier_is_weighted_too(cv):
    """Rows of an enormous weight, which are right half of the time, are all that counts."""
    X, y, _ = weighted_rows()
    heavy = np.arange(300) % 2 == 0
    y = np.where(heavy, np.arange(300) // 2 % 2, (X[:, 0] > 0).astype(int))
    model = LoReClassifier(recalibrator=TemperatureScaling(), cv=cv)
    weighted = model.fit(X, y, sample_weight=np.where(heavy, 1e6, 1.0))
    assert np.abs(weighted.estimator_.predict_proba(X) - 0.5).max() < 0.35
    assert np.abs(clone(model).fit(X, y).estimator_.predict_proba(X) - 0.5).max() > 0.45


def test_a_classifier_without_weights_is_told_of():
    X, y, times = weighted_rows()
    pipeline = make_pipeline(StandardScaler(), GaussianNB())
    model = LoReClassifier(pipeline, recalibrator=TemperatureScaling())
    with pytest.warns(UserWarning, match="Pipeline.fit takes no 'sample_weight'"):
        model.fit(X, y, sample_weight=times + 1)
    through = clone(model).fit(X, y, gaussiannb__sample_weight=times + 1).estimator_[-1]
    assert np.abs(through.theta_ - model.estimator_[-1].theta_).max() > 1e-3
    with pytest.raises(InputError, match="Venn–Abers lets every calibration row count once"):
        LoReClassifier(recalibrator=VennAbers()).fit(X, y, sample_weight=times)
    with pytest.raises(InputError, match="'sample_weight' must not be below 0; got -1 at row 0"):
        LoReClassifier().fit(X, y, sample_weight=times - 1 - times[0])
    with pytest.raises(InputError, match="would go nowhere"):
        LoReClassifier(GaussianNB().fit(X, y), cv="prefit").fit(X, y, priors=[0.5, 0.5])


def test_metadata_is_routed():
    X, y, times = weighted_rows()
    with config_context(enable_metadata_routing=True):
        asked = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False),
            GaussianNB().set_fit_request(sample_weight=True),
        )
        model = LoReClassifier(asked, recalibrator=TemperatureScaling())
        model.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"cv": [0.25, 0.5]}).fit(X, y, sample_weight=times)
        routed = model.fit(X, y, sample_weight=times).estimator_[-1]
        unasked = LoReClassifier(make_pipeline(StandardScaler(), GaussianNB()))
        with pytest.raises(UnsetMetadataPassedError):
            unasked.fit(X, y, sample_weight=times)
    plain = LoReClassifier(asked, recalibrator=TemperatureScaling()).fit(X, y)
    assert np.abs(routed.theta_ - plain.estimator_[-1].theta_).max() > 1e-3
    assert search.best_estimator_.recalibrator_.n_rows_ < 300
