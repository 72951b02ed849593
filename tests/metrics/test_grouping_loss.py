import numpy as np
import pytest
from scipy.optimize import brentq

from lore_core.comparison import estimate_gains
from lore_core.data.dataset import Dataset
from lore_core.metrics import loss_parts
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
