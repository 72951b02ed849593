"""``lore report``: every figure, table and number in one bundle."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lore_core.cli.compare import method_option
from lore_core.cli.options import ViewOptions, cost_options, draws_option, examples, view_options
from lore_core.cli.output import Progress, say
from lore_core.cli.sums import SumsOptions, run_of, said_of, settings_of, sums_options
from lore_core.metrics.catalogue import MIN_GROUP_SIZE

if TYPE_CHECKING:
    from lore_core.data.progress import Progress as LibraryProgress
    from lore_core.mergeable import Run
    from lore_core.report import Source


@click.command(
    epilog=examples(
        "lore report demo -o report.zip",
        "lore report model_cal.npz model_test.npz --map tsne --gamma 0.2 -o report",
        "lore report predictions.csv --group site --wrong-cost 20 --no-images -o report.zip",
    )
)
@view_options()
@sums_options
@method_option
@click.option("--group", metavar="COLUMN", help="Group column of the fairness section.")
@click.option(
    "--min-group-size",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Smaller groups do not set the maximum (default: {MIN_GROUP_SIZE}).",
)
@cost_options
@draws_option(
    "Simulations behind intervals and p-values (default: what takes some seconds; 0: none)."
)
@click.option(
    "--simulation-seed",
    type=click.IntRange(min=0),
    metavar="N",
    help="Of simulations and halves, where not that of maps and splits (--seed).",
)
@click.option(
    "--images/--no-images",
    default=True,
    help="Also write the figures as SVG, where Chrome or Chromium is installed.",
)
@click.option(
    "--expect-data",
    metavar="SHA256",
    help="Refuse other data than those of this digest (in config.json).",
)
@click.option(
    "-o",
    "--out",
    required=True,
    metavar="DIR|ZIP",
    help="A .zip file, or a directory: new, empty, or an earlier report, which is replaced.",
)
def report(
    given: ViewOptions,
    *,
    sums: SumsOptions,
    names: tuple[str, ...],
    group: str | None,
    min_group_size: int | None,
    unsure_cost: float,
    wrong_cost: float,
    draws: int | None,
    simulation_seed: int | None,
    images: bool,
    expect_data: str | None,
    out: str,
) -> None:
    """Write everything to a directory or a ZIP file.

    index.html is the report to read, with a landscape whose γ can be moved; beside it lie all
    figures (interactive, and SVG), all tables (CSV and Parquet), config.json, and rerun.sh, which
    makes the same numbers again.

    Of Parquet files with more than 2,000,000 rows, named by a pattern or one by one, it has what
    sums over cells of the map say: metrics, curve and landscape, with the bounds that surely hold
    them; no places, columns, groups, recalibrators and decisions.
    """
    from lore_core.cli.view import open_view
    from lore_core.data.content_digest import content_digest
    from lore_core.data.progress import part_of
    from lore_core.data.validation import InputError
    from lore_core.report.archive import check_place
    from lore_core.report.files import report_files, require_packages
    from lore_core.report.findings import ReportSettings

    require_packages()
    check_place(out)
    with Progress() as progress:
        run = run_of(given, sums, progress)
        if run is not None:
            if names or group is not None or expect_data is not None:
                raise InputError(
                    "'--method', '--group' and '--expect-data' need rows that fit into memory. "
                    "Leave them out, or name fewer files."
                )
            _give_sums(run, given, draws, images, out, part_of(progress, 0.8, 1.0))
            return
        view = open_view(given, progress)
        if expect_data is not None and content_digest(view.dataset) != expect_data:
            raise InputError(
                "'--expect-data' must be the digest of DATA; got another one: these are not the "
                "data the report was made from, or they were read or split in another way."
            )
        if simulation_seed is not None:
            view = view.with_(seed=simulation_seed)
        settings = ReportSettings(
            methods=names or None,
            group_column=group,
            min_group_size=min_group_size,
            unsure_cost=unsure_cost,
            wrong_cost=wrong_cost,
            n_draws=draws,
        )
        files = report_files(
            view, settings, images=images, source=_source(given), progress=progress
        )
    _write(files, out)


def _write(files: dict[str, bytes], out: str) -> None:
    from lore_core.report.archive import write_bundle

    place = write_bundle(files, out)
    size = sum(map(len, files.values())) if place.is_dir() else place.stat().st_size
    say(f"Wrote {len(files)} files, {size / 1e6:.1f} MB, to {place}.")
    start = place / "index.html" if place.is_dir() else f"index.html of {os.fspath(place)}"
    say(f"Open {start} in a browser.")


def _give_sums(
    run: Run,
    given: ViewOptions,
    draws: int | None,
    images: bool,
    out: str,
    progress: LibraryProgress | None,
) -> None:
    """Write what sums know."""
    from lore_core.report.sums_report import SummedRows, sums_report_files

    gamma = 0.2 if given.gamma is None else given.gamma
    plan, bins = run.plan, run.sums.bins
    command = ["lore", "report", *given.data, "--map", plan.embedding.name.typed]
    command += ["--gamma", repr(gamma), "--bins", str(bins.n_bins), "--binning", bins.binning]
    command += ["--target", plan.target, "--seed", str(given.seed)]
    command += ["--cells", str(plan.max_cells)]
    for item in given.columns:
        command += ["--column", item]
    n_draws = 99 if draws is None else draws
    rows = SummedRows(
        sums=run.sums,
        name=", ".join(Path(item).name for item in given.data),
        axes=plan.embedding.name.title,
        said=said_of(run),
        settings=settings_of(run, given, gamma),
        command=[*command, "--draws", str(n_draws)],
    )
    files = sums_report_files(
        rows,
        gamma=gamma,
        n_draws=n_draws,
        random_state=given.seed,
        images=images,
        progress=progress,
    )
    _write(files, out)


def _source(given: ViewOptions) -> Source:
    """Say how the data were read, for who makes the report again."""
    from lore_core.report.findings import Source

    options = [f"--column={item}" for item in given.columns]
    options += ["--calibration-share", repr(given.calibration_share), "--seed", str(given.seed)]
    return Source(given.data, tuple(options))
