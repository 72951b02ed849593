"""Whether the sentences of Recalibrate, Fairness and Bandwidth claim what is not so; and its page.

Rows of real classifiers, halved at random, whose outcomes are drawn from their own confidences: no
method can be better than doing nothing, no group is off, no local error is there.
"""

from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import pandas as pd
from _geometries import drawn_classes, geometry
from _report import markdown_table
from _trials import APART, Trial, percent
from numpy.typing import NDArray

import lore_core as lore
from lore_core.comparison import conclude_bandwidths, conclude_groups, conclude_recalibration
from lore_core.comparison.conclusions import counted_groups, group_difference_p
from lore_core.data.arrays import Floats, Ints
from lore_core.data.dataset import Dataset

_ROWS: tuple[tuple[str, int | None], ...] = (
    ("digits", 1000), ("digits", None), ("tumours", None), ("diabetes", None),
    ("table", 1000), ("table", 3000), ("plane", None),
)  # fmt: skip
#: By what groups are made where the data name none.
_N_GROUPS = 6


class Runs(Protocol):
    """Runs a trial over many seeds; one row a seed."""

    def run(self, trial: Trial, n_seeds: int, *args: object) -> pd.DataFrame:
        """Return one row a seed."""
        ...


def null_conclusions(seed: int, name: str, n: int | None) -> dict[str, float]:
    """Which of the sentences claim something of a model whose every probability is right."""
    given, rng = geometry(name, n), np.random.default_rng(seed + APART)
    data = _right(given.dataset, rng)
    order = rng.permutation(len(data))
    cal, test = np.sort(order[::2]), np.sort(order[1::2])
    points = given.points
    methods = [
        lore.NoRecalibration(), lore.TemperatureScaling(), lore.PlattScaling(),
        lore.IsotonicRegression(), lore.HistogramBinning(), lore.LoRe(), lore.SmoothLoRe(),
    ]  # fmt: skip
    result = lore.compare(
        data.rows(cal), data.rows(test), methods,
        calibration_embedding=points[cal], evaluation_embedding=points[test],
    )  # fmt: skip
    shown = data.rows(test)
    search = lore.find_subgroups(shown, points[test], random_state=seed)
    recalibration = conclude_recalibration(result, search)
    groups = _groups(shown, points, test)
    reports = {
        label: lore.group_report(item.confidence, item.outcome, groups, n_draws=0)
        for label, item in result.datasets.items()
    }
    return {
        "method": float(recalibration.is_significant),
        "place": float(bool(search.subgroups)),
        "recalibrate": float(recalibration.is_significant or bool(search.subgroups)),
        "fairness": float(conclude_groups(reports, 30).is_significant),
    }


def null_bandwidth(seed: int, name: str, n: int | None) -> dict[str, float]:
    """Whether Bandwidth's sentence claims a local error of a model whose confidences are right."""
    given, rng = geometry(name, n), np.random.default_rng(seed + APART)
    test = np.sort(rng.permutation(len(given.dataset))[1::2])
    shown, points = _right(given.dataset, rng).rows(test), given.points[test]
    curve = lore.bandwidth_curve(shown.confidence, shown.outcome, points)
    band = lore.null_band(shown.confidence, points, n_draws=99, random_state=seed + APART)
    return {"bandwidth": float(conclude_bandwidths(curve, band, on="PCA").is_significant)}


def group_test(seed: int, name: str, n: int | None, gap: float) -> dict[str, float]:
    """Whether gaps differ significantly between groups: of none, or of one overconfident one."""
    given, rng = geometry(name, n), np.random.default_rng(seed + APART)
    rows = np.sort(rng.permutation(len(given.dataset))[1::2])
    groups = _groups(given.dataset.rows(rows), given.points, rows)
    names, counts = np.unique(groups, return_counts=True)
    confidence = given.dataset.confidence[rows]
    off = groups == names[np.argsort(counts)[len(names) // 2]]
    outcome = rng.random(len(rows)) < np.clip(confidence - gap * off, 0, 1)
    table = lore.group_report(confidence, outcome.astype(int), groups, n_draws=0)
    p = group_difference_p(table[counted_groups(table["rows"], 30)])
    return {} if np.isnan(p) else {"differ": float(p <= 0.05)}


def _groups(shown: Dataset, points: Floats, rows: Ints) -> NDArray[Any]:
    """Name the group of each of some rows: the data's own, else a sixth of the map's first axis."""
    if shown.groups is not None:
        return shown.groups.iloc[:, 0].to_numpy(str)
    return np.digitize(points[rows][:, 0], np.quantile(points[:, 0], np.arange(1, 6) / _N_GROUPS))


def group_test_part(run: Runs) -> str:
    """How often gaps differ significantly between groups."""
    lines = []
    for name, n in _ROWS:
        found = [run.run(group_test, 1000, name, n, gap) for gap in (0.0, 0.1)]
        cells = [name, f"{len(geometry(name, n).dataset) // 2:,}"]
        lines.append(cells + [percent(f.get("differ", pd.Series(dtype=float))) for f in found])
    head = ["rows of", "to measure", "no group off: differ, %", "one off by 10 points: differ, %"]
    return f"""How often gaps differ significantly between the groups (Cochran's Q at 5 %), with
every confidence right, and with one group of middle size overconfident by 10 points.

{markdown_table(head, lines)}
"""


def conclusion_section(run: Runs) -> str:
    """Measure what is concluded of calibrated models."""
    rows, n_models = [], []
    for name, n in _ROWS:
        found = run.run(null_conclusions, 200, name, n)
        n_models.append(len(found))
        known = len(geometry(name, n).dataset)
        cells = [name, f"{known - known // 2:,}", f"{known // 2:,}"]
        curves = run.run(null_bandwidth, 1000, name, n)
        rows.append([*cells, *(percent(found[item]) for item in found), percent(curves.bandwidth)])
    head = ["rows of", "to fit", "to measure", "a method helps, %", "a subgroup, %"]
    head += ["Recalibrate, %", "Fairness, %", "Bandwidth, %"]
    return f"""## What is concluded of calibrated models

The rows above, halved at random, with true classes drawn from the classifier's own probabilities:
no method can be better than doing nothing, no group is off and no local error is there. How often,
in %, the first sentence of a page (and of the report and the command) claims one, of
{n_models[0]} models each (Bandwidth {len(curves)}); it should be at most 5
(for Recalibrate 4 of them are the search's for subgroups). Groups are the data's own, else sixths
of the map's first axis.

{markdown_table(head, rows)}

{group_test_part(run)}"""


def _right(dataset: Dataset, rng: np.random.Generator) -> Dataset:
    """Draw true classes from the probabilities themselves."""
    return replace(dataset, labels=drawn_classes(dataset.probabilities, rng))
