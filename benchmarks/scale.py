"""Rows that do not fit into memory: time, memory and error of sums that merge.

Writes Parquet files of synthetic rows, sums them with one process and with two, stops a run and
lets it go on, and holds local errors against the exact sums over all rows. Prints what it finds
and writes docs/scale.md. ``--rows 100_000_000`` for the large run, ``--quick`` to try the script,
``--data DIR`` to keep the rows, ``--out FILE`` to write elsewhere.
"""

import argparse
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from _measure import machine

from lore_core.kernel_sums import laplacian_sums
from lore_core.mergeable import (
    LocalDistribution,
    LocalErrorSums,
    Partition,
    Plan,
    bandwidth_curve_of_sums,
    partitions_of,
    sample_rows,
    sum_files,
)

CLASSES, FEATURES = 4, 8
FILE_ROWS, GROUP_ROWS = 2_500_000, 2**18
#: Rows whose local errors are held against the exact ones.
CHECKED = 5_000
GAMMAS = (0.2, 0.5, 1.0)
RUN = """
import os, sys, time, json
from pathlib import Path
from lore_core.mergeable import Plan, partitions_of, sum_files
files, kept, workers, plan, processors = sys.argv[1:]
if processors == "one":
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
plan, workers = Plan.load(Path(plan)), int(workers)
started = time.perf_counter()
run = sum_files(partitions_of(sorted(Path(files).glob("*.parquet"))), plan, directory=kept,
                n_workers=workers, progress=lambda share, said: print(said, flush=True))
print(json.dumps({"seconds": time.perf_counter() - started, "digest": run.sums.digest,
                  "kept": run.n_kept, "summed": run.n_summed}))
"""

# What a user would do otherwise, each in a process of its own; `found` is what it comes to.
BEFORE = """
import json, sys, time
from pathlib import Path
import numpy as np
from lore_core.mergeable import Plan, partitions_of
paths = sorted(Path(sys.argv[1]).glob("*.parquet"))
started = time.perf_counter(), time.process_time()
"""
AFTER = """
spent = time.perf_counter() - started[0], time.process_time() - started[1]
print(json.dumps([*spent, float(found)]))
"""
RIVALS = {
    "exact sums, rows in memory (`local_errors`): ALCE at one γ": """
from lore_core import local_errors
c, a, z = [], [], []
plan = Plan.load(Path(sys.argv[2]))
for part in partitions_of(paths):
    for extract in part.extracts(2**18, plan.columns):
        rows = plan.dataset(extract)
        c.append(rows.confidence)
        a.append(rows.outcome)
        z.append(plan.embedding.transform(rows.features))
found = local_errors(np.concatenate(c), np.concatenate(a), np.concatenate(z), gamma=0.2).average
""",
    "scikit-learn (`calibration_curve`), rows in memory: ECE": """
import pyarrow.dataset as ds
from sklearn.calibration import calibration_curve
frame = ds.dataset(paths).to_table(columns=[f"p_{k}" for k in range(4)] + ["label"]).to_pandas()
p = frame.iloc[:, :4].to_numpy(np.float64)
c, a = p.max(axis=1), p.argmax(axis=1) == frame["label"].to_numpy()
right, promised = calibration_curve(a, c, n_bins=15)
count = np.histogram(c, np.linspace(0, 1, 16))[0]
found = (np.abs(right - promised) * count[count > 0]).sum() / count.sum()
""",
    "DuckDB, one query over the files: ECE": """
import duckdb
duckdb.execute("set enable_progress_bar = false")
query = (
    "with r as (select greatest(p_0, p_1, p_2, p_3) c, (case label when 0 then p_0 when 1 then p_1"
    " when 2 then p_2 else p_3 end) = c a from read_parquet(?)) select sum(abs(g)) / sum(n) from"
    " (select count(*) n, sum(c - a::int) g from r group by least(floor(c * 15), 14))"
)
found = duckdb.execute(query, [[str(path) for path in paths]]).fetchone()[0]
""",
    "reading and decoding the same columns alone (pyarrow)": """
import pyarrow.parquet
columns = Plan.load(Path(sys.argv[2])).columns
for path in paths:
    with pyarrow.parquet.ParquetFile(path, pre_buffer=False) as file:
        for batch in file.iter_batches(2**18, columns=columns, use_threads=False):
            pass
found = float("nan")
""",
}
#: Rows up to which rivals that hold all of them are tried.
FITS = 20_000_000


