"""Can the tests, bands, verdicts and intervals be trusted? Simulations of known truth.

Prints tables and writes docs/trust.md. ``--quick`` takes seconds and is for trying the script;
``--only verdict,power,detectable`` writes these sections anew and keeps the others; ``--share 0.3``
takes so many of the models; ``--out DIR`` writes elsewhere. ``--votes DIR`` holds
``cifar10h-counts.npy`` (github.com/jcpeterson/cifar-10h) and ``cifar10_test_set_pyx.npy``
(github.com/cleanlab/label-errors).
"""

import argparse
import time
from pathlib import Path
from typing import Any

import joblib  # type: ignore[import-untyped]
import pandas as pd
from _abstention import abstention_section
from _conclusions import conclusion_section
from _differences import coverage_section
from _improvements import improvement_section
from _pairs import pair_section
from _report import markdown_table
from _retraining import retraining_section
from _supported import supported_section
from _tails import tail_section
from _trials import Trial, intervals, percent, summary_tests
from _units import unit_section
from _vectors import class_section, vector_section
from _verdict_sections import (
    detectable_section,
    power_section,
    remaining_section,
    topic_section,
    verdict_section,
)
from _weighted import weighted_section
from _worlds import CONFIDENCES, calibrated
from scipy import stats

import lore_core as lore


class Simulations:
    """Run trials over many seeds, as many at a time as there are cores, or fewer."""

    def __init__(self, share: float, jobs: int, votes: Path | None) -> None:
        self._share, self.votes = share, votes
        self._pool = joblib.Parallel(n_jobs=jobs)

    def run(self, trial: Trial, n_seeds: int, *args: Any, **options: Any) -> pd.DataFrame:
        """Return one row a seed."""
        seeds = range(max(4, round(n_seeds * self._share)))
        started = time.perf_counter()
        rows = self._pool(joblib.delayed(trial)(seed, *args, **options) for seed in seeds)
        label = " ".join(map(str, args))
        print(f"  {trial.__name__} {label}: {len(rows)} in {time.perf_counter() - started:.0f} s")
        return pd.DataFrame([row for row in rows if row])


def summary_section(run: Simulations) -> str:
    """p-values of the summaries."""
    rows = []
    for n, gap in ((500, 0.0), (2000, 0.0), (2000, 0.1), (2000, 0.2)):
        found = run.run(summary_tests, 500 if gap == 0 else 200, n, gap)
        cells = [f"{n:,}", f"{gap * 100:.0f}"]
        for name in ("MLCE", "MLCE, supported", "ALCE", "ECE"):
            text = percent((found[name].dropna() <= 0.05).astype(float))
            if gap == 0:
                known = found[name].dropna()
                text += f" (KS p = {stats.kstest(known, 'uniform').pvalue:.2g})"
            cells.append(text)
        rows.append(cells)
    head = ["rows", "planted gap, points", "MLCE", "MLCE, supported", "ALCE", "ECE"]
    world = calibrated(0, 10_000, next(iter(CONFIDENCES)))
    lore.null_band(world.confidence, world.z, n_draws=2)
    started = time.perf_counter()
    lore.null_band(world.confidence, world.z)
    seconds = time.perf_counter() - started
    return f"""## MLCE, ALCE and ECE against chance

Share of the sets with p ≤ 0.05, in %: 5 where the data are calibrated (500 sets), the power where
10 % of the rows are overconfident (200 sets). KS: test of all p-values against the uniform
distribution. Ties count half. At 500 rows few sets have a row with ten effective neighbours.

{markdown_table(head, rows)}

200 draws at 30 γ of 10,000 rows in the plane took
{seconds:.1f} s.
"""


def interval_section(run: Simulations) -> str:
    """Intervals."""
    rows = []
    names = ("ECE", "MCE", "ALCE", "MLCE")
    for kind, n, size in (
        ("calibrated", 500, 0.0), ("calibrated", 2000, 0.0), ("slope", 500, 0.1),
        ("slope", 2000, 0.1), ("slope", 2000, 0.25), ("one blob", 2000, 0.2),
        ("one blob", 4000, 0.2), ("shift", 500, 0.1), ("shift", 2000, 0.05),
    ):  # fmt: skip
        found = run.run(intervals, 300, n, size, kind)
        rows.append(
            [kind, f"{n:,}", f"{size * 100:.0f}"]
            + [
                f"{percent(found[name])} ({found[f'{name} width'].mean() * 100:.1f})"
                for name in names
            ]
            + [percent(found[f"{name} bootstrap"], 0) for name in names]
            + [percent(found["Wilson bars"])]
        )
    head = ["world", "rows", "error, points", *names, *(f"{n}, bootstrap" for n in names)]
    return f"""## Intervals

Share of the 95 % intervals that cover the truth, in % (300 sets each), and in brackets how wide
they are on average, in points: the inverted test of `calibration_intervals`, and then the
usual percentile bootstrap. Worlds: calibrated; an error of size · sin 2x, which averages to nothing
in every confidence bin; one blob overconfident; all rows overconfident alike. On calibrated data
the truth is 0, where two tails of 2.5 % give 97.5 %.

{markdown_table([*head, "reliability bars (Wilson)"], rows)}
"""


#: In the order of the page.
SECTIONS = {
    "summaries": summary_section,
    "verdict": verdict_section,
    "power": power_section,
    "detectable": detectable_section,
    "tails": tail_section,
    "remaining": remaining_section,
    "intervals": interval_section,
    "supported": supported_section,
    "coverage": coverage_section,
    "retraining": retraining_section,
    "abstention": abstention_section,
    "vectors": vector_section,
    "classes": class_section,
    "conclusions": conclusion_section,
    "improvements": improvement_section,
    "topics": topic_section,
    "weighted": weighted_section,
    "units": unit_section,
    "pairs": pair_section,
}
_HEAD = (
    "# Trust\n\nWritten by `make bench` (`benchmarks/trust.py`); do not edit. Every number\n"
    "comes from data made up here, or from outcomes drawn anew, whose true calibration error is\n"
    "known. γ = 0.2 and 15 bins unless stated otherwise; ± is a standard error.\n"
)


def _parts(page: str) -> dict[str, str]:
    """Sections of a page that was written before, by their first line."""
    return {part.split("\n", 1)[0]: f"## {part}" for part in page.split("\n## ")[1:]}


def main() -> None:
    """Run all simulations and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few seeds")
    parser.add_argument("--share", type=float, default=1.0, help="of the seeds")
    parser.add_argument("--only", default=",".join(SECTIONS), help="sections, by comma")
    parser.add_argument("--jobs", type=int, default=-1, help="processes; all cores")
    parser.add_argument("--votes", type=Path, help="a directory of human votes")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs")
    options = parser.parse_args()
    run = Simulations(0.05 if options.quick else options.share, options.jobs, options.votes)
    wanted = options.only.split(",")
    target = options.out / "trust.md"
    before = list(_parts(target.read_text(encoding="utf-8")).values()) if target.exists() else []
    if len(wanted) < len(SECTIONS) and len(before) != len(SECTIONS):
        parser.error(f"--only keeps the sections of {target}, which are not these {len(SECTIONS)}")
    started = time.perf_counter()
    page = [_HEAD]
    for position, (name, section) in enumerate(SECTIONS.items()):
        print(section.__doc__)
        page.append(section(run) if name in wanted else f"{before[position].rstrip()}\n")
    options.out.mkdir(parents=True, exist_ok=True)
    target.write_text("\n".join(page), encoding="utf-8")
    print(f"Wrote {target} after {(time.perf_counter() - started) / 60:.1f} minutes.")


if __name__ == "__main__":
    main()
