import numpy as np
import pytest
from scipy import stats

from lore_core import InputError, reward_curve
from lore_core.data.weights import linearised
from lore_core.metrics import describe_rewards, reward_curves, unsure_threshold
from lore_core.metrics.rewards import answer_threshold, risk_curve


def test_rewards_by_hand():
    assert unsure_threshold(1, 10) == pytest.approx(0.9)
    assert unsure_threshold(2, 2) == 0.0
    with pytest.raises(InputError, match="'unsure_cost' must not exceed 'wrong_cost'; got 3 and 2"):
        unsure_threshold(3, 2)
    with pytest.raises(InputError, match=r"'ratios' must be finite and at least 1 .*; got 0.5"):
        reward_curve([0.5], [1], [2.0, 0.5])
    with pytest.raises(InputError, match="got 1 and 2"):
        reward_curves({"one": [0.5, 0.6], "two": [0.5]}, [1, 0])
    # Ratio 4: threshold .75. Rows: right answered 0, wrong answered −4, unsure −1.
    curve = reward_curve([0.9, 0.8, 0.5], [1, 0, 1], [4.0])
    assert curve.reward == pytest.approx([-5 / 3])
    assert curve.answered == pytest.approx([2 / 3])
    assert curve.gain == pytest.approx([0.0])
    # Before: all answered, one of two wrong (−4). After: the wrong one is unsure (−1).
    curve = reward_curve([0.9, 0.1], [1, 0], [4.0], baseline=[0.9, 0.9])
    assert curve.gain == pytest.approx([1.5])
    half = 1.959963984540054 * np.std([0, 3], ddof=1) / np.sqrt(2)
    assert curve.gain_low == pytest.approx([1.5 - half])
    assert curve.gain_high == pytest.approx([1.5 + half])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [2, 60, 5000])  # each row by itself, and rows alike together
def test_row_by_row(n, weighted):
    rng = np.random.default_rng(n)
    c, before = rng.choice(np.r_[np.linspace(0, 1, 41), 0.75], (2, n))  # some on a threshold
    a = (rng.random(n) < 0.7).astype(float)
    w = rng.uniform(0.1, 3, n) if weighted else None
    ratios = np.r_[20.0, 4.0, 1.0, rng.uniform(1, 50, 8), 4.0]
    curve = reward_curve(c, a, ratios, baseline=before, weights=w)
    for k, ratio in enumerate(ratios):
        own, other = (np.where(x >= 1 - 1 / ratio, (a - 1) * ratio, -1.0) for x in (c, before))
        assert curve.reward[k] == pytest.approx(np.average(own, weights=w))
        assert curve.answered[k] == pytest.approx(np.average(c >= 1 - 1 / ratio, weights=w))
        apart = linearised(own - other, w)
        half = 1.959963984540054 * apart.std(ddof=1) / np.sqrt(n)
        assert curve.gain_low[k] == pytest.approx(apart.mean() - half, abs=1e-12)
        assert curve.gain_high[k] == pytest.approx(apart.mean() + half, abs=1e-12)


def test_interval_covers_the_true_gain():
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(300):
        q = rng.uniform(0.4, 1, 400)
        a = (rng.uniform(size=400) < q).astype(float)
        curve = reward_curve(q, a, [5.0], baseline=np.full(400, 0.9))
        # Where q < .8 unsure costs 1 instead of (1 − q)·5: true mean gain over U(.4, 1).
        true = (np.mean((1 - np.linspace(0.4, 0.8, 100_001)) * 5) - 1) * (0.4 / 0.6)
        hits += curve.gain_low[0] <= true <= curve.gain_high[0]
    assert 0.92 <= hits / 300 <= 0.98


