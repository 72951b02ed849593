from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.isotonic import IsotonicRegression

import lore_core as lore
from lore_core.comparison import same_rows

NAMES = ("old", "new")


def pair(n, *gaps):
    """Two models sure to 70 %, whose gaps in a part (a) and elsewhere (b) are given."""
    rng = np.random.default_rng(0)
    part, labels = np.where(np.arange(n) < 0.3 * n, "a", "b"), rng.integers(0, 2, n)
    known = pd.DataFrame({"part": part, "noise": rng.normal(size=n), "row_id": np.arange(n)})
    made = []
    for name, (inside, elsewhere) in zip(NAMES, gaps or ((0, 0), (0, 0)), strict=True):
        right = rng.random(n) < 0.7 - np.where(part == "a", inside, elsewhere)
        p = np.where(np.where(right, labels, 1 - labels)[:, None] == [0, 1], 0.7, 0.3)
        made.append(lore.Dataset(p, labels, metadata=known, name=name))
    return made


def kinds(confidences, right, inside):
    """Kinds of subgroups of models that predict class 1, sure of it in a part and elsewhere."""
    part, models = pd.DataFrame({"part": np.where(inside, "a", "b")}), []
    for name, sure in zip(NAMES, confidences, strict=True):
        c = np.where(inside, *sure)
        known = {"metadata": part, "predictions": np.ones(len(c), int), "name": name}
        models.append(lore.Dataset(np.column_stack([1 - c, c]), right * 1, **known))
    return [item.kind for item in lore.compare_models(*models).subgroups]


def test_differences_are_of_the_same_rows():
    models = old, new = pair(400, (0.1, 0), (0, 0))
    found = lore.compare_models(old, new)
    gaps = [of.confidence - of.outcome for of in models]
    nll = [-np.log(of.probabilities[np.arange(400), of.labels]) for of in models]
    brier = [np.square(of.probabilities[:, 1] - of.labels) for of in models]
    right = [of.outcome for of in models]
    for name, (one, two) in {"gap": gaps, "NLL": nll, "Brier": brier, "accuracy": right}.items():
        paired = stats.ttest_rel(two, one).confidence_interval(0.95)
        row = found.differences.loc[name]
        assert row["difference"] == pytest.approx((paired.low + paired.high) / 2, abs=1e-9)
        # Gaffke's joint bounds are wider than one paired interval, not by much.
        assert row["low"] <= paired.low < paired.high <= row["high"]
        assert row["high"] - row["low"] < 2 * (paired.high - paired.low)
    assert found.gaps == pytest.approx([of.mean() for of in gaps], abs=1e-12)
    assert found.sentence in repr(found)
    assert found._repr_html_().count("<tr>") >= len(found.texts[""])
    frame = found.frame().set_index("what")
    assert list(frame.loc["NLL", ["first", "second"]]) == pytest.approx([of.mean() for of in nll])
    # Of one class the outcomes are the same: the gap changes with the probability alone.
    of_class = lore.compare_models(old, new, target=1).differences["difference"]
    change = (new.probabilities - old.probabilities)[:, 1].mean()
    assert list(of_class[["gap", "accuracy"]]) == pytest.approx([change, 0], abs=1e-12)


def test_calibration_and_discrimination_part_the_squared_error():
    rng = np.random.default_rng(1)
    sure = rng.uniform(0.5, 1, (2, 300)).round(2)
    models = [
        of.with_probabilities(np.where(of.labels[:, None] == [0, 1], c[:, None], 1 - c[:, None]))
        for of, c in zip(pair(300), sure, strict=True)
    ]
    models[0] = models[0].with_probabilities(models[0].probabilities[rng.permutation(300)])
    comparison = lore.compare_models(*models)
    shown = dict(zip(comparison.texts[""], comparison.texts["old"], strict=True))
    assert shown["discrimination (Brier, predicted class)"][0] in "0−"  # no gap, so no plus
    found = comparison.frame().set_index("what")
    for number, of in zip(("first", "second"), models, strict=True):
        c, a = of.confidence, of.outcome
        fitted = IsotonicRegression().fit_transform(c, a)
        score, left, spread = (np.square(a - x).mean() for x in (c, fitted, a.mean()))
        parts = found.loc[["miscalibration", "discrimination"], number]
        assert list(parts) == pytest.approx([score - left, spread - left], abs=1e-12)


