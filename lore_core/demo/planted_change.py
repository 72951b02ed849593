"""Batches over time in which the confidence of some rows becomes wrong."""

import numpy as np
import pandas as pd

from lore_core.data.dataset import Dataset
from lore_core.data.validation import check_integer

_WEATHER, _SHARES = np.array(["sun", "rain", "snow"]), (0.6, 0.2, 0.2)
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
    weather, hour = rng.choice(3, n, p=_SHARES), rng.integers(0, 24, n)
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
