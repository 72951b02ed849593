"""How often a batch is marked where nothing changed, and how often where something did.

    python -m benchmarks.watch [STREAMS [JOBS]]

Streams of batches of a model whose error is the same all the time (one place is overconfident), and
of one that changes in the last batch. Each batch is held against all before it. Then rows in memory
of units whose outcomes go together, with and without their role. Prints the tables of
docs/decisions.md.
"""

import sys
import time
from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
from scipy import special

from lore_core.comparison import RowBatches
from lore_core.data.dataset import Dataset
from lore_core.mergeable import LocalErrorSums, Watched, change_between

_BATCHES = 6
_LEVELS = (0.05, 0.01)
#: What each kind of stream is; those beginning with “=” do not change.
_KINDS = {
    "= 1,000 rows a batch": {"n": 1000},
    "= 5,000 rows a batch": {"n": 5000},
    "= 5,000 rows, places move": {"n": 5000, "drift": 0.15},
    "= 5,000 rows, confidences rise": {"n": 5000, "rise": 0.15},
    "5,000 rows, +10 points everywhere": {"n": 5000, "everywhere": 0.10},
    "5,000 rows, +3 points everywhere": {"n": 5000, "everywhere": 0.03},
    "5,000 rows, +20 points at 10 % of the rows": {"n": 5000, "place": 0.20},
    "5,000 rows, +10 points at 10 % of the rows": {"n": 5000, "place": 0.10},
    "1,000 rows, +20 points at 10 % of the rows": {"n": 1000, "place": 0.20},
}


def batch(
    rng: np.random.Generator,
    n: int,
    day: int,
    *,
    drift: float = 0.0,
    rise: float = 0.0,
    everywhere: float = 0.0,
    place: float = 0.0,
) -> LocalErrorSums:
    z = rng.normal(size=(n, 2))
    z[:, 0] += drift * day
    c = rng.beta(4.0 + rise * 4 * day, 1.5, n)
    wrong = 0.2 * np.exp(-((z[:, 0] - 1) ** 2) - z[:, 1] ** 2)
    if day == _BATCHES - 1:
        # 10 % of the rows of a plane lie left of −1.28.
        wrong = wrong + everywhere + place * (z[:, 0] < -1.2816)
    a = rng.random(n) < np.clip(c - wrong, 0.0, 1.0)
    return LocalErrorSums.of(c, a.astype(float), z, max_cells=2**16)


def stream(kind: str, seed: int) -> list[float]:
    """p of the last batch, or of all after the first where nothing changes."""
    rng = np.random.default_rng(seed)
    options = dict(_KINDS[kind])
    n = int(options.pop("n"))
    days = [batch(rng, n, day, **options) for day in range(_BATCHES)]
    looked_at = range(1, _BATCHES) if kind.startswith("=") else [_BATCHES - 1]
    return [
        change_between(
            LocalErrorSums.joined(days[:day]), days[day], n_draws=199, random_state=seed
        ).p_value
        for day in looked_at
    ]


#: Rows a unit, correlation of two outcomes of even chance, and by how much a fifth of the rows that
#: a column of the units names is overconfident in the last batch.
_UNITS = ((1, 0.0, 0.0), (10, 0.0, 0.0), (10, 0.2, 0.0), (10, 0.5, 0.0))
_UNITS += ((1, 0.0, 0.2), (10, 0.2, 0.2), (10, 0.5, 0.2))


def of_units(seed: int, size: int, correlation: float, gap: float, n: int = 1000) -> RowBatches:
    """Make batches of ``n`` rows, of units whose outcomes go together by a normal copula."""
    rng = np.random.default_rng(seed)
    n_rows = n * _BATCHES
    units = np.arange(n_rows) // size
    n_units, day = units[-1] + 1, np.arange(n_rows) // n
    z = np.sqrt(0.5) * (rng.normal(size=(n_units, 2))[units] + rng.normal(size=(n_rows, 2)))
    c = np.clip(0.75 + 0.2 * np.tanh(z[:, 0]) + rng.normal(0, 0.05, n_rows), 0.5, 0.99)
    latent = np.sin(np.pi / 2 * correlation)
    shared, own = rng.normal(size=n_units)[units], rng.normal(size=n_rows)
    level = special.ndtr(np.sqrt(latent) * shared + np.sqrt(1 - latent) * own)
    columns = {"site": rng.choice(list("abcde"), n_units)[units]}
    columns |= {"kind": rng.choice(list("uvwxy"), n_rows), "age": rng.normal(size=n_units)[units]}
    wrong = 0.2 * np.exp(-((z[:, 0] - 1) ** 2) - z[:, 1] ** 2)
    wrong = wrong + gap * ((day == _BATCHES - 1) & (columns["site"] == "a"))
    p = np.column_stack([1 - c, c])
    rows = Dataset(
        p,
        (level < c - wrong).astype(np.int64),
        predictions=np.ones(n_rows, dtype=np.int64),
        features=z,
        metadata=pd.DataFrame(columns),
        units=units,
    )
    return RowBatches.of(rows, [f"day {k}" for k in day])


def unit_stream(seed: int, size: int, correlation: float, gap: float) -> list[list[float]]:
    """p of batches with the role of units, and without it."""
    batches = of_units(seed, size, correlation, gap)
    alone = replace(batches, rows=replace(batches.rows, units=None))
    found = []
    for of in (batches, alone):
        p, sums = [], [of.sums(name) for name in of.names]
        for k in range(_BATCHES - 1 if gap else 1, _BATCHES):
            before = LocalErrorSums.joined(sums[:k])
            change = change_between(before, sums[k], n_draws=199, random_state=seed)
            watched = Watched(of.names[k], 0, pd.DataFrame(), change, of.slices_of(k))
            p.append(watched.p_value)
        found.append(p)
    return found


def unit_table(pool: joblib.Parallel, streams: int) -> None:
    """Print how often batches of rows of units are marked."""
    print(
        "\n| rows a unit | correlation | changed | batches | at 5 % | at 1 % | without | at 1 % |"
    )
    print("|---:|---:|---|---:|---:|---:|---:|---:|")
    for size, correlation, gap in _UNITS:
        jobs = (joblib.delayed(unit_stream)(k, size, correlation, gap) for k in range(streams))
        p = np.array(pool(jobs)).transpose(1, 0, 2).reshape(2, -1)
        cells = [f"{np.mean(kind <= level):.1%}" for kind in p for level in _LEVELS]
        changed = "+20 points" if gap else "no"
        print(f"| {size} | {correlation:g} | {changed} | {p.shape[1]:,} | {' | '.join(cells)} |")


def main() -> None:
    streams = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    pool = joblib.Parallel(n_jobs=int(sys.argv[2]) if len(sys.argv) > 2 else 2)
    print("| stream | batches looked at | marked at 5 % | at 1 % |")
    print("|---|---:|---:|---:|")
    for kind in _KINDS:
        start = time.perf_counter()
        count = streams if kind.startswith("=") else max(streams // 5, 20)
        jobs = (joblib.delayed(stream)(kind, seed) for seed in range(count))
        p = np.array(pool(jobs)).ravel()
        said = " | ".join(f"{np.mean(p <= level):.1%}" for level in _LEVELS)
        print(f"| {kind.removeprefix('= ')} | {len(p):,} | {said} |", flush=True)
        print(f"{kind}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    unit_table(pool, max(streams // 5, 20))


if __name__ == "__main__":
    main()