def test_the_better_model_is_named():
    models = pair(2000, (0.2, 0.2), (0, 0))
    for (first, second), verdict in ((models, "better"), (models[::-1], "worse")):
        found = lore.compare_models(first, second)
        assert found.verdict == verdict
        assert found.sentence.startswith(f"“{second.name}” is {verdict} overall: NLL 0.")
        assert ("points smaller" in found.sentence) == (verdict == "better")
    found = lore.compare_models(*(replace(of, complete=False) for of in models))
    assert found.verdict == ""
    assert found.sentence.startswith("Without whole probabilities no score says which is better: a")


@pytest.mark.parametrize(
    ("before", "after", "kind", "sign"),
    [
        (0, 0.25, "new", 1),
        (0.22, 0.36, "worse", 1),
        (0.25, 0, "fixed", -1),
        (0.4, 0.28, "better", -1),
        (0.25, 0.25, "remaining", 1),
    ],
)
def test_subgroups_by_kind(before, after, kind, sign):
    old, new = pair(6000, (before, 0), (after, 0))
    (found,) = lore.compare_models(old, new).subgroups
    assert (found.kind, found.sign, found.rows_in_words) == (kind, sign, "rows with part a")
    np.testing.assert_array_equal(np.sort(found.rows), np.arange(1800))
    # By hand, from the rows that were held out.
    gaps = [(of.confidence - of.outcome)[found.held_out] for of in (old, new)]
    d, change = gaps[1] - gaps[0], found.change
    assert [found.before.gap, found.after.gap] == pytest.approx([of.mean() for of in gaps])
    ends = stats.ttest_1samp(d, 0).confidence_interval(0.95)
    assert [change.gap, change.gap_low, change.gap_high] == pytest.approx([d.mean(), *ends])
    size = abs(gaps[1].mean()) - abs(gaps[0].mean())
    assert found.growth[0] == pytest.approx(size)
    assert found.growth[1] < size < found.growth[2]
    if kind != "remaining":
        t = (abs(d.sum()) - 0.5) / np.sqrt(np.square(d).sum())
        assert found.held.p_value == pytest.approx(stats.norm.sf(t), rel=1e-9)


def test_a_gap_is_worse_only_if_it_is_surely_further_from_0():
    row = np.arange(4000)
    # The gap of the part goes from +20 to −20 points: changed for sure, but no worse.
    for after, found in ((0.5, []), (0.3, ["new"])):
        assert kinds([(0.9, 0.7), (after, 0.7)], row % 10 < 7, row < 1000) == found
    # In a part the first is sure to 100 %, the second to 85 %; none of its m held-out rows is
    # wrong. Elsewhere 15 % are, so that the gaps may be +7.5 and −7.5 points just as well:
    # by Gaffke's bounds P(w ≥ 0.15 / 1.15) with w ~ Beta(1, m), 0.016 for 30 rows, nothing for 300.
    for size, found in ((60, []), (600, ["new"])):
        inside = row < size
        assert kinds([(1.0, 6 / 7), (0.85, 6 / 7)], inside | (row % 7 > 0), inside) == found


def test_weights_and_units():
    models = pair(600, (0.2, 0), (0, 0))
    times = np.random.default_rng(1).integers(1, 4, 600)
    weighted = lore.compare_models(*(replace(of, weights=times) for of in models))
    again, twice = np.repeat(np.arange(600), times), np.repeat(np.arange(600), 2)
    repeated = lore.compare_models(*(replace(of.rows(again), metadata=None) for of in models))
    found = (of.differences["difference"] for of in (weighted, repeated))
    pd.testing.assert_series_equal(*found, atol=1e-12)
    # Rows twice, each a unit with its copy, say what the rows do.
    copies = [replace(of.rows(twice), metadata=None, units=twice) for of in models]
    alone, together = (lore.compare_models(*of).differences for of in (models, copies))
    pd.testing.assert_frame_equal(together.loc[alone.index], alone, rtol=0.2, atol=2e-3)
    # Of one unit nothing can be held out.
    one = [replace(of, units=np.zeros(600)) for of in models]
    assert lore.compare_models(*one, np.arange(1200.0).reshape(600, 2)).search.tried == 0


