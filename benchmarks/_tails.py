"""How much of the tails of a numeric column is named; and its section of docs/trust.md."""

from itertools import product
from typing import Protocol

import numpy as np
import pandas as pd
from _geometries import drawn_classes
from _report import markdown_table
from _trials import APART, Trial, percent
from numpy.typing import NDArray

from lore_core.data.dataset import Dataset
from lore_core.embedding import embed
from lore_core.regions.subgroups.find import MOST_TRIED, halves_of

Floats = NDArray[np.float64]

#: Values of a column, by their distribution.
_LAWS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "uniform": lambda rng, n: rng.uniform(size=n),
    "whole": lambda rng, n: np.floor(rng.gamma(4.0, 10.0, n)),
    "missing": lambda rng, n: np.where(rng.random(n) < 0.15, np.nan, rng.normal(size=n)),
}
_SIDES = ("lower", "upper", "both")
#: Columns, classes, and the distribution of the column with the tail.
_WORLDS = tuple(product((3, 10, 20), (3, 10), _LAWS))
_NAMES = tuple("abcdefghijklmnopqrst")
_ROWS, _GAPS = 5_000, (0.2, 0.1)


class Runs(Protocol):
    """Runs a trial over many seeds; one row a seed."""

    def run(self, trial: Trial, n_seeds: int, *args: object) -> pd.DataFrame:
        """Return one row a seed."""
        ...


def _inside(values: Floats, side: str, share: float) -> NDArray[np.bool_]:
    """Choose the rows in the tails of a column; ties stay together."""
    known = values[np.isfinite(values)]
    each = share * len(values) / len(known) / (2 if side == "both" else 1)
    low, high = np.quantile(known, [each, 1 - each])
    below, above = values <= low, values >= high
    return np.asarray({"lower": below, "upper": above, "both": below | above}[side])


def tails(seed: int, side: str, share: float, gap: float) -> dict[str, float]:
    """Whether subgroups named by columns hold half of the tails, which are overconfident.

    ``known``: whether the search's own test of held-out rows would confirm the very tails.
    """
    n_columns, n_classes, law = _WORLDS[seed * 7 % len(_WORLDS)]
    rng = np.random.default_rng(seed + APART)
    laws = [law, *rng.choice(list(_LAWS), n_columns - 1)]
    x = np.column_stack([_LAWS[name](rng, _ROWS) for name in laws])
    z = np.nan_to_num((x - np.nanmean(x, axis=0)) / np.nanstd(x, axis=0))
    weights = 3.0 * rng.normal(size=(n_columns, n_classes)) / np.sqrt(n_columns)
    p = np.exp(z @ weights + rng.normal(size=(_ROWS, n_classes)))
    p /= p.sum(axis=1, keepdims=True)
    best, inside = p.argmax(axis=1), _inside(x[:, 0], side, share)
    right = rng.random(_ROWS) < np.clip(p.max(axis=1) - gap * inside, 0.0, 1.0)
    others = p + 1e-9
    others[np.arange(_ROWS), best] = 0.0
    labels = np.where(right, best, drawn_classes(others, rng))
    columns = pd.DataFrame(x, columns=list(_NAMES[:n_columns]))
    data = Dataset(p, labels, metadata=columns)
    halves = halves_of(data, random_state=seed)
    found = halves.search(embed(z, "pca", 2).coordinates)
    tests = [halves.rows.average(rows, halves.against) for _, rows in halves.turns]
    p = min(
        float(of.of_rows(inside[rows]).p_value(1))
        for of, (_, rows) in zip(tests, halves.turns, strict=True)
    )
    named = [
        found.mask(k)
        for k, item in enumerate(found.subgroups)
        if item.sign > 0 and any(part.column == _NAMES[0] for part in item.conditions)
    ]
    held = [float((mask & inside).sum()) for mask in named]
    union = np.logical_or.reduce([np.zeros(_ROWS, dtype=bool), *named])
    return {
        "any": float(bool(found.subgroups)),
        "one": float(max(held, default=0.0) >= inside.sum() / 2),
        "together": float((union & inside).sum() >= inside.sum() / 2),
        "known": float(p <= found.alpha / (2 * MOST_TRIED)),
        "precision": float((union & inside).sum() / union.sum()) if union.any() else np.nan,
    }


def tail_section(run: Runs) -> str:
    """Look for the tails of a number."""
    rows = []
    for gap, share, side in product(_GAPS, (0.1, 0.05), _SIDES):
        found = run.run(tails, 120 if gap == _GAPS[0] else 60, side, share, gap)
        cells = [f"{gap * 100:.0f}", f"{share * 100:.0f}", side]
        numbers = ("one", "together", "precision", "known")
        rows.append(cells + [percent(found[name], 0) for name in numbers])
    none = run.run(tails, 400, "both", 0.1, 0.0)
    head = ["gap, points", "% of the rows", "tail", "one subgroup, %", "all of the column, %"]
    head += ["of these in the tails, %", "if the tails were known, %"]
    return f"""## Tails of a number

{_ROWS:,} rows, 3, 10 or 20 columns (normal, exponential, uniform, whole numbers with ties, or 15 %
missing), 3 or 10 classes whose probabilities are right but in the tails of one column, which are
overconfident: its lowest or its highest rows, or both ends, with half of the rows each. How often,
in %, half of those rows lie in one subgroup named by the column, or in all that are; how much of
these lies in the tails; and, as the limit, how often the same test of held-out rows confirms the
very tails, as the first of twelve sets on either half. 120 models a line ({len(found)} where gaps
are of 10 points), none of which had a part in choosing the cuts; looked at three times, the
last after both ends were made one subgroup, which was tried on 40 others. Of
{len(none)} models without a gap {int(none["any"].sum())} had a subgroup listed (at most 4 %).

{markdown_table(head, rows)}
"""
