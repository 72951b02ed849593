"""NLL, Brier score and accuracy of every recalibrator on pairs of files, as a Markdown table.

``python benchmarks/recalibrators.py --map pca-20 NAME=CAL.npz,TEST.npz …``; pairs of one name are
runs of one set, and their means are shown. Without files the demo is measured.
"""

import argparse
import time
from collections import defaultdict

import numpy as np
import pandas as pd

import lore_core as lore
from lore_core.demo.scanned_digits import digits
from lore_core.embedding import MapName, make_map
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


def main() -> None:
    """Read the arguments, fit, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pairs", nargs="*", metavar="NAME=CAL,TEST")
    parser.add_argument("--map", default="pca-20", help="map of the local methods")
    parser.add_argument("--most-rows", type=int, default=10_000, help="calibration rows at most")
    given = parser.parse_args()
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
