"""How often `lore watch` marks a batch where nothing changed, and how often one where it did.

    python -m benchmarks.watch [STREAMS]

Streams of batches of a model whose error is the same all the time (one place is overconfident), and
of one that changes in the last batch. Each batch is held against all before it. Prints the table of
docs/decisions.md.
"""

import sys
import time

import joblib
import numpy as np

from lore_core.mergeable import LocalErrorSums, change_between

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


def main() -> None:
    streams = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print("| stream | batches looked at | marked at 5 % | at 1 % |")
    print("|---|---:|---:|---:|")
    for kind in _KINDS:
        start = time.perf_counter()
        count = streams if kind.startswith("=") else max(streams // 5, 20)
        jobs = (joblib.delayed(stream)(kind, seed) for seed in range(count))
        p = np.array(joblib.Parallel(n_jobs=2)(jobs)).ravel()
        said = " | ".join(f"{np.mean(p <= level):.1%}" for level in _LEVELS)
        print(f"| {kind.removeprefix('= ')} | {len(p):,} | {said} |", flush=True)
        print(f"{kind}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
