"""Whether the test of the whole vector's local errors holds what it promises; and its section."""

from dataclasses import replace

import numpy as np
from _differences import Runs, _chances
from _geometries import drawn_classes, geometry
from _report import markdown_table
from _trials import APART, percent

from lore_core.data.arrays import Floats
from lore_core.data.dataset import Dataset
from lore_core.inference.whole_vector import ALPHA, vector_chance
from lore_core.kernel_sums import laplacian_means
from lore_core.metrics.local_error import scaled_bandwidth, vector_errors

_WORLDS: tuple[tuple[str, int, str, int], ...] = (
    ("digits", 500, "nothing", 1000), ("digits", 1000, "nothing", 1000),
    ("tumours", 500, "nothing", 1000), ("table", 500, "nothing", 1000),
    ("table", 2000, "nothing", 1000), ("plane", 1000, "nothing", 1000),
    ("digits", 1000, "places", 200), ("table", 2000, "everywhere", 200),
    ("table", 2000, "places", 200), ("plane", 1000, "places", 200),
)  # fmt: skip


_OF_CLASSES: tuple[tuple[str, int, str, int], ...] = (
    ("digits", 500, "nothing", 500), ("tumours", 500, "nothing", 500),
    ("table", 500, "nothing", 500), ("plane", 1000, "nothing", 500),
    ("digits", 1000, "places", 100), ("table", 2000, "everywhere", 100),
    ("table", 2000, "places", 100), ("plane", 1000, "places", 100),
)  # fmt: skip


def _world(seed: int, name: str, n: int, planted: str) -> tuple[Dataset, Floats, Floats]:
    """Rows whose true classes are of known probability, their places, and that probability."""
    given = geometry(name)
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.permutation(len(given.points))[:n])
    z, chance = given.points[chosen], _chances(given.dataset, given.points, planted)[chosen]
    rows = replace(given.dataset.rows(chosen), labels=drawn_classes(chance, rng))
    if planted == "nothing":
        p = np.clip(rows.probabilities, 1e-9, 1.0)
        rows = replace(rows, probabilities=p / p.sum(axis=1, keepdims=True))
    return rows, z, chance


def vectors(seed: int, name: str, n: int, planted: str) -> dict[str, float]:
    """Test rows whose true classes are of known probability."""
    rows, z, chance = _world(seed, name, n, planted)
    errors = vector_errors(rows, z)
    found = vector_chance(rows, z, errors, n_draws=99, random_state=seed + APART)
    known = errors.supported()
    true = laplacian_means(
        z, None, rows.probabilities - chance, bandwidth=scaled_bandwidth(0.2, z.shape[1]),
        target_groups=errors.bin_index, effective_size=False,
    ).mean[known]  # fmt: skip
    naive = np.square(errors.signed[known]).sum(axis=1).mean()
    return {
        "average": float(found.p_value <= 0.05),
        "rows": float(found.beyond.any()),
        "of rows": float(found.beyond[known].mean()),
        "true": float(np.sqrt(np.square(true).sum(axis=1).mean())),
        "squared": float(errors.squared[known].mean()),
        "naive": float(np.sqrt(naive)),
    }


def vector_section(run: Runs) -> str:
    """Hold the test of the whole vector against known truth."""
    rows = []
    for name, n, planted, sets in _WORLDS:
        found = run.run(vectors, sets, name, n, planted)
        root = np.sqrt(max(found["squared"].mean(), 0.0))
        rows.append(
            [
                name, f"{geometry(name).dataset.n_classes}", f"{n:,}", planted,
                percent(found["average"]), percent(found["rows"]),
                f"{found['of rows'].mean() * 100:.1f}", f"{found['true'].mean() * 100:.1f}",
                f"{root * 100:.1f}", f"{found['naive'].mean() * 100:.1f}",
            ]
        )  # fmt: skip
    head = ["rows of", "classes", "rows", "planted", "average significant"]
    head += ["any row significant", "rows significant", "true", "less noise", "with noise"]
    return f"""## The whole vector

Rows of real classifiers on PCA 2-D at γ = 0.2, with true classes drawn anew from known
probabilities (as for paired differences): how often, in %, the average error of the whole vector is
significant, and how often any row is, at 5 % each; 99 simulated models a test, 1,000 sets a line
where nothing is planted and 200 where something is. Then the share of significant rows, the root
mean square length of the true local error in points, its estimate less noise, and with noise.

{markdown_table(head, rows)}
"""


def vector_classes(seed: int, name: str, n: int, planted: str) -> dict[str, float]:
    """Test such rows class by class."""
    rows, z, _ = _world(seed, name, n, planted)
    errors = vector_errors(rows, z)
    found = vector_chance(rows, z, errors, n_draws=99, random_state=seed + APART)
    return {
        "classes": float((found.class_p_value <= ALPHA).any()),
        "of classes": float((found.class_p_value <= ALPHA).mean()),
        "largest": float(found.largest_p_value <= ALPHA),
    }


def class_section(run: Runs) -> str:
    """Hold the tests of its classes against known truth."""
    rows = []
    for name, n, planted, sets in _OF_CLASSES:
        found = run.run(vector_classes, sets, name, n, planted)
        shown = [percent(found[item]) for item in found if item != "of classes"]
        part = f"{found['of classes'].mean() * 100:.1f}"
        n_classes = f"{geometry(name).dataset.n_classes}"
        rows.append([name, n_classes, f"{n:,}", planted, shown[0], part, *shown[1:]])
    head = ["rows of", "classes", "rows", "planted", "any class significant"]
    head += ["classes significant", "largest significant"]
    return f"""## The whole vector class by class

Sets made in the same way, 500 a line where nothing is planted and 100 where something is: how
often, in %, any class is significant, and what share of them; how often the largest error is.
At 5 % each.

{markdown_table(head, rows)}
"""
