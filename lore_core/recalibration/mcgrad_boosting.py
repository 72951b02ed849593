"""MCGrad: multicalibration by gradient boosting, fitted by the package of that name."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from lore_core.data.arrays import Floats
from lore_core.data.rows import Rows
from lore_core.data.validation import InputError, check_integer
from lore_core.recalibration.base import Recalibrator
from lore_core.recalibration.logistic_curves import PlattScaling
from lore_core.recalibration.logistic_regression import feature_table

if TYPE_CHECKING:
    import pandas as pd

    from lore_core.data.dataset import Dataset

#: Folds of its own cross-validation: it needs as many rows of each outcome.
_FOLDS = 5
#: Confidences of exactly 0 and 1 have no log-odds.
_SMALLEST = 1e-12


class State(TypedDict):
    """What MCGrad fits."""

    n_features: int  #: of the calibration rows
    n_rounds: int  #: boosting rounds used
    start: PlattScaling | None  #: what the trees correct; None where every confidence stays
    model: Any  #: mcgrad's; None where there are no rounds


class MCGrad(Recalibrator):
    """Boosted trees that look in the features for where the top-label confidence is wrong.

    The confidences are Platt-scaled first. The number of boosting rounds is chosen by
    cross-validation on the calibration rows; where it is 0, Platt scaling is all there is. Where
    fewer than five rows are right or wrong, every confidence stays.

    Parameters
    ----------
    random_state : int
        Seed of the folds and the trees.

    Attributes
    ----------
    n_rounds_ : int
        Boosting rounds used.

    Notes
    -----
    Platt scaling comes first because on saturated confidences MCGrad chose 0 rounds without it.
    Needs ``mcgrad`` and ``lightgbm``. Features are given as numbers, groups are not used.

    References
    ----------
    "MCGrad: multicalibration at web scale", arXiv 2509.19884.
    """

    label = "MCGrad"
    needs_features = True
    n_rounds_: int
    #: Needed by ``fit``, and imported there.
    modules = ("mcgrad", "lightgbm", "psutil")
    installation = "pip install --no-deps mcgrad && pip install lightgbm psutil"

    def __init__(self, random_state: int = 42) -> None:
        self.random_state = random_state
        self._check_params()

    def _check_params(self) -> None:
        check_integer(self.random_state, "random_state", minimum=0, maximum=2**32 - 1)

    @classmethod
    def installed(cls) -> bool:
        """Whether its library can be found; nothing is imported."""
        return all(importlib.util.find_spec(name) is not None for name in cls.modules)

    def _fit_on(self, calibration: Dataset, *_: object) -> State:
        try:
            methods = importlib.import_module("mcgrad.methods")
        except (ImportError, OSError) as error:  # OSError: a shared object is not there
            raise InputError(
                f"MCGrad needs the package 'mcgrad', which cannot be imported ({error}). Install "
                f"it with: {self.installation}."
            ) from error
        start = PlattScaling().fit(calibration)
        scaled = start.recalibrate(calibration).confidence
        features = feature_table(calibration.features, calibration.name, self.label)
        frame, names = _frame(features, scaled)
        right = int(calibration.outcome.sum())
        if min(right, len(calibration) - right) < _FOLDS:
            return {"n_features": len(names), "n_rounds": 0, "start": None, "model": None}
        frame["label"] = calibration.outcome.astype(np.int64)
        model = methods.MCGrad(random_state=self.random_state, n_folds=_FOLDS)
        with _quiet():
            model.fit(
                df_train=frame,
                prediction_column_name="prediction",
                label_column_name="label",
                categorical_feature_column_names=[],
                numerical_feature_column_names=names,
            )
        n_rounds = len(model.mr)
        return {
            "n_features": len(names),
            "n_rounds": n_rounds,
            "start": start,
            "model": model if n_rounds else None,
        }

    @property
    def remark(self) -> str:
        """A remark where no trees were chosen."""
        state = self.state()
        return "no trees: Platt scaling alone" if state["start"] and not state["n_rounds"] else ""

    @staticmethod
    def apply(state: State, rows: Rows) -> Rows:
        """Scale the confidences, and correct them by the trees."""
        if state["start"] is not None:
            rows = state["start"].applied_to(rows)
        if state["model"] is None:
            return rows
        features = feature_table(rows.features, rows.name, MCGrad.label, state["n_features"])
        frame, names = _frame(features, rows.confidence)
        with _quiet():
            found = state["model"].predict(
                df=frame,
                prediction_column_name="prediction",
                categorical_feature_column_names=[],
                numerical_feature_column_names=names,
            )
        return rows.with_confidence(np.clip(found, 0.0, 1.0))


def _frame(features: Floats, confidence: Floats) -> tuple[pd.DataFrame, list[str]]:
    import pandas as pd

    names = [f"f{column}" for column in range(features.shape[1])]
    frame = pd.DataFrame(features, columns=names)
    frame["prediction"] = np.clip(confidence, _SMALLEST, 1 - _SMALLEST)
    return frame, names


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    log = logging.getLogger("mcgrad")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)