@pytest.mark.parametrize("n", [1, 2, 30, 800])
def test_identical_models_say_nothing(n):
    old, _ = pair(n)
    found = lore.compare_models(old, old, np.random.default_rng(0).normal(size=(n, 2)))
    assert found.names == ("old", "old (second)")
    assert not found.is_significant
    assert (found.differences["difference"].drop("sum of gaps") == 0).all()
    assert found.sentence.startswith("Neither model is significantly better overall: NLL ")
    assert "nan" not in found.sentence


class TestSameRows:
    def test_by_name(self):
        old, new = pair(300)
        order = np.random.default_rng(0).permutation(300)[:200]
        known = same_rows(old, new.rows(order))
        np.testing.assert_array_equal(known.rows, np.sort(order))
        np.testing.assert_array_equal(known.second.probabilities, new.probabilities[known.rows])
        assert known.how == "200 rows, matched by 'row_id', 100 only in “old”"
        # As text, with the classes in another order, and a name that says nothing.
        first, frame = (of.metadata.rename(columns={"row_id": "clip"}) for of in (old, new))
        known_as = {"metadata": frame.astype({"clip": str}), "class_names": ("1", "0")}
        turned = lore.Dataset(new.probabilities[:, ::-1], 1 - new.labels, name="new", **known_as)
        found = same_rows(replace(old, metadata=first), turned.rows(order), by="clip")
        for name in ("predictions", "probabilities", "labels"):
            np.testing.assert_array_equal(*(getattr(of.second, name) for of in (found, known)))

    def test_by_position(self):
        old, new = (replace(of, metadata=None) for of in pair(100))
        split = np.where(np.arange(100) < 40, "calibration", "evaluation")
        first = replace(old, split=split, features=np.arange(100.0)[:, None], feature_names=("x",))
        cut = replace(new, split=split).rows(slice(20, None))
        for second in (new, new.rows(slice(40, None)), cut):
            found = same_rows(first, second)
            assert found.how.endswith("rows, matched by their position")
            both = found.first.evaluation, found.second.evaluation
            np.testing.assert_array_equal(both[1].probabilities, new.probabilities[40:])
            np.testing.assert_array_equal(both[0].features, both[1].features)
        # What only the second knows of the rows holds for both; nothing is copied without need.
        assert same_rows(new, first).first.feature_names == ("x",)
        assert same_rows(first, new).first is first

    def test_refusals(self):
        old, new = pair(100)
        bare = [replace(of, metadata=None) for of in (old, new)]
        wrong = replace(new, labels=np.r_[1 - new.labels[:1], new.labels[1:]])
        ids = [new.metadata.assign(row_id=of) for of in (7, [None, *range(99)], range(500, 600))]
        twice, missing, others = (replace(new, metadata=of) for of in ids)
        three = lore.Dataset(np.full((100, 3), 1 / 3), old.labels, name="new")
        for first, second, by, words in (
            (bare[0], bare[1].rows(slice(50)), None, "'old' has 100 and 'new' 50, without a col"),
            (bare[0], replace(wrong, metadata=None), None, "1 row they differ, first at row 0: '"),
            (old, wrong, None, "first at 'row_id' 0: .* Look at 'row_id' of both files"),
            (old, twice, "row_id", "must name each row of 'new' once; '7' is twice"),
            (old, missing, "row_id", "must name each row of 'new'; it is empty in 1 row"),
            (old, others, "row_id", "no evaluation row of 'old' has the same 'row_id' as one of"),
            (old, new, "clip", "'by' must be a column of both models; 'old' has no clip"),
            (old, three, None, "must have the same classes; only one has 2"),
        ):
            with pytest.raises(lore.InputError, match=words):
                same_rows(first, second, by=by)
