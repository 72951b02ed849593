import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import VotingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import (
    KFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    train_test_split,
)
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from lore_core import (
    Dataset,
    InputError,
    IsotonicRegression,
    LoRe,
    LoReClassifier,
    NoRecalibration,
    Predictor,
    SmoothLoRe,
    TemperatureScaling,
    embed,
    from_estimator,
    negative_log_likelihood,
)
from lore_core.recalibration import BoostingRecalibration, LogisticRecalibration
from lore_core.recalibration.step_functions import VennAbers

#: Of LoRe smooth alone, by its definition: docs/decisions.md.
NOT_REPEATED = {
    f"check_sample_weight_equivalence_on_{kind}_data": "a row of weight 2 is not two rows"
    for kind in ("dense", "sparse")
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        LoReClassifier(),
        LoReClassifier(LinearSVC(random_state=0), recalibrator=TemperatureScaling()),
    ],
    expected_failed_checks=lambda model: {} if model.recalibrator else NOT_REPEATED,
)
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
    rows = Dataset(model.estimator_.predict_proba(X_test), y_test, X_test)
    points = {name: item.transform(X_test) for name, item in model.maps_.items()}
    expected = model.recalibrator_.recalibrate(rows, points or None).probabilities
    found = model.predict_proba(X_test)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(model.predict(X_test), found.argmax(axis=1))
    before = negative_log_likelihood(rows.probabilities, y_test)
    assert negative_log_likelihood(found, y_test) < before
    assert list(model.maps_) == ["pca-2", "pca-20"] * model.recalibrator_.needs_embedding
    assert model.recalibrator_.n_rows_ == {0.3: 202, 3: 675, "prefit": 375}[cv]
    assert recalibrator is None or recalibrator.n_rows_ == 0
    assert (cv == "prefit") == (model.estimator_ is base)


@pytest.fixture(scope="module")
def frame():
    """A DataFrame and classes; a confidence that ignores how columns act together is wrong."""
    rng = np.random.default_rng(7)
    X = pd.DataFrame(rng.normal(size=(600, 3)), columns=["age", "dose", "site"])
    X["site"] = (X["site"] > 0).astype(float)
    odds = 2 * X["age"] * (1 + X["site"]) + X["dose"] * X["site"]
    return X, (rng.random(600) < expit(odds)).astype(int)


@pytest.mark.parametrize("prefit", [False, True])
@pytest.mark.parametrize(
    "recalibrator",
    [SmoothLoRe(), LoRe(0.4, 5), LogisticRecalibration(), BoostingRecalibration(n_trees=10)],
    ids=repr,
)
def test_it_is_what_the_library_gives_by_hand(frame, recalibrator, prefit):
    X, y = frame
    train, test, new = np.arange(200), np.arange(200, 400), np.arange(400, 600)
    bare = GaussianNB().fit(X.iloc[train], y[train])
    seen = X.iloc[test if prefit else slice(400)].to_numpy()
    maps = {f"pca-{d}": embed(seen, n_components=d) for d in (2, 3)}
    local = recalibrator.needs_embedding

    def rows(numbers):
        return from_estimator(bare, X.iloc[numbers], y[numbers], groups=X[["site"]].iloc[numbers])

    known = {name: item if prefit else item.rows(test) for name, item in maps.items()}
    placed = {name: item.transform(X.iloc[new].to_numpy()) for name, item in maps.items()}
    by_hand = recalibrator.clone().fit(rows(test), known if local else None)
    expected = by_hand.recalibrate(rows(new), placed if local else None).probabilities
    if prefit:
        model = LoReClassifier(FrozenEstimator(bare), recalibrator=recalibrator)
        model.fit(X.iloc[test], y[test])
    else:
        model = LoReClassifier(GaussianNB(), recalibrator=recalibrator, cv=[(train, test)])
        model.fit(X.iloc[:400], y[:400])
    found = model.predict_proba(X.iloc[new])
    np.testing.assert_allclose(found, expected, atol=1e-9)
    if not recalibrator.is_global:
        assert model.recalibrator_.fitted_on_.feature_names == ("age", "dose", "site")


def test_columns_are_found_by_name(frame):
    X, y = frame
    columns = make_column_transformer((StandardScaler(), ["dose", "age"]))
    model = LoReClassifier(make_pipeline(columns, GaussianNB())).fit(X, y)
    found = model.predict_proba(X[["site", "dose", "age"]])
    np.testing.assert_array_equal(found, model.predict_proba(X))
    with pytest.raises(InputError, match="the columns of 'fit'; .'site'. are missing"):
        model.predict_proba(X[["dose", "age"]])


