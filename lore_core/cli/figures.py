"""``lore figures``: every figure that pages show, for print."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from lore_core.cli.options import ViewOptions, view_command
from lore_core.cli.output import PRINTED, Progress, note, say, size_options
from lore_core.cli.report import ReportOptions, report_options
from lore_core.data.atomic_files import write_bytes
from lore_core.data.errors import as_path
from lore_core.data.progress import part_of

if TYPE_CHECKING:
    from lore_core.figures import Chart

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
    from lore_core.report.files import require_packages
    from lore_core.report.page_charts import row_caption

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
    from lore_core.report.charts import landscape_chart, report_charts
    from lore_core.report.findings import examine
    from lore_core.report.page_charts import figure_rows, page_charts
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
