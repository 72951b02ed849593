import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lore_core import Dataset, InputError, composition, describe_composition
from lore_core.regions.enrichment import ratio_interval
from lore_core.regions.variables.attributes import attributes
from lore_core.regions.variables.cutting import cut


def rows(n, *, labels=None, predictions=None, **fields):
    labels = np.zeros(n, dtype=int) if labels is None else np.asarray(labels)
    fields["predictions"] = labels if predictions is None else np.asarray(predictions)
    return Dataset(np.full((n, 3), 1 / 3), labels, class_names=("a", "b", "c"), **fields)


def test_by_hand():
    # 4 of 5 inside are red, 2 of 15 outside; the rest is blue.
    colour = ["red"] * 4 + ["blue"] + ["red"] * 2 + ["blue"] * 13
    data = rows(20, groups=pd.DataFrame({"colour": colour}))
    frame = composition(data, np.arange(20) < 5)
    assert list(frame[["attribute", "value"]].itertuples(index=False, name=None)) == [
        ("colour", "red")
    ]
    red = frame.iloc[0]
    assert (red.rows_inside, red.rows) == (4, 6)
    assert (red.share_inside, red.share_outside) == pytest.approx((4 / 5, 2 / 15))
    assert red.lift == pytest.approx(6)
    assert red.lift_low < 6 < red.lift_high
    exact = stats.fisher_exact([[4, 1], [2, 13]], alternative="greater").pvalue
    assert red.p_value == pytest.approx(exact)
    assert frame.attrs["looked_at"] == 2
    assert red.p_adjusted == pytest.approx(2 * exact)
    assert describe_composition(frame) == (
        "mostly colour red (80 % of these rows, 13 % of the others)"
    )


def test_a_pair_of_classes_is_listed_and_never_a_cause():
    n = 900
    labels, predictions = np.arange(n) % 3, np.arange(n) // 3 % 3
    inside = (labels == 2) & (predictions == 1)
    frame = composition(rows(n, labels=labels, predictions=predictions), inside)
    assert describe_composition(frame) == (
        "mostly predicted b (100 % of these rows, 25 % of the others)"
    )
    best = frame.iloc[0]
    assert np.isinf(best.lift)
    assert np.isfinite(best.lift_low)
    assert np.isinf(best.lift_high)


@pytest.mark.parametrize("which", ["empty", "all", "one"])
def test_sets_of_no_rows_all_rows_and_one(which):
    data = rows(30, metadata=pd.DataFrame({"x": np.arange(30.0)}))
    inside = {"empty": np.zeros(30, bool), "all": np.ones(30, bool), "one": np.arange(30) == 3}
    frame = composition(data, inside[which])
    if which == "one":
        assert (frame["p_adjusted"] > 0.05).all()
        assert "like the rest" in describe_composition(frame)
    else:
        assert len(frame) == 0
        assert describe_composition(frame) == "nothing to compare with"
    assert {"attribute", "value", "lift", "lift_low", "lift_high"} <= set(frame.columns)


def test_among_is_what_a_set_is_compared_with():
    colour = np.array(["red", "blue"])[
        np.r_[np.zeros(10, int), np.ones(10, int), np.zeros(80, int)]
    ]
    data = rows(100, groups=pd.DataFrame({"colour": colour}))
    inside = np.arange(100) < 10
    against_all = composition(data, inside).set_index("value")
    against_some = composition(data, inside, among=np.arange(100) < 20).set_index("value")
    assert against_all.loc["red", "share_outside"] == pytest.approx(80 / 90)
    assert against_some.loc["red", "share_outside"] == 0
    assert against_some.loc["red", "rows"] == 10
    x = np.r_[np.full(20, np.nan), np.arange(80.0)]
    text = np.r_[np.full(20, None), np.full(80, "here")].astype(object)
    data = rows(100, metadata=pd.DataFrame({"x": x, "text": text}))
    inside = np.arange(100) < 15
    frame = composition(data, inside)
    assert frame.loc[0, "value"] == "missing"
    assert frame.loc[0, "share_inside"] == 1
    assert frame.loc[0, "rows"] == 20
    # The other column divides the rows into missing and not, too, but its numbers tell more.
    assert set(frame["attribute"]) == {"x", "text"}


def test_columns_that_tell_nothing():
    n = 100
    data = rows(n, metadata=pd.DataFrame({"id": np.arange(n) * 3, "time": np.arange(n) * 1.5}))
    assert [item.name for item in attributes(data)] == ["time"]
    n = 3000
    data = rows(
        n,
        metadata=pd.DataFrame({"id": [f"row {i}" for i in range(n)], "constant": 1, "none": None}),
    )
    frame = composition(data, np.arange(n) < 100)
    assert len(frame) == 0
    assert frame.attrs["looked_at"] == 0
    n = 300
    labels = np.arange(n) % 3
    names = np.array(["cat", "dog", "emu"])[labels]
    found = attributes(
        rows(n, labels=labels, predictions=labels, groups=pd.DataFrame({"kind": names}))
    )
    assert [item.name for item in found] == ["predicted class"]