def test_sparse_rows_are_made_dense_or_refused(frame):
    X, y = sparse.csr_array(frame[0].to_numpy()), frame[1]
    base = LogisticRegression(tol=1e-10)
    model = LoReClassifier(base, recalibrator=LogisticRecalibration(strength=10.0))
    dense = model.fit(X.toarray(), y).predict_proba(X.toarray())
    np.testing.assert_allclose(model.fit(X, y).predict_proba(X), dense, atol=1e-5)
    rows = from_estimator(model.estimator_, X, y)
    np.testing.assert_array_equal(rows.features, X.toarray())
    wide = sparse.csr_array((600, 1_000_000))
    with pytest.raises(InputError, match="600 × 1,000,000 numbers would take 4.5 GiB"):
        LoReClassifier(DummyClassifier()).fit(wide, y)
    LoReClassifier(DummyClassifier(), recalibrator=TemperatureScaling()).fit(wide, y)


#: What scikit-learn's own meta-estimator takes, and splits of which each row is in one test part.
SPLITS = {
    "folds": 3,
    "default": None,
    "splitter": StratifiedKFold(4, shuffle=True, random_state=1),
    "unstratified": KFold(3),
    "list": [([*range(300, 675)], range(300)), (np.arange(675) < 300, np.arange(675) >= 300)],
}


@pytest.mark.parametrize("cv", SPLITS.values(), ids=SPLITS.keys())
def test_splits_are_those_of_scikit_learn(digits, cv):
    X, X_test, y, y_test = digits
    splits = cv
    if isinstance(cv, list):  # cross_val_predict takes whole numbers alone
        splits = [tuple(np.arange(675)[np.asarray(rows)] for rows in split) for split in cv]
    margins = cross_val_predict(RidgeClassifier(), X, y, cv=splits, method="decision_function")
    model = LoReClassifier(RidgeClassifier(), recalibrator=IsotonicRegression(), cv=cv).fit(X, y)
    everyone = RidgeClassifier().fit(X, y).decision_function(X_test)
    by_hand, new = (softmax(m / model.margin_scale_, axis=1) for m in (margins, everyone))
    fitted = IsotonicRegression().fit(Dataset(by_hand, y))
    expected = fitted.recalibrate(Dataset(new, y_test)).probabilities
    np.testing.assert_allclose(model.predict_proba(X_test), expected, atol=1e-12)


def test_rows_that_are_left_out_often_or_never(digits):
    X, _, y, _ = digits
    halves = RepeatedStratifiedKFold(n_splits=2, n_repeats=3, random_state=0)
    parts, p = [*halves.split(X, y)], {"method": "predict_proba"}
    rounds = [cross_val_predict(GaussianNB(), X, y, cv=parts[k : k + 2], **p) for k in (0, 2, 4)]
    model = LoReClassifier(GaussianNB(), recalibrator=TemperatureScaling(), cv=halves).fit(X, y)
    fitted = TemperatureScaling().fit(Dataset(np.mean(rounds, axis=0), y))
    assert model.recalibrator_.temperature_ == pytest.approx(fitted.temperature_, rel=1e-6)
    assert model.recalibrator_.n_rows_ == 675
    some = clone(model).set_params(cv=ShuffleSplit(2, test_size=30, random_state=0)).fit(X, y)
    assert 30 < some.recalibrator_.n_rows_ <= 60
    with pytest.raises(InputError, match="'cv' must leave rows to calibrate on; none"):
        clone(model).set_params(cv=iter([])).fit(X, y)


def test_a_class_that_was_not_seen_has_probability_0(digits):
    X, X_test, y, _ = digits
    seen = y != 4
    split = (seen, np.arange(675) % 2 == 0)
    model = LoReClassifier(GaussianNB(), recalibrator=NoRecalibration(), cv=[split]).fit(X, y)
    found = model.predict_proba(X_test)
    expected = GaussianNB().fit(X[seen], y[seen]).predict_proba(X_test)
    np.testing.assert_allclose(found, np.insert(expected, 4, 0.0, axis=1), atol=1e-12)
    assert model.classes_.tolist() == [*range(10)]
    base = GaussianNB().fit(X[y < 9], y[y < 9])
    with pytest.raises(InputError, match="only classes the estimator knows; got .*9.* at row"):
        LoReClassifier(base, cv="prefit").fit(X, y)


def test_a_frozen_classifier_stays_fitted(digits):
    X, X_test, y, _ = digits
    bare = GaussianNB().fit(X[:300], y[:300])
    frozen = LoReClassifier(FrozenEstimator(bare), recalibrator=TemperatureScaling(), cv=5)
    prefit = LoReClassifier(bare, recalibrator=TemperatureScaling(), cv="prefit")
    found = frozen.fit(X[300:], y[300:]).predict_proba(X_test)
    np.testing.assert_array_equal(found, prefit.fit(X[300:], y[300:]).predict_proba(X_test))
    assert np.isfinite(cross_val_score(frozen, X[300:], y[300:], cv=2)).all()
    y = np.repeat([0, 1, 2], [100, 40, 1])
    model = LoReClassifier(DummyClassifier(), recalibrator=TemperatureScaling()).fit(y[:, None], y)
    np.testing.assert_allclose(model.estimator_.class_prior_ * 106, [75, 30, 1])
    assert model.recalibrator_.n_rows_ == 35


