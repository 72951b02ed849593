"""Our metrics and recalibrators beside those of other packages, on the same rows.

Prints tables and writes docs/references.md. The packages are no part of the project: install them
beside it, ``pip install relplot model-diagnostics MCGrad netcal torchmetrics statsmodels probmetrics
rdata``, and run this script there. ``--data DIR`` holds prediction sets: ``*_pyx.npy`` (n, K) with
``*_y.npy`` (n,) of github.com/cleanlab/label-errors, and ``*.npz`` with ``predictions`` and
``ground_truth`` of github.com/EFS-OpenSource/calibration-framework. ``--niamey FILE.rda`` is
``precip_Niamey_2016.rda`` of github.com/aijordan/reliabilitydiag. ``--ranks`` compares recalibrators
too, on at most ``--rows`` rows of each set, and takes minutes.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import logit
from scipy.stats import rankdata

import lore_core as lore
from lore_core import metrics
from lore_core.data.dataset import Dataset
from lore_core.recalibration import TemperatureScaling, offered_recalibrators

Floats = NDArray[np.float64]
#: As published in the README of reliabilitydiag, for its forecast EMOS.
NIAMEY = {"score": 0.232, "miscalibration": 0.0183, "discrimination": 0.0305, "uncertainty": 0.244}
BINS = 15
#: Recalibrators of probmetrics, by their names there.
PROBMETRICS = (
    "platt", "platt-logits", "isotonic", "ivap-ovr", "ivap-ovo", "cir", "temp-scaling", "ts-mix",
    "affine-scaling", "quadratic-scaling", "beta", "svs", "sms", "logistic", "logistic-mix",
    "guo-ts", "torchunc-ts", "autogluon-ts", "autogluon-inv-ts",
)  # fmt: skip


@dataclass
class Comparison:
    """One metric of another package beside ours."""

    package: str
    what: str
    why: str  #: One sentence about the difference
    pairs: dict[str, tuple[float, float]] = field(default_factory=dict)  #: By set: ours, theirs

    @property
    def farthest(self) -> str:
        """The set on which both differ most."""
        return max(self.pairs, key=lambda name: abs(self.pairs[name][0] - self.pairs[name][1]))


def synthetic() -> Iterator[Dataset]:
    """Return made-up sets: two classes, ten, and a network that is overconfident everywhere."""
    for name, n, k, power in (
        ("two classes", 4000, 2, 1.4),
        ("ten classes", 4000, 10, 1.4),
        ("overconfident everywhere", 4000, 10, 4.0),
    ):
        rng = np.random.default_rng(k + n)
        p = rng.dirichlet(np.full(k, 0.4), n)
        labels = (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=k - 1)
        sharp = p**power
        groups = rng.choice(["a", "b", "c"], n)
        yield Dataset(
            sharp / sharp.sum(axis=1, keepdims=True), labels, groups={"group": groups}, name=name
        )


def public(directory: Path) -> Iterator[Dataset]:
    """Read prediction sets; their group is the predicted class."""
    for file in sorted(directory.glob("*_pyx.npy")):
        p = np.load(file, allow_pickle=False).astype(np.float64)
        labels = np.load(str(file).replace("_pyx", "_y"), allow_pickle=False).astype(np.int64)
        name = file.name.removeprefix("cl_").removesuffix("_test_set_pyx.npy")
        yield Dataset(p / p.sum(axis=1, keepdims=True), labels, name=name)
    for file in sorted(directory.glob("*.npz")):
        found = np.load(file, allow_pickle=False)
        p = found["predictions"].astype(np.float64)
        p /= p.sum(axis=1, keepdims=True)
        yield Dataset(p, found["ground_truth"].ravel().astype(np.int64), name=file.stem)


def compared(sets: list[Dataset]) -> list[Comparison]:
    """Measure every set by our metrics and by theirs."""
    found = []
    for package, what, why, measure in MEASURES:
        comparison = Comparison(package, what, why)
        for data in sets:
            comparison.pairs[data.name] = tuple(map(float, measure(data)))
            print(f"{package}, {what}, {data.name}: {comparison.pairs[data.name]}", flush=True)
        found.append(comparison)
    return found


def _relplot(data: Dataset) -> tuple[float, float]:
    import relplot

    ours = metrics.smooth_calibration_error(data.confidence, data.outcome)
    return ours, relplot.smECE(data.confidence, data.outcome)


def _relplot_fixed(data: Dataset) -> tuple[float, float]:
    from relplot.metrics import smECE_sigma

    ours = metrics.smooth_calibration_error(data.confidence, data.outcome)
    return ours, smECE_sigma(data.confidence, data.outcome, ours)


def _decomposition(data: Dataset) -> tuple[float, float]:
    from model_diagnostics.scoring import SquaredError, decompose

    ours = metrics.isotonic_reliability(data.confidence, data.outcome, n_draws=39)
    theirs = decompose(data.outcome, data.confidence, scoring_function=SquaredError())
    return ours.miscalibration, theirs["miscalibration"][0]


def _bias(data: Dataset) -> tuple[float, float]:
    from model_diagnostics.calibration import compute_bias

    ours = metrics.groupwise_calibration_error(data.confidence, data.outcome, _groups(data))
    theirs = compute_bias(data.outcome, data.confidence, feature=_groups(data), n_bins=200)
    theirs = dict(zip(theirs["feature"], theirs["bias_mean"], strict=True))
    worst = ours.loc[(ours["gap"] - ours["group"].map(theirs)).abs().idxmax()]
    return worst["gap"], theirs[worst["group"]]


def _mcgrad(data: Dataset) -> tuple[float, float]:
    from mcgrad.metrics import MulticalibrationError

    ours = metrics.multicalibration_error(data.confidence, data.outcome, _groups(data))
    frame = pd.DataFrame({"y": data.outcome, "p": data.confidence, "group": _groups(data)})
    theirs = MulticalibrationError(
        frame, "y", "p", categorical_segment_columns=["group"], precision_dtype="float64",
        max_values_per_segment_feature=len(frame), max_n_segments=None,
    )  # fmt: skip
    return ours, theirs.mce_sigma


def _mcgrad_ece(data: Dataset) -> tuple[float, float]:
    from mcgrad.metrics import expected_calibration_error

    ours = lore.expected_calibration_error(data.confidence, data.outcome, n_bins=BINS)
    return ours, expected_calibration_error(data.outcome, data.confidence, num_bins=BINS)


def _netcal(name: str) -> Callable[[Dataset], tuple[float, float]]:
    def measure(data: Dataset) -> tuple[float, float]:
        import netcal.metrics

        ours = getattr(lore.reliability_table(data.confidence, data.outcome, n_bins=BINS), _OURS[name])
        return ours, getattr(netcal.metrics, name)(BINS).measure(data.probabilities, data.labels)

    return measure


def _torchmetrics(norm: str) -> Callable[[Dataset], tuple[float, float]]:
    def measure(data: Dataset) -> tuple[float, float]:
        import torch
        from torchmetrics.functional.classification import multiclass_calibration_error

        ours = getattr(lore.reliability_table(data.confidence, data.outcome, n_bins=BINS), _OURS[norm])
        theirs = multiclass_calibration_error(
            torch.tensor(data.probabilities), torch.tensor(data.labels),
            num_classes=data.n_classes, n_bins=BINS, norm=norm,
        )  # fmt: skip
        return ours, float(theirs)

    return measure


_OURS = {name: "expected_calibration_error" for name in ("ECE", "l1")}
_OURS |= {name: "maximum_calibration_error" for name in ("MCE", "max")}


def _temperature(data: Dataset) -> tuple[float, float]:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.frozen import FrozenEstimator

    class Given(ClassifierMixin, BaseEstimator):
        classes_ = np.arange(data.n_classes)

        def fit(self, x: Floats, y: Floats) -> "Given":
            return self

        def __sklearn_is_fitted__(self) -> bool:
            return True

        def predict(self, x: Floats) -> NDArray[np.int64]:
            return x.argmax(axis=1)

        def predict_proba(self, x: Floats) -> Floats:
            return x

    p, y = data.probabilities, data.labels
    model = CalibratedClassifierCV(FrozenEstimator(Given()), method="temperature")
    theirs = model.fit(p, y).calibrated_classifiers_[0].calibrators[0].beta_
    return TemperatureScaling().fit(data).temperature_, 1 / float(theirs)


def _statsmodels(part: str) -> Callable[[Dataset], tuple[float, float]]:
    def measure(data: Dataset) -> tuple[float, float]:
        import statsmodels.api as sm

        x = logit(np.clip(data.confidence, 1e-6, 1 - 1e-6))
        ones = np.ones(len(x))
        ours = getattr(metrics.calibration_line(data.confidence, data.outcome), part)
        family = sm.families.Binomial()
        if part.startswith("intercept"):
            model = sm.GLM(data.outcome, ones, family=family, offset=x)
        else:
            model = sm.GLM(data.outcome, np.column_stack([x, ones]), family=family)
        theirs = model.fit(tol=1e-13, maxiter=300)
        return ours, (theirs.bse if part.endswith("error") else theirs.params)[0]

    return measure


def _groups(data: Dataset) -> NDArray[np.str_]:
    if data.groups is not None:
        return data.groups["group"].to_numpy().astype(str)
    return data.predictions.astype(str)


#: Package, what is compared, what explains the difference, and how.
MEASURES = (
    ("relplot", "smooth ECE", "WHY", _relplot),
    ("relplot", "smooth ECE at our bandwidth", "WHY", _relplot_fixed),
    ("model-diagnostics", "miscalibration of the Brier score", "WHY", _decomposition),
    ("model-diagnostics", "mean bias of a group", "WHY", _bias),
    ("MCGrad", "multicalibration error, σ", "WHY", _mcgrad),
    ("MCGrad", "ECE", "WHY", _mcgrad_ece),
    ("netcal", "ECE", "WHY", _netcal("ECE")),
    ("netcal", "MCE", "WHY", _netcal("MCE")),
    ("torchmetrics", "ECE", "WHY", _torchmetrics("l1")),
    ("torchmetrics", "MCE", "WHY", _torchmetrics("max")),
    ("scikit-learn", "temperature", "WHY", _temperature),
    *(
        ("statsmodels", name.replace("_error", ", standard error"), "WHY", _statsmodels(name))
        for name in metrics.CalibrationLine._fields
    ),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    given = parser.parse_args()
    sets = [*synthetic(), *(public(given.data) if given.data else ())]
    for c in compared(sets):
        print(c.package, c.what, c.farthest, c.pairs[c.farthest])

if __name__ == "__main__":
    main()