@dataclass(frozen=True)
class Summed:
    """One run of a process of its own."""

    seconds: float  #: Of the sums, without the start of Python
    processor: float  #: Seconds of all processes
    peak: int  #: Bytes of the largest process
    digest: str
    kept: int
    summed: int


def write_rows(folder: Path, n_rows: int) -> None:
    """Write rows whose confidences are right, but for one place of the map."""
    for number, start in enumerate(range(0, n_rows, FILE_ROWS)):
        path = folder / f"part-{number:03}.parquet"
        if path.exists():
            continue
        rng = np.random.default_rng(number)
        left = min(FILE_ROWS, n_rows - start)
        with pa.parquet.ParquetWriter(path, _table(rng, 1).schema) as writer:
            for size in [GROUP_ROWS] * (left // GROUP_ROWS) + [left % GROUP_ROWS]:
                if size:
                    writer.write_table(_table(rng, size))


def _table(rng: np.random.Generator, n: int) -> pa.Table:
    features = rng.normal(size=(n, FEATURES)).astype(np.float32)
    features[:, :2] *= 3
    p = np.exp(rng.normal(size=(n, CLASSES)) * 2)
    p /= p.sum(axis=1, keepdims=True)
    label = np.minimum((p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1), CLASSES - 1)
    wrong = (np.abs(features[:, :2] - 3).sum(axis=1) < 3) & (rng.random(n) < 0.4)
    label[wrong] = rng.integers(0, CLASSES, wrong.sum())
    columns = {f"f_{k}": features[:, k] for k in range(FEATURES)}
    columns |= {f"p_{k}": p[:, k].astype(np.float32) for k in range(CLASSES)}
    return pa.table({**columns, "label": label.astype(np.int32)})


def run_alone(files: Path, kept: Path, plan: Path, workers: int, processors: str = "all") -> Summed:
    """Sum in a process of its own, so that its memory is seen.

    ``processors``: of the machine, ``all`` or ``one``.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", RUN, files, kept, str(workers), plan, processors],
        capture_output=True,
        text=True,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = json.loads(done.stdout.splitlines()[-1])
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Summed(processor=used, peak=after.ru_maxrss * 1024, **found)


def run_rival(code: str, files: Path, plan: Path) -> tuple[float, float, int, float] | None:
    """Seconds, those of processors, peak bytes, what was found; None where it could not be run."""
    # A process between the two, so that the peak is not that of an earlier child.
    between = (
        "import resource, subprocess, sys\n"
        "done = subprocess.run([sys.executable, '-c', *sys.argv[1:]], stdout=-1, check=True)\n"
        "print(done.stdout.decode().splitlines()[-1])\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", between, BEFORE + code + AFTER, files, plan],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return None
    first, peak = done.stdout.splitlines()
    seconds, used, found = json.loads(first)
    return seconds, used, int(peak), found


def run_killed(files: Path, kept: Path, plan: Path) -> None:
    """Kill a run as soon as two parts are done."""
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, files, kept, "1", plan, "all"],
        stdout=subprocess.PIPE,
        text=True,
    )
    for _ in range(3):
        process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()


def exact_errors(
    parts: list[Partition], plan: Plan, gammas: tuple[float, ...]
) -> tuple[np.ndarray, np.ndarray, dict[float, np.ndarray], float]:
    """Confidences and places of some rows, their exact SLCE over all rows, and seconds.

    The kernel sums of a part of the rows are added up, so that one part is in memory at a time.
    """
    drawn = sample_rows(parts, CHECKED, mapping=plan.mapping).rows
    c, z = drawn.confidence, plan.embedding.transform(drawn.features)
    total = np.zeros((len(gammas), len(c), 2))
    seconds = 0.0
    for part in parts:
        confidence, outcome, places = [], [], []
        for extract in part.extracts(2**18, plan.columns):
            rows = plan.dataset(extract)
            confidence.append(rows.confidence)
            outcome.append(rows.outcome)
            places.append(plan.embedding.transform(rows.features))
        of_part, right = np.concatenate(confidence), np.concatenate(outcome)
        started = time.perf_counter()
        total += laplacian_sums(
            z,
            np.concatenate(places),
            np.column_stack([of_part - right, np.ones(len(right))]),
            bandwidth=np.array(gammas) * z.shape[1],
            target_groups=plan.bins.assign(c),
            source_groups=plan.bins.assign(of_part),
        )
        seconds += time.perf_counter() - started
    return c, z, dict(zip(gammas, total[:, :, 0] / total[:, :, 1], strict=True)), seconds


def main() -> None:
    """Run everything and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--cells", type=int, default=2**19)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("docs/scale.md"))
    given = parser.parse_args()
    n_rows = 400_000 if given.quick else given.rows
    with tempfile.TemporaryDirectory(prefix="lore-scale-") as made:
        folder = given.data or Path(made) / "rows"
        folder.mkdir(parents=True, exist_ok=True)
        started = time.perf_counter()
        write_rows(folder, n_rows)
        print(f"{n_rows:,} rows written in {time.perf_counter() - started:.0f} s", flush=True)
        text = measured(folder, Path(made), n_rows, given.cells)
    print(text)
    given.out.write_text(text, encoding="utf-8")


def beside_rivals(sums: LocalErrorSums, ours: Summed, files: Path, plan: Path) -> list[str]:
    """Return the table of other ways."""
    started = time.perf_counter()
    alce = LocalDistribution.of(sums, gamma=0.2).average.value
    again = time.perf_counter() - started
    ece = sums.reliability.expected_calibration_error
    lines = [
        "## Beside other ways",
        "",
        "| | seconds | processor seconds | largest process | found, points |",
        "|---|---:|---:|---:|---:|",
        f"| sums, one process: all metrics, global and local, at one γ | "
        f"{ours.seconds + again:.1f} | {ours.processor + again:.0f} | {ours.peak / 2**30:.2f} GB | "
        f"ALCE {alce * 100:.2f}, ECE {ece * 100:.2f} |",
        f"| the same sums at another γ | {again:.1f} | | | |",
    ]
    used: dict[str, float] = {}
    for name, code in RIVALS.items():
        if sums.n_rows > FITS and "memory" in name:
            lines.append(f"| {name} | left out: too many rows | | | |")
            continue
        rival = run_rival(code, files, plan)
        if rival is None:
            lines.append(f"| {name} | could not be run | | | |")
        else:
            seconds, used[name], peak, found = rival
            text = "" if np.isnan(found) else f"{found * 100:.2f}"
            lines.append(
                f"| {name} | {seconds:.1f} | {used[name]:.1f} | {peak / 2**30:.2f} GB | {text} |"
            )
        print(lines[-1], flush=True)
    *_, duckdb, reading = RIVALS
    if duckdb in used and reading in used:
        lines += [
            "",
            f"All metrics, bounds included, take {(ours.processor + again) / used[duckdb]:.1f} "
            "times the processor seconds of DuckDB's ECE alone; reading and decoding are "
            f"{used[reading] / (ours.processor + again):.0%} of them.",
        ]
    return lines


def measured(files: Path, work: Path, n_rows: int, cells: int) -> str:
    """Return the page."""
    from lore_core.mergeable import make_plan

    load = os.getloadavg()[0]
    paths = sorted(files.glob("*.parquet"))
    size = sum(path.stat().st_size for path in paths)
    parts = partitions_of(paths)
    plan = make_plan(parts, max_cells=cells)
    place = work / "plan.npz"
    plan.save(place)
    alone = run_alone(files, work / "alone", place, 1, "one")
    print(f"one process on one processor: {alone.seconds:.0f} s", flush=True)
    shutil.rmtree(work / "alone")
    one = run_alone(files, work / "one", place, 1)
    print(f"one process: {one.seconds:.0f} s", flush=True)
    two = run_alone(files, work / "two", place, 2)
    print(f"two processes: {two.seconds:.0f} s", flush=True)
    run_killed(files, work / "killed", place)
    again = run_alone(files, work / "killed", place, 2)
    same = alone.digest == one.digest == two.digest == again.digest
    sums = sum_files(parts, plan, directory=work / "one").sums
    started = time.perf_counter()
    joined = sums + sums
    joining = time.perf_counter() - started
    assert joined.n_rows == 2 * n_rows
    shutil.rmtree(work / "two")
    lines = [
        "# Rows that do not fit into memory",
        "",
        "Written by `make bench` (`benchmarks/scale.py`); do not edit.",
        "",
        *(
            f"- {name}: {value}"
            for name, value in machine().items()
            if name not in ("torch", "pykeops")
        ),
        f"- Load when it began: {load:.0f} on {os.cpu_count()} cores. Where that is more than one "
        "a core, seconds are those of a share of the machine; processor seconds are not.",
        "",
        f"{n_rows:,} rows, {CLASSES} classes, {FEATURES} features, {len(paths)} Parquet files of "
        f"{size / 1e9:.1f} GB together, in {len(parts)} parts; PCA 2-D, 15 bins, at most {cells:,} "
        f"cells. The sums: {len(sums.cells):,} cells of width {sums.width:g}.",
        "",
        "| | seconds | rows a second | processor seconds | largest process |",
        "|---|---:|---:|---:|---:|",
        *(
            f"| {name} | {run.seconds:.1f} | {n_rows / run.seconds:,.0f} | {run.processor:.0f} | "
            f"{run.peak / 2**30:.2f} GB |"
            for name, run in (
                ("one process on one processor", alone),
                ("one process", one),
                ("two processes", two),
            )
        ),
        "",
        f"Of the seconds of one process on one processor, two on two took "
        f"{two.seconds / alone.seconds:.0%}, an efficiency of "
        f"{alone.seconds / two.seconds / 2:.0%}; of those of one that may use both, as it does to "
        f"decode, {two.seconds / one.seconds:.0%}. A run that was killed "
        f"after {again.kept} of {len(parts)} parts went on and summed {again.summed}. "
        f"Sums of all four runs are {'the same to the last bit' if same else 'NOT THE SAME'}.",
        "",
        *beside_rivals(sums, one, files, place),
        "",
        "## Against the exact sums",
        "",
    ]
    c, z, exact, seconds = exact_errors(parts, plan, GAMMAS)
    lines += [
        f"SLCE of {CHECKED:,} rows, drawn uniformly, in points. The exact sums, a part of the "
        f"rows in memory at a time, took {seconds:.1f} s for these rows and {len(GAMMAS)} γ, "
        "reading not counted.",
        "",
        "| γ | error, mean | largest | bound, mean | largest | outside | seconds |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for gamma in GAMMAS:
        started = time.perf_counter()
        values = sums.local_values(c, z, gamma=gamma).signed
        spent = time.perf_counter() - started
        error = np.abs(values.value - exact[gamma]) * 100
        bound = np.maximum(values.high - values.value, values.value - values.low) * 100
        outside = int(((exact[gamma] < values.low) | (exact[gamma] > values.high)).sum())
        lines.append(
            f"| {gamma:g} | {error.mean():.2g} | {error.max():.2g} | {bound.mean():.2g} | "
            f"{bound.max():.2g} | {outside} | {spent:.1f} |"
        )
    lines += ["", "| γ | ALCE, points | guaranteed bounds | seconds |", "|---:|---:|---:|---:|"]
    for gamma in GAMMAS:
        started = time.perf_counter()
        alce = LocalDistribution.of(sums, gamma=gamma).average
        lines.append(
            f"| {gamma:g} | {alce.value * 100:.2f} | {alce.low * 100:.2f} to "
            f"{alce.high * 100:.2f} | {time.perf_counter() - started:.1f} |"
        )
    started = time.perf_counter()
    curve = bandwidth_curve_of_sums(sums)
    spent = time.perf_counter() - started
    a_row = one.processor / n_rows
    lines += [
        "",
        f"A curve of {len(curve.gamma)} bandwidths: {spent:.0f} s, whatever the number of rows.",
        "",
        "## Extrapolated",
        "",
        f"A row costs {a_row * 1e6:.1f} µs of a processor, reading included, and adding two sums "
        f"{joining:.2f} s. So n rows on W workers of one processor each, in parts of 8 million "
        f"rows joined one after the other, take n · {a_row * 1e6:.1f} µs / W + "
        f"{joining:.2f} s · n / 8·10⁶: 10⁹ rows on 100 workers "
        f"{1e9 * a_row / 100 + joining * 1e9 / 8e6:.0f} s, on two "
        f"{(1e9 * a_row / 2 + joining * 1e9 / 8e6) / 60:.0f} minutes. Disks that give less "
        "than the rows of all workers a second are slower.",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
