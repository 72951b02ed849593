"""Exact kernel sums side by side with the usual ways, in one run, on the same data.

Prints tables and writes docs/benchmarks.md with a picture. ``--quick`` takes seconds and is for
trying the script; ``--out DIR`` writes elsewhere. torch and KeOps take part where they are
installed (``pip install lore-lens[bench]``; on a machine without a GPU torch's CPU wheels do).
"""

import argparse
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from _measure import load, machine, measure
from _methods import OURS, Floats, Method, available
from _report import Row, growth_table, limits_table, markdown_table, picture, results_table, seconds
from _targets import Target, local_error_targets, other_targets
from _trees import tree_section

from lore_core.kernel_sums import warmup

DIMENSIONS = (1, 2, 3, 10, 50)
SIZES = (1_000, 10_000, 30_000, 100_000, 1_000_000)
#: 30 bandwidths as in the dashboard; one as in the paper.
GAMMAS = {1: np.array([0.2]), 30: np.geomspace(0.01, 100.0, 30)}
#: Predicted seconds from which on a rival is left out, for one and for 30 bandwidths.
PATIENCE = {1: 20.0, 30: 8.0}
#: Ours has no patience limit up to d = 3; beyond it is quadratic too.
PATIENCE_OURS = {1: 30.0, 30: 20.0}
#: After so many seconds no further rival is timed, so that the run ends in time.
BUDGET = 560.0
#: Always measured: the sizes the promises are about.
HEADLINES = {(2, 30_000, 1), (50, 30_000, 1), (50, 30_000, 30)}
HEADLINE_RIVALS = {2: {"scikit-learn", "KeOps"}, 50: {"torch"}}
REFERENCE_ROWS = 64


def data(n: int, d: int) -> tuple[Floats, Floats]:
    """Return standard normal points and gaps in [−1, 1]."""
    rng = np.random.default_rng(n + d)
    return rng.normal(size=(n, d)), rng.uniform(-1, 1, size=n)


def reference(points: Floats, values: Floats, bandwidths: Floats, rows: slice) -> Floats:
    """Return the ratios of a few rows from the definition, relative to the nearest row."""
    distance = np.abs(points[rows, None, :] - points[None, :, :]).sum(axis=2)
    return np.array([(k := np.exp(-distance / h)) @ values / k.sum(axis=1) for h in bandwidths])


def disagreement(method: Method, result: Floats, ours: Floats | None, truth: Floats) -> float:
    """Return the largest difference: ours from the definition, a rival's from ours."""
    if method.name == OURS or ours is None:
        return float(np.abs(result[:, : truth.shape[1]] - truth).max())
    return float(np.abs(result - ours).max())


def run_cases(
    dimensions: tuple[int, ...], sizes: tuple[int, ...], methods: list[Method], started: float
) -> list[Row]:
    """Measure every case, the small ones first: they foretell how long the next would take."""
    rows: list[Row] = []
    for gammas, grid in GAMMAS.items():
        for d in dimensions:
            last: dict[str, tuple[int, float]] = {}
            for n in sizes:
                rows += run_case(d, n, gammas, grid * d, methods, last, started)
    return rows


