"""Synthetic rows: with a known true calibration error, or batches in which one begins."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from lore_core.data.arrays import Floats
from lore_core.data.dataset import CALIBRATION, EVALUATION, Dataset
from lore_core.data.validation import check_integer

REGIONS = ("overconfident", "calibrated", "underconfident")

_SHARES = np.array([0.10, 0.55, 0.35])
_CENTRES = np.array([-4.0, 0.0, 4.0])
_LOWEST_CONFIDENCE = 0.5
_HIGHEST_CONFIDENCE = 0.9
#: At the heart of the overconfident blob: with more the other would need accuracies above 1.
_GAP = 0.35


@dataclass(frozen=True, eq=False)
class Synthetic:
    """Data and the truth about them."""

    dataset: Dataset  #: Binary predictions with features; metadata and group ``region``
    #: (n,); confidence − true accuracy, c − q; positive = overconfident. Read-only.
    true_gap: Floats


def synthetic(
    n: int = 10_000, *, n_features: int = 2, calibrated: bool = False, random_state: int = 0
) -> Synthetic:
    """Draw rows from three Gaussian blobs with a planted, locally opposite calibration error.

    ``n``: rows, at least 2; half calibration, half evaluation. ``n_features``: at least 2; from the
    third on standard normal noise. ``calibrated``: plant no error. ``random_state``: seed. Raises
    InputError if an argument is out of its range.

    At every confidence the gap averages to 0, so bins look calibrated: docs/method.md, at the end.
    """
    n = check_integer(n, "n", minimum=2)
    n_features = check_integer(n_features, "n_features", minimum=2)
    random_state = check_integer(random_state, "random_state", minimum=0, maximum=2**32 - 1)
    from scipy.special import ndtr

    rng = np.random.default_rng(random_state)
    blob = rng.choice(len(_SHARES), n, p=_SHARES)
    features = rng.normal(size=(n, n_features))
    features[:, 0] += _CENTRES[blob]

    height = 2.0 * ndtr(np.abs(features[:, 1])) - 1.0
    confidence = _LOWEST_CONFIDENCE + (_HIGHEST_CONFIDENCE - _LOWEST_CONFIDENCE) * height
    gap = np.zeros(n)
    if not calibrated:
        weights = _SHARES * np.exp(-0.5 * (features[:, :1] - _CENTRES) ** 2)
        origin = weights / weights.sum(axis=1, keepdims=True)
        gap = _GAP * (origin[:, 0] - _SHARES[0] / _SHARES[2] * origin[:, 2])
    outcome = rng.random(n) < confidence - gap

    predicted = (features[:, 1] > 0).astype(np.int64)
    labels = np.where(outcome, predicted, 1 - predicted)
    split = np.full(n, EVALUATION, dtype="<U11")
    split[rng.permutation(n)[: n // 2]] = CALIBRATION
    region = pd.DataFrame({"region": pd.Categorical.from_codes(blob, categories=pd.Index(REGIONS))})
    dataset = Dataset(
        probabilities=np.where(predicted == 1, confidence, 1.0 - confidence),
        labels=labels,
        features=features,
        groups=region,
        metadata=region.assign(true_gap=gap),
        split=split,
        class_names=("negative", "positive"),
        predictions=predicted,
        name="synthetic, calibrated" if calibrated else "synthetic, planted error",
    )
    gap.flags.writeable = False
    return Synthetic(dataset, gap)


_WEATHER, _WEATHER_SHARES = np.array(["sun", "rain", "snow"]), (0.6, 0.2, 0.2)
#: How far up the second feature rows lie, by weather.
_SHIFT = np.array([0.0, 2.5, -2.5])


def batches(
    n_batches: int = 10,
    n_rows: int = 1_500,
    *,
    changed: int | None = 7,
    overconfidence: float = 0.2,
    random_state: int = 0,
) -> Dataset:
    """Draw days of forecasts; from one on confidence is too high on rows with weather rain.

    ``n_batches``, ``n_rows``: days, and rows of each. ``changed``: number of the first changed day,
    from 1; None: none changes. ``overconfidence``: gap of the changed rows. ``random_state``: seed.
    The metadata name the ``day`` of each row, its ``weather`` and ``hour``.
    """
    n = check_integer(n_batches, "n_batches") * check_integer(n_rows, "n_rows")
    rng = np.random.default_rng(random_state)
    day = np.repeat(np.arange(1, n_batches + 1), n_rows)
    weather, hour = rng.choice(3, n, p=_WEATHER_SHARES), rng.integers(0, 24, n)
    features = rng.normal(size=(n, 3))
    features[:, 1] += _SHIFT[weather]
    confidence = rng.uniform(0.55, 0.95, n)
    is_changed = (weather == 1) & (day >= (n_batches + 1 if changed is None else changed))
    right = rng.random(n) < confidence - overconfidence * is_changed
    predicted = rng.integers(0, 2, n)
    names = [f"day-{number:02d}" for number in range(1, n_batches + 1)]
    return Dataset(
        probabilities=np.where(predicted == 1, confidence, 1.0 - confidence),
        labels=np.where(right, predicted, 1 - predicted),
        features=features,
        metadata=pd.DataFrame(
            {"day": np.array(names)[day - 1], "weather": _WEATHER[weather], "hour": hour}
        ),
        class_names=("late", "on time"),
        predictions=predicted,
        name="forecasts of ten days" if n_batches == 10 else f"forecasts of {n_batches} days",
    )
