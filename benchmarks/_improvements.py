"""How often a real improvement is missed, and a false one claimed; and its section.

Fresh fits of common classifiers, each recalibrated by every standard method. What is concluded on
evaluation rows is compared with many more rows of the same kind, or with rows set aside.
"""

from typing import Any, Protocol

import numpy as np
import pandas as pd
from _report import markdown_table
from _trials import Trial, percent, points
from numpy.typing import NDArray
from scipy import stats
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_wine,
    make_classification,
)
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import lore_core as lore
from lore_core.comparison import conclude_recalibration
from lore_core.data.dataset import Dataset
from lore_core.metrics.proper_scores import row_brier, row_nll
from lore_core.recalibration import standard_recalibrators

Floats = NDArray[np.float64]

_MODELS: dict[str, Any] = {
    "nearest neighbours": lambda: KNeighborsClassifier(5),
    "naive Bayes": GaussianNB,
    "tree": lambda: DecisionTreeClassifier(min_samples_leaf=5, random_state=0),
    "forest": lambda: RandomForestClassifier(random_state=0),
    "boosting": lambda: HistGradientBoostingClassifier(random_state=0),
    "network": lambda: MLPClassifier((64,), max_iter=300, random_state=0),
    "logistic regression": LogisticRegression,
}
_DATA: dict[str, Any] = {
    "digits": load_digits,
    "tumours": load_breast_cancer,
    "wine": load_wine,
    "diabetes": load_diabetes,
}
_SIZES = (500, 2000)
_POOL = 10_000
#: Gains of NLL that are less, as a share of it, need not be found.
_GAIN = 0.02
#: Standard errors that a two-sided test at 5 % with a known standard error finds in 95 %.
_ENOUGH = stats.norm.ppf(0.975) + stats.norm.ppf(0.95)


class Runs(Protocol):
    """Runs a trial over many seeds; one row a seed."""

    def run(self, trial: Trial, n_seeds: int, *args: object) -> pd.DataFrame:
        """Return one row a seed."""
        ...


def _concluded(
    model: str, x: Floats, y: NDArray[np.int64], parts: list[int]
) -> tuple[lore.Comparison, dict[str, dict[str, Floats]]]:
    """Fit, recalibrate and compare; with the scores of the last rows by metric and method.

    ``parts``: where calibration, evaluation and the last rows begin.
    """
    train, cal, test, rest = (
        slice(*ends) for ends in zip([0, *parts], [*parts, None], strict=True)
    )
    x = StandardScaler().fit(x[train]).transform(x)
    fitted = make_pipeline(_MODELS[model]()).fit(x[train], y[train])
    p, z = fitted.predict_proba(x), lore.embed(x, "pca", 5).coordinates
    known, new, last = (Dataset(p[of], y[of], features=x[of]) for of in (cal, test, rest))
    result = lore.compare(
        known, new, standard_recalibrators(),
        calibration_embedding=z[cal], evaluation_embedding=z[test],
    )  # fmt: skip
    scores: dict[str, dict[str, Floats]] = {"NLL": {}, "Brier": {}}
    for label, method in result.recalibrators.items():
        after = method.recalibrate(last, z[rest] if method.needs_embedding else None)
        scores["NLL"][label] = row_nll(after.probabilities, after.labels)
        scores["Brier"][label] = row_brier(after.probabilities, after.labels)
    return result, scores


def improvement(seed: int, model: str, n: int) -> dict[str, float]:
    """Whether what is concluded of n rows agrees with what 10,000 others show."""
    rng = np.random.default_rng(seed)
    n_classes = int(rng.choice([2, 3, 6]))
    x, y = make_classification(
        3 * n + _POOL, 12, n_informative=6, n_classes=n_classes, n_clusters_per_class=2,
        flip_y=rng.choice([0.02, 0.15]), class_sep=rng.choice([0.6, 1.2]), random_state=seed,
        weights=[0.9] if n_classes == 2 and rng.random() < 0.5 else None,
    )  # fmt: skip
    result, scores = _concluded(model, x, y, [n, 2 * n, 3 * n])
    said = conclude_recalibration(result)
    true = {name: pd.DataFrame(of) for name, of in scores.items()}
    apart = {name: of.iloc[:, 1:].sub(of.iloc[:, 0], axis=0) for name, of in true.items()}
    nll = apart["NLL"]
    gain = -nll.mean() / true["NLL"].iloc[:, 0].mean()
    errors = -nll.mean() / nll.std() * np.sqrt(n)
    there, enough = gain.max() >= _GAIN, bool((errors[gain >= _GAIN] >= _ENOUGH).any())
    false = [
        (result.differences[name]["high"] < 0) & (of.mean() >= 0) for name, of in apart.items()
    ]
    return {
        "there": float(there),
        "enough": float(enough),
        "missed at all": float(not said.is_significant) if there else np.nan,
        "missed": float(not said.is_significant) if enough else np.nan,
        "leave it, wrongly": float(said.sentence.startswith("Leave it")) if there else np.nan,
        "false": float(any(of.any() for of in false)),
    }