def run_case(
    d: int,
    n: int,
    gammas: int,
    bandwidths: Floats,
    methods: list[Method],
    last: dict[str, tuple[int, float]],
    started: float,
) -> list[Row]:
    """Measure one case with every method that is patient enough."""
    points, values = data(n, d)
    sample = slice(0, max(2, min(REFERENCE_ROWS, 20_000_000 // (n * d))))
    truth = reference(points, values, bandwidths, sample)
    rows = []
    ours = None
    for method in methods:
        row = Row(d, n, gammas, method.name)
        wanted = (d, n, gammas) in HEADLINES and (
            method.name == OURS or (gammas == 1 and method.name in HEADLINE_RIVALS[d])
        )
        patience = (PATIENCE_OURS if method.name == OURS else PATIENCE)[gammas]
        if method.name == OURS and d <= 3:
            patience = np.inf
        foretold = 0.0
        if method.name in last:
            before, took = last[method.name]
            foretold = took * (n / before) ** 2
        if foretold > patience and not wanted:
            rows.append(replace(row, skipped="–"))
            continue
        if method.name != OURS and not wanted and time.perf_counter() - started > BUDGET:
            rows.append(replace(row, skipped="–"))
            continue
        if n == 1_000:
            method.ratios(points, values, bandwidths)  # compiles, starts threads
        found = measure(lambda m=method: m.ratios(points, values, bandwidths), worth=0.5, most=5)
        last[method.name] = (n, found.seconds)
        rows.append(
            replace(
                row,
                seconds=found.seconds,
                repeats=found.repeats,
                peak=found.peak,
                disagreement=disagreement(method, found.result, ours, truth),
            )
        )
        if method.name == OURS:
            ours = found.result
        print(
            f"{d:>3}-D {n:>9,} rows {gammas:>2} γ  {method.name:<12} {seconds(found.seconds):>9}",
            flush=True,
        )
    return rows


def promises(rows: list[Row]) -> list[Target]:
    """Compare the measurements with what is promised about them."""
    time_of = {(r.d, r.n, r.gammas, r.method): r.seconds for r in rows}
    targets = []
    for d, n, rival, bound in (
        (2, 30_000, "scikit-learn", 200.0), (2, 30_000, "KeOps", 100.0), (50, 30_000, "torch", 5.0),
    ):  # fmt: skip
        ours, theirs = time_of.get((d, n, 1, OURS)), time_of.get((d, n, 1, rival), np.nan)
        if ours is not None and np.isfinite(theirs):
            targets.append(
                Target(
                    f"{d}-D, n = {n:,}, one bin: faster than {rival}",
                    theirs / ours, bound, "×", at_least=True,
                )
            )  # fmt: skip
    for d, n, gammas, bound in (
        (2, 1_000_000, 1, 2.0), (3, 100_000, 1, 0.5), (50, 30_000, 1, 2.5), (50, 30_000, 30, 8.0),
    ):  # fmt: skip
        if (d, n, gammas, OURS) in time_of:
            name = "one γ" if gammas == 1 else f"{gammas} γ"
            took = time_of[d, n, gammas, OURS]
            targets.append(Target(f"{d}-D, n = {n:,}, one bin, {name}", took, bound, "s"))
    large, small = time_of.get((2, 10**6, 1, OURS)), time_of.get((2, 10**5, 1, OURS))
    if large is not None and small is not None:
        targets.append(Target("2-D, n = 1,000,000 against n = 100,000", large / small, 14.0, "×"))
    return targets


def targets_table(targets: list[Target]) -> str:
    """Return the promises with what was measured."""
    lines = [
        [
            target.what,
            f"{'≥' if target.at_least else '≤'} {target.bound:g} {target.unit}",
            f"**{target.value:.3g} {target.unit}**",
            "yes" if target.met else "**no**",
            target.note,
        ]
        for target in targets
    ]
    return markdown_table(["", "goal", "measured", "met", ""], lines)


def document(
    rows: list[Row],
    targets: list[Target],
    methods: list[Method],
    missing: dict[str, str],
    loads: tuple[float | None, float | None],
    minutes: float,
    image: str,
    trees: str,
) -> str:
    """Return docs/benchmarks.md."""
    one = [row for row in rows if row.gammas == 1]
    many = [row for row in rows if row.gammas == 30]
    names = [method.name for method in methods]
    facts = [[name, value] for name, value in machine().items()]
    if None not in loads:
        facts.append(["Load average, start and end", f"{loads[0]:.1f} and {loads[1]:.1f}"])
    hows = [[f"**{m.name}**" if m.name == OURS else m.name, m.how] for m in methods]
    hows += [[name, reason] for name, reason in missing.items()]
    busy = (
        "\nThe load average counts this run too; where it exceeds the number of cores at the "
        "start, other programs were running.\n"
    )
    return f"""# Benchmarks

Written by `make bench` (`benchmarks/kernel_sums.py`) in {minutes:.0f} minutes; do not edit.

Every row's kernel mean Σ k v / Σ k with k = exp(−‖Δ‖₁ / (d·γ)), all rows in one bin, standard
normal points, γ = 0.2 or 30 γ from 0.01 to 100, every method on the same data in the same run.
Times are medians.

{markdown_table(["machine", ""], facts)}
{busy}
{markdown_table(["method", "how"], hows)}

## Goals

{targets_table(targets)}

## One bandwidth

![Time against the number of rows]({image})

Growth: p in time ~ n^p, fitted over n ≥ 10,000.

{growth_table(one, names)}

Time, and in brackets how many times ours. –: the time at the size before foretells more than
{PATIENCE[1]:.0f} s ({PATIENCE[30]:.0f} s for 30 γ).

{results_table(one, OURS)}

## 30 bandwidths

{results_table(many, OURS)}

## Disagreement and memory

Of all measurements above. Disagreement is the largest difference of a ratio: ours from the
definition in float64 (on up to {REFERENCE_ROWS} rows), the others' from ours (on all rows). float32
methods differ by their rounding, and where the kernel of every other row underflows in float32.

{limits_table(rows)}

{trees}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, in seconds")
    root = Path(__file__).resolve().parent.parent
    parser.add_argument("--out", type=Path, default=root / "docs", help="where to write")
    options = parser.parse_args()
    started = time.perf_counter()
    methods, missing = available()
    for name, reason in missing.items():
        print(f"{name}: {reason}, left out")
    at_start = load()
    warmup()
    # From here on it is quiet: what other programs do shows in the load average.
    targets = local_error_targets(3_000 if options.quick else 50_000)
    targets += other_targets(20_000 if options.quick else 1_000_000)
    dimensions = (2, 10) if options.quick else DIMENSIONS
    rows = run_cases(dimensions, SIZES[:2] if options.quick else SIZES, methods, started)
    targets = promises(rows) + targets
    trees = tree_section((1_000, 3_000)) if options.quick else tree_section()
    image = "images/benchmark-kernel-sums.svg"
    names = [method.name for method in methods]
    picture([r for r in rows if r.gammas == 1], names, options.out / image)
    minutes = (time.perf_counter() - started) / 60
    text = document(rows, targets, methods, missing, (at_start, load()), minutes, image, trees)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "benchmarks.md").write_text(text, encoding="utf-8")
    print("\n" + targets_table(targets))
    print(f"\nWrote {options.out / 'benchmarks.md'} after {minutes:.1f} minutes.")


if __name__ == "__main__":
    main()
