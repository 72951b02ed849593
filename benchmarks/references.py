"""Our metrics and recalibrators compared with those of other packages, on the same rows.

Prints the numbers and writes docs/references.md. The packages are no part of the project. Install
them beside it, in another environment, and run this script there: ``pip install relplot
model-diagnostics MCGrad netcal torchmetrics statsmodels probmetrics rdata venn-abers cir-model
pytorch-minimize``. ``--data DIR`` holds prediction sets: ``*_pyx.npy`` (n, K) with ``*_y.npy`` (n,)
of github.com/cleanlab/label-errors, and ``*.npz`` with ``predictions`` and ``ground_truth`` of
github.com/EFS-OpenSource/calibration-framework. ``--niamey FILE.rda`` is ``precip_Niamey_2016.rda``
of github.com/aijordan/reliabilitydiag. ``CAL,TEST`` are files of networks with features; of these
and of the sets (halved at random) recalibrators are ranked with ``--ranks``, which takes minutes.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
from _report import markdown_table
from numpy.typing import NDArray
from scipy.special import logit
from scipy.stats import rankdata

import lore_core as lore
from lore_core import metrics
from lore_core.data.dataset import Dataset
from lore_core.embedding import MapName, make_map
from lore_core.recalibration import TemperatureScaling, offered_recalibrators
from lore_core.view.methods import require_calibration

Floats = NDArray[np.float64]
#: As published in the README of reliabilitydiag, for its forecast EMOS.
NIAMEY = {"score": 0.232, "miscalibration": 0.0183, "discrimination": 0.0305, "uncertainty": 0.244}
BINS = 15
#: Recalibrators of probmetrics for any number of classes, by their names there.
PROBMETRICS = (
    "platt", "isotonic", "ivap", "ivap-ovr", "cir", "temp-scaling", "ts-mix", "svs", "sms",
    "logistic", "logistic-mix", "guo-ts", "torchunc-ts", "torchcal-ts", "autogluon-ts",
    "autogluon-inv-ts", "ETSCalibrator", "VectorScalingCalibrator", "MatrixScalingCalibrator",
)  # fmt: skip
#: Rows of a public set to fit on and to measure, at most.
ROWS = 2000
PAGE = Path(__file__).parents[1] / "docs" / "references.md"


@dataclass
class Comparison:
    """One metric of another package and ours."""

    package: str
    what: str
    why: str  #: One sentence about the difference
    pairs: dict[str, tuple[float, float]] = field(default_factory=dict)  #: By set: ours, theirs

    @property
    def cells(self) -> list[str]:
        """A line of the table: the set on which both differ most."""
        apart = {name: abs(ours - theirs) for name, (ours, theirs) in self.pairs.items()}
        name = max(apart, key=apart.__getitem__)
        numbers = [f"{value:.6g}" for value in self.pairs[name]] + [f"{apart[name]:.1e}"]
        return [self.package, version(self.package), self.what, name, *numbers, self.why]


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

        table = lore.reliability_table(data.confidence, data.outcome, n_bins=BINS)
        theirs = getattr(netcal.metrics, name)(BINS).measure(data.confidence, data.outcome)
        return getattr(table, _OURS[name]), theirs

    return measure


def _torchmetrics(norm: str) -> Callable[[Dataset], tuple[float, float]]:
    def measure(data: Dataset) -> tuple[float, float]:
        import torch
        from torchmetrics.functional.classification import multiclass_calibration_error

        table = lore.reliability_table(data.confidence, data.outcome, n_bins=BINS)
        theirs = multiclass_calibration_error(
            torch.tensor(data.probabilities), torch.tensor(data.labels),
            num_classes=data.n_classes, n_bins=BINS, norm=norm,
        )  # fmt: skip
        return getattr(table, _OURS[norm]), float(theirs)

    return measure


_OURS = dict.fromkeys(("ECE", "l1"), "expected_calibration_error")
_OURS |= dict.fromkeys(("MCE", "max"), "maximum_calibration_error")


def _temperature(data: Dataset) -> tuple[float, float]:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.frozen import FrozenEstimator

    class Given(ClassifierMixin, BaseEstimator):
        classes_ = np.arange(data.n_classes)

        def fit(self, *_: Floats) -> "Given":
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


def _statsmodels(
    part: str, *, half_width: bool = False
) -> Callable[[Dataset], tuple[float, float]]:
    def measure(data: Dataset) -> tuple[float, float]:
        import statsmodels.api as sm

        x = logit(np.clip(data.confidence, 1e-6, 1 - 1e-6))
        ones, family = np.ones(len(x)), sm.families.Binomial()
        line = metrics.calibration_line(data.confidence, data.outcome)
        if part == "intercept":
            model = sm.GLM(data.outcome, ones, family=family, offset=x)
        else:
            model = sm.GLM(data.outcome, np.column_stack([x, ones]), family=family)
        theirs = model.fit(tol=1e-13, maxiter=300)
        value, low, high = line[part == "slope"]
        if not half_width:
            return value, theirs.params[0]
        return (high - low) / 2, np.ptp(theirs.conf_int()[0]) / 2

    return measure


def _groups(data: Dataset) -> NDArray[np.str_]:
    if data.groups is not None:
        return data.groups["group"].to_numpy().astype(str)
    return data.predictions.astype(str)


#: Package, what is compared, what explains the difference, and how.
MEASURES = (
    ("relplot", "smooth ECE", "Rows at a confidence near 1 count half there: its reflected grid "
     "does not repeat its last point. Overconfident everywhere, ours is the mean gap itself.",
     _relplot),
    ("model-diagnostics", "miscalibration (Brier)", "Of more than 2,000 distinct confidences we "
     "merge neighbours.", _decomposition),
    ("model-diagnostics", "mean bias of a group", "Rounding.", _bias),
    ("MCGrad", "multicalibration error, σ", "Rounding. (Rows of equal confidence come together "
     "here, one by one in no fixed order there.)", _mcgrad),
    ("MCGrad", "ECE, 15 bins", "Rounding.", _mcgrad_ece),
    ("netcal", "ECE, 15 bins", "Rounding.", _netcal("ECE")),
    ("netcal", "MCE, 15 bins", "Rounding.", _netcal("MCE")),
    ("torchmetrics", "ECE, 15 bins", "Single precision there, of borders too.",
     _torchmetrics("l1")),
    ("torchmetrics", "MCE, 15 bins", "Single precision there, of borders too.",
     _torchmetrics("max")),
    ("scikit-learn", "temperature", "1e-12 is added to every probability there; the loss of a row "
     "is capped at −log 1e-6 here: true classes of 61 rows of 20news have the probability 0.",
     _temperature),
    ("statsmodels", "calibration intercept", "Rounding.", _statsmodels("intercept")),
    ("statsmodels", "half of its 95 % interval", "Rounding.",
     _statsmodels("intercept", half_width=True)),
    ("statsmodels", "calibration slope", "Rounding.", _statsmodels("slope")),
    ("statsmodels", "half of its 95 % interval", "Rounding.",
     _statsmodels("slope", half_width=True)),
)  # fmt: skip


def published(file: Path) -> list[list[str]]:
    """Return the published decomposition of a Brier score and ours."""
    import rdata

    found = rdata.read_rda(file)["precip_Niamey_2016"]
    ours = metrics.isotonic_reliability(found["EMOS"], found["obs"].astype(float), n_draws=39)
    return [[part, f"{of:g}", f"{getattr(ours, part):.5f}"] for part, of in NIAMEY.items()]


def networks(pairs: list[str]) -> Iterator[tuple[str, Dataset, Dataset]]:
    """Read networks: name, calibration and evaluation rows."""
    for pair in pairs:
        data = lore.load(pair.split(","))
        yield data.name, require_calibration(data), data.evaluation


def halves(sets: list[Dataset]) -> Iterator[tuple[str, Dataset, Dataset]]:
    """Halve sets at random, and return so many rows of each half."""
    for data in sets:
        order = np.random.default_rng(0).permutation(len(data))
        first, second = np.array_split(order, 2)
        yield data.name, data.rows(first[:ROWS]), data.rows(second[:ROWS])


def ours_of(fit_on: Dataset, tried: Dataset) -> Iterator[tuple[str, Floats]]:
    """Fit our methods, those of features where there are any."""
    given = fit_on.features is not None
    maps = make_map(fit_on, MapName.parse("pca-20", "map")) if given else None
    for method in offered_recalibrators():
        if given or not (method.needs_embedding or method.needs_features):
            local = maps if method.needs_embedding else None
            method.fit(fit_on, local)
            places = None if local is None else local.transform(tried.features)
            yield method.label, method.recalibrate(tried, places).probabilities


def theirs_of(fit_on: Dataset, tried: Dataset) -> Iterator[tuple[str, Floats]]:
    """Fit the recalibrators of probmetrics."""
    import torch
    from probmetrics import calibrators

    torch.set_num_threads(1)
    for name in PROBMETRICS:
        torch.manual_seed(0)
        kind = getattr(calibrators, name) if name[0].isupper() else None
        method = calibrators.get_calibrator(name) if kind is None else kind()
        method.fit(fit_on.probabilities, fit_on.labels)
        p = np.asarray(method.predict_proba(tried.probabilities), dtype=np.float64)
        yield f"`{name}`", p / p.sum(axis=1, keepdims=True)


def scores(sets: Iterator[tuple[str, Dataset, Dataset]]) -> pd.DataFrame:
    """Return the NLL of every method, a row a set."""
    rows = {}
    for name, fit_on, tried in sets:
        found = rows[name] = {}
        for label, p in chain(ours_of(fit_on, tried), theirs_of(fit_on, tried)):
            found[label] = lore.negative_log_likelihood(p, tried.labels)
            print(f"  {name}, {label}: {found[label]:.4f}", flush=True)
    return pd.DataFrame(rows).T.round(4)


def ranks(panels: dict[str, pd.DataFrame]) -> str:
    """Return mean ranks, and the NLL over the lowest of each set (geometric mean)."""
    columns = {}
    for name, table in panels.items():
        known = table.dropna(axis=1)
        place = pd.DataFrame(rankdata(known, axis=1), columns=known.columns).mean()
        over = np.exp(np.log(known.div(known.min(axis=1), axis=0)).mean())
        columns[f"{name}: mean rank"] = place.map("{:.1f}".format)
        columns["÷ lowest" + " " * len(columns)] = over.map("{:.3f}".format)
    table = pd.DataFrame(columns)
    order = pd.concat([t.rank(axis=1).mean() for t in panels.values()], axis=1).mean(axis=1)
    table = table.loc[order[table.index].sort_values().index].fillna("–")
    return markdown_table(["", *table], [[label, *row] for label, *row in table.itertuples()])


def lowest(panels: dict[str, pd.DataFrame]) -> str:
    """Return which method has the lowest NLL of each set in hindsight, and the lowest of ours."""
    lines = []
    for name, row in pd.concat(panels.values()).iterrows():
        known = row.dropna().sort_values(kind="stable")
        ours = known[[not label.startswith("`") for label in known.index]]
        place = int(1 + (known < ours.iloc[0]).sum())
        best = [[of.index[0], f"{of.iloc[0]:.4f}"] for of in (known, ours)]
        lines.append([str(name), *best[0], *best[1], f"{place} of {len(known)}"])
    head = ["set", "lowest", "NLL", "lowest of ours", "NLL", "its rank"]
    return markdown_table(head, lines)


def main() -> None:
    """Measure, print and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pairs", nargs="*", metavar="CAL,TEST", help="networks with features")
    parser.add_argument("--data", type=Path, help="directory of prediction sets")
    parser.add_argument("--niamey", type=Path, help="rows behind a published decomposition")
    parser.add_argument("--ranks", action="store_true", help="rank recalibrators too")
    parser.add_argument("--out", type=Path, default=PAGE)
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # of the other packages
    others = list(public(given.data)) if given.data else []
    lines = [comparison.cells for comparison in compared([*synthetic(), *others])]
    panels = {}
    if given.ranks:
        panels[f"{len(others)} public sets"] = scores(halves(others))
        panels[f"{len(given.pairs)} networks"] = scores(networks(given.pairs))
    parts = [_HEAD, markdown_table(_COLUMNS, lines)]
    if given.niamey:
        table = markdown_table(["part", "published", "ours"], published(given.niamey))
        parts.append(f"{_PUBLISHED}\n\n{table}")
    if panels:
        parts += [_RANKS.format(n_rows=ROWS), ranks(panels), lowest(panels)]
    given.out.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    print(given.out.read_text(encoding="utf-8"))