def test_columns_images_and_features():
    rng = np.random.default_rng(1)
    n = 400
    images = np.zeros((n, 4, 4), dtype=np.uint8)
    images[:50] = 200
    images += rng.integers(0, 50, (n, 1, 1)).astype(np.uint8)
    features = pd.DataFrame(rng.normal(size=(n, 2)), columns=["age", "income"])
    features.loc[:49, "age"] += 3
    metadata = pd.DataFrame({"site": np.where(np.arange(n) < 50, "north", "south")})
    data = rows(n, images=images, features=features, metadata=metadata)
    frame = composition(data, np.arange(n) < 50)
    top = frame.groupby("attribute")["p_adjusted"].min()
    assert top["site"] < 1e-6
    assert top["image brightness"] < 1e-6
    assert top["age"] < 1e-6
    assert top.get("income", 1.0) > 0.01


def test_an_embedding_is_passed_over():
    features = np.random.default_rng(0).normal(size=(50, 64))
    assert attributes(rows(50, features=features)) == []
    assert len(attributes(rows(50, features=features[:, :4]))) == 4
    named = pd.DataFrame(
        features, columns=[f"sensor {'abcdefgh'[k // 8]}{'ijklmnop'[k % 8]}" for k in range(64)]
    )
    assert len(attributes(rows(50, features=named))) == 64
    data = rows(10)
    with pytest.raises(InputError, match="'inside' must be a mask"):
        composition(data, np.arange(3))
    with pytest.raises(InputError, match="as many rows"):
        composition(data, np.ones(4, bool))


class TestCut:
    def test_quarters_are_named_by_what_they_hold_with_short_edges(self):
        x = np.random.default_rng(0).gamma(2, 10, 5000)
        part = cut("x", x)
        assert part.numeric
        assert len(part.values) == 4
        first, last = part.values[0], part.values[-1]
        assert first.startswith("< ")
        assert last.startswith("≥ ")
        np.testing.assert_array_equal(part.codes == 0, x < float(first[2:]))
        np.testing.assert_array_equal(part.codes == 3, x >= float(last[2:]))
        assert len(first) <= 6, "as few digits as do"
        assert np.bincount(part.codes) / 5000 == pytest.approx(np.full(4, 0.25), abs=0.03)
        x = np.r_[np.zeros(70), np.arange(1, 31)]
        part = cut("x", x)
        zero = part.codes[0]
        assert (part.codes == zero).sum() == 70
        assert part.values[zero] == "= 0"
        # Ties: no edge may be rounded across one, but any number between two values will do.
        x = np.repeat(
            [-1.0803749561, -0.41860160232, 0.0325671471, 0.9049450755, 2.5, 3.1, 4.7], 10
        )
        part = cut("x", x, n_parts=7)
        assert part.borders == ("−0.42", "0.032", "0.9", "2.5", "3.1", "4.7")
        np.testing.assert_array_equal(part.codes, np.repeat(np.arange(7), 10))

    def test_few_values_are_names_in_order(self):
        part = cut("x", np.array([10.0, 2.0, np.nan, 2.0]))
        assert part.values == ("2", "10", "missing")
        assert part.codes.tolist() == [1, 0, 2, 0]
        part = cut("x", np.array([-0.176178216934204, 1.5, -0.176, 1.5]))
        assert part.values == ("−0.1762", "−0.176", "1.5")
        days = pd.Series(pd.date_range("2024-01-01", periods=100))
        assert cut("day", days).values[0] == "< 2024-01-26"
        infinite = cut("x", np.r_[np.arange(50.0), np.inf, -np.inf])
        assert len(infinite.values) == 4
        assert cut("b", np.array([True, False])).values == ("False", "True")
        assert cut("t", np.array(["", "a"])).values == ("(empty)", "a")


class TestRatioInterval:
    def test_against_a_published_example(self):
        # Koopman 1984: 36 of 40 against 16 of 80, score interval 2.94 to 7.15.
        low, high = ratio_interval(36, 40, 16, 80)
        assert (float(low), float(high)) == pytest.approx((2.94, 7.15), abs=0.01)

    @pytest.mark.parametrize(
        ("n1", "p1", "n2", "p2"),
        [(20, 0.3, 200, 0.1), (50, 0.1, 1000, 0.02), (200, 0.6, 2000, 0.04), (10, 0.5, 40, 0.5)],
    )
    def test_coverage(self, n1, p1, n2, p2):
        rng = np.random.default_rng(11)
        k1, k2 = rng.binomial(n1, p1, 4000), rng.binomial(n2, p2, 4000)
        low, high = ratio_interval(k1, n1, k2, n2)
        covered = np.mean((low <= p1 / p2) & (p1 / p2 <= high))
        assert 0.935 < covered < 0.975


def test_sets_drawn_at_random_rarely_show_anything():
    rng = np.random.default_rng(5)
    n = 600
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "y": rng.gamma(1, 1, n),
            "site": rng.choice(list("abcdefgh"), n),
            "rare": rng.choice(["p", "q"], n, p=[0.97, 0.03]),
        }
    )
    data = rows(n, labels=rng.integers(0, 3, n), predictions=rng.integers(0, 3, n), metadata=frame)
    coded = attributes(data)
    wrong = 0
    for _ in range(150):
        inside = np.zeros(n, dtype=bool)
        inside[rng.choice(n, int(rng.integers(8, 150)), replace=False)] = True
        found = composition(data, inside, coded=coded)
        wrong += bool((found["p_adjusted"] < 0.05).any())
    assert wrong / 150 < 0.06