def set_aside(seed: int, data: str, model: str) -> dict[str, float]:
    """Whether what is concluded of a quarter of real rows agrees with another quarter."""
    x, y = _DATA[data](return_X_y=True)
    y = (y > np.median(y)).astype(np.int64) if data == "diabetes" else y
    order = np.random.default_rng(seed).permutation(len(y))
    quarters = [len(y) * k // 4 for k in (1, 2, 3)]
    result, scores = _concluded(model, x[order], y[order], quarters)
    nll = pd.DataFrame(scores["NLL"]).mean()
    change = nll / nll.iloc[0] - 1
    better = result.differences["NLL"].query("high < 0").index
    claims = conclude_recalibration(result).is_significant
    return {
        "claims": float(claims),
        "best": np.nan if better.empty else change[result.table.loc[better, "NLL"].idxmin()],
        "smooth": np.nan if claims else change["LoRe smooth"],
    }


def improvement_section(run: Runs) -> str:
    """Compare what is concluded with rows that had no part in it."""
    rows, fits = [], []
    for n in _SIZES:
        for model in _MODELS:
            found = run.run(improvement, 40, model, n)
            fits.append(found)
            cells = [model, f"{n:,}", f"{found['there'].mean() * 100:.0f}"]
            cells += [percent(found["missed at all"]), f"{found['enough'].sum():.0f}"]
            cells += [percent(found[name]) for name in ("missed", "leave it, wrongly", "false")]
            rows.append(cells)
    head = ["classifier", "rows", "gain of 2 %, of 100", "missed, %", "rows suffice, of"]
    head += ["then missed, %", "“leave it”, wrongly, %", "false “better”, %"]
    every = pd.concat(fits)
    tried = pd.concat(run.run(set_aside, 4, data, model) for data in _DATA for model in _MODELS)
    best, smooth = tried["best"].dropna(), tried["smooth"].dropna()
    n_methods = len(standard_recalibrators()) - 1
    return f"""## How often an improvement is missed

Fresh fits on synthetic rows (2, 3 or 6 classes, easy and hard, even and rare): so many rows each to
fit the classifier, to recalibrate it by the {n_methods} usual methods and to compare these;
{_POOL:,} more rows show what is true. Of the {every["there"].sum():.0f} fits that a method improves
by 2 % of the NLL or more, Recalibrate's sentence named no method in
{every["missed at all"].sum():.0f}; of the {every["enough"].sum():.0f} whose rows suffice, in
{every["missed"].sum():.0f}. It advised “leave it” in {every["leave it, wrongly"].sum():.0f}, and of
all {len(every)} fits called a method better that is not, on NLL or Brier score, in
{every["false"].sum():.0f}.

Rows suffice where a two-sided test at 5 % of one such method alone, its standard error known, would
find it in 95 %; missed: named no method. {len(fits[0])} fits a line: 0 of them is at most
{100 * (1 - 0.05 ** (1 / len(fits[0]))):.0f} %, with 95 % confidence.

{markdown_table(head, rows)}

Real rows in quarters, {len(_DATA)} datasets ({", ".join(_DATA)}) with {len(_MODELS)} classifiers
each, four seeds; the last quarter had no part in anything. Of {len(tried)} fits
{int(tried["claims"].sum())} were called improved, {len(best)} of them on NLL: the named method had
the lower NLL on the last quarter in {int((best < 0).sum())}, by {-best.mean() * 100:.0f} % on
average. Of the {len(smooth)} others LoRe smooth had a lower NLL there in
{int((smooth < 0).sum())}; the change was {points(smooth)} % on average (a quarter has 44
to 449 rows).
"""
