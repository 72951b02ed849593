"""``lore report`` and ``figures``: everything in one bundle, and every figure for print."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from lore_core.cli.compare import by_option, method_option
from lore_core.cli.options import (
    ViewOptions,
    cost_options,
    draws_option,
    number_option,
    options_as,
    subgroups_option,
    view_command,
)
from lore_core.cli.output import PRINTED, Progress, note, say, size_options
from lore_core.data.atomic_files import write_bytes
from lore_core.data.errors import InputError, as_path
from lore_core.data.progress import part_of
from lore_core.metrics.catalogue import MIN_GROUP_SIZE

if TYPE_CHECKING:
    from lore_core.figures import Chart
    from lore_core.report.findings import ReportSettings
    from lore_core.view import SumsView, View


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """What a report looks at beside the view, as typed."""

    names: tuple[str, ...]
    group: str | None
    min_group_size: int | None
    unsure_cost: float
    wrong_cost: float
    draws: int | None
    simulation_seed: int | None

    def open(self, given: ViewOptions, progress: Progress) -> View | SumsView:
        """Read the data; InputError where sums cannot say what is wanted."""
        from lore_core.cli.source import open_source
        from lore_core.view import View

        view = open_source(given, progress)
        if isinstance(view, View):
            return view if self.simulation_seed is None else view.with_(seed=self.simulation_seed)
        if self.names or self.group is not None:
            raise InputError(
                "'--method' and '--group' need rows that fit into memory. Leave them out, or name "
                "fewer files."
            )
        return view

    @property
    def settings(self) -> ReportSettings:
        """The same as the library takes it."""
        from lore_core.report.findings import ReportSettings

        return ReportSettings(
            methods=self.names or None,
            group_column=self.group,
            min_group_size=self.min_group_size,
            unsure_cost=self.unsure_cost,
            wrong_cost=self.wrong_cost,
            n_draws=self.draws,
        )


report_options = options_as(
    ReportOptions,
    "options",
    method_option,
    click.option("--group", metavar="COLUMN", help="Group column of the fairness section."),
    number_option(
        "--min-group-size",
        help=f"Smaller groups do not set the maximum (default: {MIN_GROUP_SIZE}).",
    ),
    cost_options,
    draws_option(),
    number_option(
        "--simulation-seed",
        minimum=0,
        help="Of simulations and halves, where not that of maps and splits (--seed).",
    ),
)


@view_command(
    "lore report demo -o report.zip",
    "lore report model_cal.npz model_test.npz --map tsne --gamma 0.2 -o report",
    "lore report predictions.csv --group site --wrong-cost 20 -o report.zip",
    sums=True,
)
@report_options
@click.option(
    "--expect-data",
    metavar="SHA256",
    help="Refuse other data than those of this digest (in config.json).",
)
@click.option(
    "--against", metavar="DATA", help="Compare another model on the same rows, in a section more."
)
@by_option
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
    options: ReportOptions,
    expect_data: str | None,
    against: str | None,
    by: str | None,
    file: str | None,
    out: str,
) -> None:
    """Write everything to a directory or a ZIP file.

    index.html is the report to read, with a landscape whose γ can be moved, and report.pdf the same
    on paper; beside them lie all figures (interactive, and SVG and PDF for print), all tables (CSV
    and Parquet), config.json, and rerun.sh, which makes the same numbers again.

    Of Parquet files with more than 2,000,000 rows, named by a pattern or one by one, it has what
    sums over cells of the map say: metrics, curve and landscape, with guaranteed
    bounds; no subgroups, columns, groups, recalibrators and decisions.
    """
    from lore_core.cli.source import load_other
    from lore_core.comparison import same_rows
    from lore_core.regions import load_subgroups
    from lore_core.report.archive import check_output_path, option_words, write_bundle
    from lore_core.report.files import report_files, require_packages
    from lore_core.report.findings import Source
    from lore_core.view import View
    from lore_core.view.methods import models_of

    require_packages()
    check_output_path(out)
    saved = [] if file is None else load_subgroups(file)
    with Progress() as progress:
        view = options.open(given, progress)
        if expect_data is not None and not isinstance(view, View):
            raise InputError("'--expect-data' needs rows that fit into memory.")
        if isinstance(view, View) and expect_data not in (None, view.dataset.content_digest):
            raise InputError(
                "'--expect-data' must be the digest of DATA; got another one: these are not the "
                "data the report was made from, or they were read or split in another way."
            )
        known, models = {"--against": against, "--by": by}, None
        if against is not None:
            if not isinstance(view, View):
                raise InputError("'--against' needs rows that fit into memory.")
            other = load_other(against, given)
            models = models_of(view, same_rows(view.dataset, other, by=by), progress=progress)
        columns = [f"--column={item}" for item in given.columns]
        share = ("--calibration-share", repr(given.calibration_share))
        again = (*columns, *share, "--seed", str(given.seed), *option_words(known))
        source = Source(given.data, again)
        files = report_files(
            view, options.settings, source=source, progress=progress, saved=saved, models=models
        )
    place = write_bundle(files, out)
    size = sum(map(len, files.values())) if place.is_dir() else place.stat().st_size
    say(f"Wrote {len(files)} files, {size / 1e6:.1f} MB, to {place}.")
    start = place / "index.html" if place.is_dir() else f"index.html of {place}"
    say(f"Open {start} in a browser.")


#: Millimetres: rows of figures are two columns of a journal wide.
_ROW_WIDTH = 174.0


@view_command(
    "lore figures demo -o figures",
    "lore figures model_cal.npz model_test.npz --format pdf --format png --width 174 -o figures",
    sums=True,
)
@report_options
@click.option(
    "--format",
    "kinds",
    type=click.Choice(["svg", "pdf", "png", "html", "csv"]),
    multiple=True,
    default=["pdf"],
    help="May be repeated (default: pdf).",
)
@size_options[0]
@size_options[1]
@size_options[2]
@click.option("-o", "--out", required=True, metavar="DIR", help="A directory; made if need be.")
def figures(
    given: ViewOptions, *, options: ReportOptions, kinds: tuple[str, ...], out: str, **size: Any
) -> None:
    """Write every figure that pages show of some rows to a directory, for print.

    Rows of figures are two columns wide, their parts labelled (a), (b), (c): overview.pdf
    (landscape, distribution of the local error, bandwidth curve), bandwidths.pdf,
    before_and_after.pdf and worst_group.pdf. captions.md and captions.tex hold a caption each, with
    n, γ, map, bins and seed, and the command.
    """
    from lore_core.figures.export import exported, latex, markdown, side_by_side
    from lore_core.report.charts import row_caption
    from lore_core.report.files import require_packages

    require_packages()
    with Progress() as progress:
        charts, rows = _collect(given, options, progress)
        width, printed = size["width_mm"], [kind for kind in kinds if kind in PRINTED]
        row_width, font_pt = max(width, _ROW_WIDTH), size["font_pt"]
        wide = {name: row_caption(row) for name, row in rows.items() if printed}
        drawings = {name: chart.drawing(**size) for name, chart in charts.items() if printed}
        for name in wide:
            drawings[name] = side_by_side(rows[name], width_mm=row_width, font_pt=font_pt)
        files = {f"{of}.{kind}": drawings[of].written(kind) for of in drawings for kind in printed}
        for kind in {*kinds}.difference(printed):
            files |= {f"{name}.{kind}": exported(chart, kind) for name, chart in charts.items()}
    command = shlex.join(["lore", *click.get_current_context().obj])
    text = [markdown(chart, f"{name}.{kinds[0]}") for name, chart in charts.items()]
    text += [markdown(chart, f"{name}.{printed[0]}") for name, chart in wide.items()]
    files["captions.md"] = "\n\n".join([*text, f"```sh\n{command}\n```\n"]).encode()
    text = [latex(chart, f"{name}.pdf", width) for name, chart in charts.items()]
    text += [latex(chart, f"{name}.pdf", row_width) for name, chart in wide.items()]
    files["captions.tex"] = "\n\n".join([f"% {command}", *text, ""]).encode()
    folder = as_path(out)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        write_bytes(folder / name, content)
    say(f"Wrote {len(charts | wide)} figures as {', '.join(kinds)} to {folder}.")


def _collect(
    given: ViewOptions, options: ReportOptions, progress: Progress
) -> tuple[dict[str, Chart], dict[str, dict[str, Chart]]]:
    """Return figures by the names of their files, and rows of figures; note what is left out."""
    from lore_core.report.charts import figure_rows, landscape_chart, page_charts, report_charts
    from lore_core.report.findings import examine
    from lore_core.report.sums_report import sums_charts
    from lore_core.view import View
    from lore_core.view.where import curve_of

    view = options.open(given, progress)
    if not isinstance(view, View):
        return sums_charts(view, curve_of(view, progress))[0], {}
    part = part_of(progress, 0.0, 0.9)
    findings = examine(view, options.settings, part, for_figures=True)
    for sentence in dict.fromkeys(findings.missing.values()):
        note(sentence)
    landscape = landscape_chart(findings)
    charts = report_charts(findings, landscape) | page_charts(findings, landscape)
    return charts, figure_rows(findings, charts)