def test_sentence_claims_only_what_is_beyond_chance():
    before, a = np.full(200, 0.95), np.tile([1, 1, 1, 0], 50)
    none = reward_curve(before, a, [10.0], baseline=before)
    sure = reward_curve(np.where(a == 1, 0.95, 0.2), a, [10.0], baseline=before)
    text = describe_rewards({"No recalibration": none, "LoRe": sure}, unsure_cost=2, wrong_cost=20)
    # Each fourth row costs 10 before and 1 after: 9/4 in units of u = 2.
    assert "“LoRe” costs 4.5 a row less than “No recalibration”" in text
    assert "confidence 90.0 % or more" in text
    text = describe_rewards({"No recalibration": none, "same": none}, unsure_cost=1, wrong_cost=10)
    assert "No method costs significantly less than “No recalibration”" in text


def test_the_error_rate_among_rows_of_high_confidence_by_hand():
    # Thresholds at quantiles of other confidences: 0.8, 0.6, 0.4 and 0.
    curve = risk_curve([0.9, 0.8, 0.6, 0.3], [1, 0, 1, 1], [0.4, 0.6, 0.8, 0.9])
    assert curve["threshold"].to_numpy() == pytest.approx([0.8, 0.6, 0.4, 0])
    assert curve[["n_answered", "n_wrong"]].to_numpy().tolist() == [[2, 1], [3, 1], [3, 1], [4, 1]]
    assert curve["coverage"].tolist() == [0.5, 0.75, 0.75, 1]
    exact = [stats.binomtest(1, n).proportion_ci(1 - 0.05 / 4) for n in (2, 3, 3, 4)]
    assert curve[["low", "high"]].to_numpy() == pytest.approx(np.array(exact))
    with pytest.raises(InputError, match="without 'weights'"):
        risk_curve([0.5], [1], [0.5], weights=[1.0])


def lowest_tested(c, a, thresholds):
    """Lowest threshold that is rejected, by the definition: a tenth of 5 % comes at each fifth."""
    found, left = None, 0.0
    for number, at in enumerate(thresholds, start=1):
        n, wrong = (c >= at).sum(), (a[c >= at] == 0).sum()
        left += 0.005 * (number % 5 == 0)
        rejected = n > 0 and stats.binom.cdf(wrong, n, 0.05) <= left
        found, left = (at, left) if rejected else (found, 0.0)
    return found


@pytest.mark.parametrize("right", [0.93, 0.97, 1.0])
def test_the_threshold_is_the_last_of_an_unbroken_row_of_tests(right):
    other = (np.arange(50) + 0.5) / 50
    thresholds = np.append(other[-2::-1], 0)
    given = set()
    for seed in range(40):
        rng = np.random.default_rng(seed)
        c = rng.random(2000)
        a = (rng.random(2000) < np.where(c > 0.5, right, right - 0.1)).astype(float)
        found = answer_threshold(risk_curve(c, a, other), 0.05)
        wanted = lowest_tested(c, a, thresholds)
        assert found.confidence == pytest.approx(wanted)
        given.add(wanted is not None)
        if wanted is not None:
            assert (found.n_answered, found.n_wrong) == (sum(c >= wanted), sum(a[c >= wanted] == 0))
            assert found.wrong <= found.bound <= 0.05
    assert (right > 0.95) in given


def test_how_many_rows_a_guarantee_takes():
    def found(n, wrong):
        curve = risk_curve(np.full(n, 0.8), np.arange(n) >= wrong, [0.7, 0.8, 0.9])
        return answer_threshold(curve, 0.05)

    assert found(80, 0).confidence == 0.0  # 0.95^80 = 0.0165, of three thresholds
    assert 80 <= found(79, 0).rows_needed <= 85
    none = found(100, 4)
    assert none.abstains(np.ones(2)).all()
    assert f"takes about {none.rows_needed:,} rows" in none.sentence
    assert found(none.rows_needed, int(none.rows_needed * 0.04)).confidence == 0.0
    assert found(none.rows_needed // 4, none.rows_needed // 100).confidence is None
    assert "there are more at every confidence" in found(100, 6).sentence
