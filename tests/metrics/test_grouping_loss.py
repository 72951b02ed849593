import numpy as np
import pytest
from scipy.optimize import brentq

import lore_core as lore
from lore_core.comparison import estimate_gains
from lore_core.data.dataset import Dataset
from lore_core.metrics import loss_parts, reward_curve, reward_parts
from lore_core.metrics.gains import cells_of


def world(seed, *, gap=0.0, side=0.0, n=4000):
    """Rows whose accuracy is the confidence − gap ± side, by the sign of a feature."""
    rng = np.random.default_rng(seed)
    c, x = rng.uniform(0.55, 0.85, n), rng.normal(size=(n, 3))
    q = c - gap + side * np.sign(x[:, 1])
    right = rng.random(n) < q
    return Dataset(np.column_stack([1 - c, c]), right.astype(int), features=x)


def glest_grouping_loss(right, count):
    """Lower bound as Perez-Lebel et al. write it, of shares and sizes (bins, parts)."""
    of_bin = count.sum(axis=1)
    share = (right * count).sum(axis=1) / of_bin
    explained = (count * (share[:, None] * (1 - share[:, None]) - right * (1 - right))).sum()
    noise = (count / of_bin[:, None] * right * (1 - right) / (count - 1)).sum(axis=1)
    bias = (of_bin * (noise - share * (1 - share) / (of_bin - 1))).sum()
    return (explained - bias) / of_bin.sum()


def test_grouping_loss_is_that_of_its_authors_where_the_curve_is_flat_within_bins():
    rng = np.random.default_rng(0)
    level = np.repeat([0.6, 0.7, 0.8, 0.9], 200)
    told = np.tile(np.repeat([0.0, 1.0], 100), 4) + np.linspace(0, 1e-3, 800)
    a = (rng.random(800) < level + 0.1 * (told > 0.5)).astype(float)
    bins, cells = cells_of(level, told)
    parts = loss_parts(level, a, level, told)
    shape = (4, (cells.max() + 1) // 4)
    count = np.bincount(cells).reshape(shape)
    right = np.bincount(cells, a).reshape(shape) / count
    assert shape == (4, 4)
    assert parts.grouping.value == pytest.approx(glest_grouping_loss(right, count), rel=1e-12)
    gap = np.array([(level - a)[bins == k] for k in range(4)])
    by_hand = np.mean(gap.mean(axis=1) ** 2 - gap.var(axis=1, ddof=1) / 200)
    assert parts.calibration.value == pytest.approx(by_hand, rel=1e-12)
    assert parts.both.value == pytest.approx(parts.calibration.value + parts.grouping.value)


def test_the_interval_is_where_the_sum_of_squares_is_not_surprising():
    rows = world(1, gap=0.15)
    c, a = rows.probabilities[:, 1], rows.labels.astype(float)
    part = loss_parts(c, a, c, rows.features[:, 0]).calibration
    bins, _ = cells_of(c, rows.features[:, 0])
    mean = np.array([(c - a)[bins == k].mean() for k in range(15)])
    share = np.array([(a[bins == k].sum() + 0.5) / ((bins == k).sum() + 1) for k in range(15)])
    weight, unit = np.bincount(bins) / 4000, share * (1 - share) / 4000
    square = weight * mean**2
    among = (square @ mean**2 - square.sum() ** 2) / 4000
    growth = (4 * square @ unit + among) / square.sum()

    def beyond(theta):
        return (part.value - theta) ** 2 - 1.959964**2 * (growth * theta + 2 * unit @ unit)

    assert part.low == pytest.approx(brentq(beyond, 0, part.value), rel=1e-5)
    assert part.high == pytest.approx(brentq(beyond, part.value, 1), rel=1e-5)


@pytest.mark.parametrize(
    ("planted", "calibration", "grouping"),
    [({}, 0.0, 0.0), ({"gap": 0.1}, 0.01, 0.0), ({"side": 0.12}, 0.0, 0.0144)],
    ids=["calibrated", "curve", "features"],
)
def test_what_is_planted_is_what_is_said(planted, calibration, grouping):
    known = estimate_gains(world(2, **planted), world(3, **planted), target=1)
    found = known.losses()
    assert found.calibration.low <= calibration <= found.calibration.high
    assert found.calibration.high < calibration + 0.008
    assert found.grouping.low <= grouping
    assert (found.grouping.low > 0.5 * grouping) == (grouping > 0)
    assert known.losses(slice(40)) is None


def test_gains_of_reward_are_differences_of_rewards_and_the_bound_is_above_every_threshold():
    known = estimate_gains(world(4, gap=0.1, side=0.2), world(5, gap=0.1, side=0.2), target=1)
    c, a, g, f = known.confidence, known.outcome, known.recalibrated, known.improved
    parts = reward_parts(c, a, g, f, 4.0)
    reward = {k: reward_curve(p, a, [4.0]).reward[0] for k, p in zip("cgf", (c, g, f), strict=True)}
    assert parts.recalibrated.value == pytest.approx(reward["g"] - reward["c"])
    assert parts.improved.value == pytest.approx(reward["f"] - reward["g"])
    assert parts.both.value == pytest.approx(reward["f"] - reward["c"])
    assert parts.improved.low > 0
    value, first = 4 * (a - 0.75), c >= 0.75
    best = max(np.mean(value * ((c >= s) * 1.0 - first)) for s in np.quantile(c, np.linspace(0, 1)))
    assert best < parts.at_most < best + 0.15


def test_too_few_changed_answers_have_no_interval():
    c = np.linspace(0.6, 0.8, 400)
    a = np.resize([1.0, 0.0, 1.0], 400)
    moved = np.where(np.arange(400) < 6, 0.9, c)
    found = reward_parts(c, a, c, moved, 10.0)
    assert found.recalibrated.changed == 0
    assert np.isnan(found.recalibrated.low)
    assert np.isnan(found.improved.low)
    with pytest.raises(lore.InputError, match="'ratio' must be finite and at least 1"):
        reward_parts(c, a, c, moved, 0.5)
