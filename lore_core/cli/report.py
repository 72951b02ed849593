"""``lore report``: every figure, table and number in one bundle."""

from __future__ import annotations

import os

import click

from lore_core.cli.compare import method_option
from lore_core.cli.options import (
    ViewOptions,
    cost_options,
    draws_option,
    number_option,
    subgroups_option,
    view_command,
)
from lore_core.cli.output import Progress, say
from lore_core.data.atomic_files import write_bytes
from lore_core.data.errors import InputError, as_path
from lore_core.data.progress import part_of
from lore_core.metrics.catalogue import MIN_GROUP_SIZE

#: Millimetres of a journal's page.
_TWO_COLUMNS = 174.0


@view_command(
    "lore report demo -o report.zip",
    "lore report model_cal.npz model_test.npz --map tsne --gamma 0.2 -o report",
    "lore report predictions.csv --group site --wrong-cost 20 -o report.zip",
    sums=True,
)
@method_option
@click.option("--group", metavar="COLUMN", help="Group column of the fairness section.")
@number_option(
    "--min-group-size", help=f"Smaller groups do not set the maximum (default: {MIN_GROUP_SIZE})."
)
@cost_options
@draws_option()
@number_option(
    "--simulation-seed",
    minimum=0,
    help="Of simulations and halves, where not that of maps and splits (--seed).",
)
@click.option(
    "--expect-data",
    metavar="SHA256",
    help="Refuse other data than those of this digest (in config.json).",
)
@subgroups_option("Names and notes for the subgroups found, from this file.")
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
    names: tuple[str, ...],
    group: str | None,
    min_group_size: int | None,
    unsure_cost: float,
    wrong_cost: float,
    draws: int | None,
    simulation_seed: int | None,
    expect_data: str | None,
    file: str | None,
    out: str,
) -> None:
    """Write everything to a directory or a ZIP file.

    index.html is the report to read, with a landscape whose γ can be moved; beside it lie all
    figures (interactive, and SVG and PDF for print), all tables (CSV and Parquet), config.json,
    and rerun.sh, which makes the same numbers again; report.pdf says the same on paper.

    Of Parquet files with more than 2,000,000 rows, named by a pattern or one by one, it has what
    sums over cells of the map say: metrics, curve and landscape, with guaranteed
    bounds; no subgroups, columns, groups, recalibrators and decisions.
    """
    from lore_core.cli.source import open_source
    from lore_core.data.dataset_files import content_digest
    from lore_core.regions import load_subgroups
    from lore_core.report.archive import check_output_path, write_bundle
    from lore_core.report.files import report_files, require_packages
    from lore_core.report.findings import ReportSettings, Source
    from lore_core.view import View

    require_packages()
    check_output_path(out)
    saved = [] if file is None else load_subgroups(file)
    with Progress() as progress:
        view = open_source(given, progress)
        if not isinstance(view, View):
            if names or group is not None or expect_data is not None:
                raise InputError(
                    "'--method', '--group' and '--expect-data' need rows that fit into memory. "
                    "Leave them out, or name fewer files."
                )
        elif expect_data is not None and content_digest(view.dataset) != expect_data:
            raise InputError(
                "'--expect-data' must be the digest of DATA; got another one: these are not the "
                "data the report was made from, or they were read or split in another way."
            )
        elif simulation_seed is not None:
            view = view.with_(seed=simulation_seed)
        settings = ReportSettings(
            methods=names or None,
            group_column=group,
            min_group_size=min_group_size,
            unsure_cost=unsure_cost,
            wrong_cost=wrong_cost,
            n_draws=draws,
        )
        options = [f"--column={item}" for item in given.columns]
        options += ["--calibration-share", repr(given.calibration_share), "--seed", str(given.seed)]
        source = Source(given.data, tuple(options))
        files = report_files(view, settings, source=source, progress=progress, saved=saved)
    place = write_bundle(files, out)
    size = sum(map(len, files.values())) if place.is_dir() else place.stat().st_size
    say(f"Wrote {len(files)} files, {size / 1e6:.1f} MB, to {place}.")
    start = place / "index.html" if place.is_dir() else f"index.html of {os.fspath(place)}"
    say(f"Open {start} in a browser.")


@view_command(
    "lore figures demo -o figures",
    "lore figures model_cal.npz model_test.npz --format pdf --format png --width 174 -o figures",
)
@method_option
@click.option("--group", metavar="COLUMN", help="Group column of the fairness figure.")
@cost_options
@draws_option()
@click.option(
    "--format",
    "kinds",
    type=click.Choice(["svg", "pdf", "png", "html", "csv"]),
    multiple=True,
    default=["pdf"],
    help="May be repeated.",
)
@click.option(
    "--width",
    type=click.FloatRange(30, 500),
    default=84.0,
    metavar="MM",
    help="Of .svg, .pdf and .png (300 dpi); the default is a column of a journal.",
)
@click.option("-o", "--out", required=True, metavar="DIR", help="A directory; made if need be.")
def figures(
    given: ViewOptions,
    *,
    names: tuple[str, ...],
    group: str | None,
    unsure_cost: float,
    wrong_cost: float,
    draws: int | None,
    kinds: tuple[str, ...],
    width: float,
    out: str,
) -> None:
    """Write every figure of the report to a directory, for print.

    Beside them figure.pdf, two columns wide: landscape, distribution of the local error and
    bandwidth curve as (a), (b) and (c); and captions.md, a caption each.
    """
    from lore_core.cli.source import open_view
    from lore_core.report.charts import landscape_chart, report_charts, together
    from lore_core.report.findings import ReportSettings, examine

    settings = ReportSettings(
        methods=names or None,
        group_column=group,
        unsure_cost=unsure_cost,
        wrong_cost=wrong_cost,
        n_draws=draws,
    )
    with Progress() as progress:
        findings = examine(open_view(given, progress), settings, part_of(progress, 0.0, 0.9))
        charts = report_charts(findings, landscape_chart(findings))
        folder = as_path(out)
        folder.mkdir(parents=True, exist_ok=True)
        for name, chart in charts.items():
            for kind in kinds:
                chart.save(folder / f"{name}.{kind}", width_mm=width)
    row = together(charts, _TWO_COLUMNS)
    if row is not None:
        write_bytes(folder / "figure.pdf", row.pdf())
    captions = [f"## {name}\n\n{chart.caption}\n" for name, chart in charts.items()]
    write_bytes(folder / "captions.md", "\n".join(captions).encode())
    say(f"Wrote {len(charts)} figures as {', '.join(kinds)}, and captions.md, to {folder}.")