_COLUMNS = ["package", "version", "what", "on", "ours", "theirs", "difference", "why"]
_HEAD = """# Compared with other packages

Written by `benchmarks/references.py`; do not edit. The same rows go through our function and
theirs: three made-up sets of 4,000 rows (two classes, ten, ten and overconfident everywhere) and
the public sets. Confidence and outcome are those of the predicted class; groups of the public sets
are the predicted classes. Shown is the set on which the two differ most."""
_PUBLISHED = """## A published decomposition

The Brier score of the forecast EMOS of rain in Niamey, 2016, in three parts, as the package
reliabilitydiag (R; Dimitriadis, Gneiting, Jordan 2021) publishes it, and by
`isotonic_reliability`:"""
_RANKS = """## Recalibrators

NLL of our recalibrators and of 19 of probmetrics (in code type, by their names or classes there;
its default settings) on rows they were not fitted on: mean rank of all that ran, and NLL over the
lowest of each set, geometric mean. Public sets are halved at random, {n_rows:,} rows to fit and
{n_rows:,} to measure at most; they have no features, so that methods of features and maps take no
part. Networks: two classes on Communities, 500 rows each, with features (a map of PCA, 20
dimensions). The loss of a row is capped at −log 1e-6, as in our fits and not in theirs, which is to
our advantage where true classes have the probability 0 (20news). Which method is
lowest on a set is known in hindsight alone. Looked at twice: since the first time LoRe smooth, LoRe
levels and boosting grow other trees, in whose choice these numbers had no part."""


if __name__ == "__main__":
    main()