class MarginsOnly(ClassifierMixin, BaseEstimator):
    """A logistic regression that hides its probabilities: its margins are log-odds."""

    def fit(self, X, y):
        self.fitted_ = LogisticRegression().fit(X, y)
        self.classes_ = self.fitted_.classes_
        return self

    def decision_function(self, X):
        return self.fitted_.decision_function(X)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_margins_are_read_as_logits(frame, n_classes):
    X, y = frame
    y = np.array(["a", "b", "c"])[y + (n_classes == 3) * (X["dose"] > 0.5).to_numpy()]
    hidden, shown = MarginsOnly().fit(X, y), LogisticRegression().fit(X, y)
    found = from_estimator(hidden, X, y).probabilities
    np.testing.assert_allclose(found, shown.predict_proba(X), atol=1e-12)
    one, two = (
        LoReClassifier(base, recalibrator=TemperatureScaling()).fit(X, y).predict_proba(X)
        for base in (MarginsOnly(), LogisticRegression())
    )
    np.testing.assert_allclose(one, two, atol=1e-6)


def test_margins_of_another_shape_or_size(frame):
    X, y = frame
    four = y + (X["dose"] > 0).to_numpy() + (X["site"] > 0).to_numpy()
    with pytest.raises(InputError, match="must give each of 4 classes a margin; got shape .150, 6"):
        LoReClassifier(SVC(decision_function_shape="ovo")).fit(X, four)
    neither = VotingClassifier([("nb", GaussianNB())]).fit(X, y)
    with pytest.raises(
        InputError, match="Voting.* must have 'predict_proba' or 'decision_function'"
    ):
        from_estimator(neither, X, y)
    large = RidgeClassifier().fit(X, y)
    as_is = LoReClassifier(FrozenEstimator(large)).fit(X, y).predict_proba(X)
    large.coef_, large.intercept_ = large.coef_ * 1e4, large.intercept_ * 1e4
    scaled = LoReClassifier(FrozenEstimator(large)).fit(X, y)
    assert scaled.margin_scale_ > 1e3
    np.testing.assert_allclose(scaled.predict_proba(X), as_is, atol=1e-3)


def test_a_part_of_scikit_learn(digits):
    X, X_test, y, _ = digits
    model = LoReClassifier(GaussianNB(), recalibrator=LoRe(0.4, 5), feature_map="pca-5")
    pipeline = make_pipeline(StandardScaler(), model)
    scores = cross_val_score(pipeline, X, y, cv=2, scoring="neg_log_loss")
    assert np.isfinite(scores).all()
    fitted = clone(pipeline).fit(X, y)
    settings = model.get_params()
    assert settings["estimator__var_smoothing"] == 1e-9
    assert settings["cv"] == 0.25
    shipped = Predictor.load(fitted[-1].recalibrator_.to_bytes())
    scaled = fitted[0].transform(X_test)
    found = shipped.predict(fitted[-1].estimator_.predict_proba(scaled), scaled)
    np.testing.assert_allclose(found, fitted.predict_proba(X_test), atol=1e-15)


def test_text_needs_features():
    texts = ["a good day", "good", "bad luck", "a bad night", "very good", "so bad"] * 10
    classes = ["+", "+", "-", "-", "+", "-"] * 10
    bag = make_pipeline(CountVectorizer(), MultinomialNB())
    model = LoReClassifier(bag, recalibrator=LoRe(0.4, 2), features=CountVectorizer())
    assert model.fit(texts, classes).predict(["a good day", "so bad"]).tolist() == ["+", "-"]
    of_length = LoReClassifier(bag, features=lambda X: [[len(text)] for text in X])
    assert of_length.fit(texts, classes).predict_proba(texts).shape == (60, 2)
    with pytest.raises(InputError, match="'features' must turn X into numbers"):
        LoReClassifier(bag).fit(texts, classes)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cv": "fold"}, "'cv' must be a share .* iterable of .train, test. indices or"),
        ({"cv": 1.5}, "'cv' must be a share in .0, 1.; got 1.5"),
        ({"cv": 1}, "'cv' must be a share"),
        ({"cv": True}, "'cv' must be a share"),
        ({"recalibrator": "platt"}, "'recalibrator' must be a recalibrator"),
        (
            {"estimator": VotingClassifier([("nb", GaussianNB())])},
            "must have 'predict_proba' or 'decision_function'",
        ),
        ({"feature_map": "mds"}, "'feature_map' must be one of pca"),
    ],
)
def test_misuse(digits, arguments, message):
    X, _, y, _ = digits
    with pytest.raises(InputError, match=message):
        LoReClassifier(**{"estimator": GaussianNB(), **arguments}).fit(X, y)


def weighted_rows():
    """Rows, classes, whole weights some of which are 0, and how often to repeat each row."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 2))
    y = (rng.random(300) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    return X, y, rng.integers(0, 4, 300)


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
