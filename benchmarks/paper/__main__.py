"""Write docs/paper.md and its pictures: ``make paper RUNS=… IMAGES='… …'``.

``python -m benchmarks.paper --runs DIR --smooth`` writes the section of LoRe smooth anew.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

import lore_core as lore
from benchmarks.paper import page, sections
from benchmarks.paper.images import analyse
from benchmarks.paper.measure import Setting, measure_run, measure_runs, measure_smooth, runs_table
from benchmarks.paper.pictures import Gallery, draw_curves, draw_runs
from benchmarks.paper.sections import Content

RUNS = Setting(n_bins=5, pca_dimensions=20, group_column="argmax_normalised_race")
IMAGES = Setting(n_bins=15, pca_dimensions=50)
COMPAS = Setting(n_bins=5, pca_dimensions=20, group_column="race")
NEEDED = (
    "`make paper` needs the predictions to measure, which are not part of the project: "
    "RUNS=<a directory with <run>_cal.npz and <run>_test.npz for every network> and "
    "IMAGES='<calibration .npz> <test .npz>' of one image classifier (arrays probs, labels, "
    "features; for RUNS groups and group_names too)."
)
ROOT = Path(__file__).resolve().parents[2]


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line; without data say what is needed."""
    parser = argparse.ArgumentParser(prog="make paper", description=__doc__)
    parser.add_argument("--runs", help="directory of runs")
    parser.add_argument("--images", nargs="*", help="calibration and test file of one classifier")
    parser.add_argument("--compas", nargs="*", help="calibration and test file of one COMPAS run")
    parser.add_argument("--smooth", action="store_true", help="only LoRe smooth's section, of runs")
    parser.add_argument("--group", default=RUNS.group_column, help="group column of the runs")
    parser.add_argument("--out", type=Path, default=ROOT / "docs", help="where to write")
    parser.add_argument("--jobs", type=int, default=2, help="runs at work at a time")
    options = parser.parse_args(arguments)
    if not options.runs or not (options.images or options.smooth):
        parser.exit(2, NEEDED + "\n")
    return options


def main(arguments: list[str] | None = None) -> int:
    """Measure, draw and write."""
    options = parse(arguments)
    # Of plotly, about an option of its own; one for every picture.
    warnings.filterwarnings("ignore", message="The kopts argument")
    started = time.perf_counter()

    def say(message: str) -> None:
        print(f"[{time.perf_counter() - started:4.0f} s] {message}", flush=True)

    try:
        gallery = Gallery(options.out / "images" / "paper", "images/paper")
        runs = lore.load_runs(options.runs)
        setting = Setting(RUNS.n_bins, RUNS.pca_dimensions, options.group)
        say(f"{len(runs)} runs: LoRe smooth")
        found = measure_runs(runs, setting, say, options.jobs, measure_smooth)
        smooth = lore.comparison.RunsComparison(runs_table(found))
        if options.smooth:
            target = options.out / "paper.md"
            text = page.with_section(target.read_text(encoding="utf-8"), sections.smooth(smooth))
            target.write_text(text, encoding="utf-8")
            return 0
        classifier = lore.load(options.images)
        compas = lore.load(options.compas) if options.compas else None
        say(f"{len(runs)} runs: maps, methods, curves")
        results = measure_runs(runs, setting, say, options.jobs)
        rows = f"{results[0].n_rows[1]:,} evaluation rows a run, {len(results)} runs"
        table = lore.comparison.RunsComparison(runs_table(results))
        pictures = draw_curves(results, setting, gallery, "runs", rows)
        pictures |= draw_runs(table, gallery, rows)
        say(f"the image classifier {classifier.name}")
        images = analyse(classifier, IMAGES, gallery, say)
        single = None if compas is None else measure_run(compas, COMPAS)
    except lore.InputError as error:
        print(f"make paper: {error}", file=sys.stderr)
        return 2
    content = Content(results, table, setting, pictures, images, smooth, single, COMPAS)
    (options.out / "paper.md").write_text(page.write(content), encoding="utf-8")
    say(f"wrote {options.out / 'paper.md'}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
