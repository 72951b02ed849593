"""Export of a chart: SVG, PDF and PNG for print, interactive HTML, CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING

from lore_core.data.export_text import csv_text
from lore_core.data.validation import InputError
from lore_core.figures.drawing import (
    MM_PER_INCH,
    POINTS_PER_INCH,
    PRINTED,
    UNITS_PER_INCH,
    Drawing,
    beside,
)
from lore_core.figures.style import INK, PAPER, escape

if TYPE_CHECKING:
    from lore_core.figures.chart import Chart

#: What LaTeX reads otherwise, or not at all.
_LATEX = {letter: f"\\{letter}" for letter in "&%$#_{}"} | {
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "γ": "$\\gamma$",
    "−": "$-$",
    "≤": "$\\leq$",
    "≥": "$\\geq$",
    "±": "$\\pm$",
    "×": "$\\times$",
    "→": "$\\rightarrow$",
    "\u00a0": "~",
    "\u202f": "\\,",
}
_COLUMN = 100.0
#: Types of traces that only the whole of Plotly draws.
IN_SPACE = ("scatter3d", "surface")
#: Charts of one figure at most: as many as there are letters.
_MOST_PANELS = 26
COLUMN_WIDTHS = {
    "one column, 84 mm": 84.0,
    "one and a half, 129 mm": 129.0,
    "two columns, 174 mm": 174.0,
}


def plot_config(chart: Chart) -> dict[str, object]:
    """Modebar settings of a chart: no upload to a cloud, no picture beside those for print."""
    idle = ["autoScale2d", "zoomIn2d", "zoomOut2d", "select2d", "lasso2d", "toImage"]
    return {
        "displaylogo": False,
        "showSendToCloud": False,
        "modeBarButtonsToRemove": idle,
        **chart.config,
    }


def chart_html(chart: Chart, *, script: str | None = None) -> bytes:
    """One self-contained HTML file: interactive, opens without a network.

    ``script``: path of a ``plotly.min.js`` that several files can share, not in the file itself.
    """
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(chart.title)}</title></head>"
        f'<body style="margin: 0; background: {PAPER[chart.mode]}">'
        f"{interactive(chart, plot_config(chart), script=script)}"
        f'<p style="font: 14px/1.5 sans-serif; margin: 8px; max-width: 48em; '
        f'color: {INK[chart.mode]}">{escape(chart.how_to_read)}</p></body></html>'
    ).encode()


def interactive(
    chart: Chart, config: Mapping[str, object] | None = None, *, script: str | None = None
) -> str:
    """Write a chart as part of a page, with Plotly's script in it or where ``script`` says."""
    inside = ""
    if script is None:
        inside = f"<script>{plotly_script(is_flat=is_flat(chart)).decode()}</script>"
    picture = chart.figure.to_html(
        full_html=False,
        include_plotlyjs=script or False,
        config=chart.config if config is None else config,
        div_id=f"lore-lens-{chart.name}",
    )
    return f"{inside}{picture}"


def is_flat(chart: Chart) -> bool:
    """Whether a chart is a plane one, which the smaller script of Plotly draws."""
    return not any(trace.type in IN_SPACE for trace in chart.figure.data)


def latex(chart: Chart, file: str, width_mm: float) -> str:
    """Write the lines that set a chart, from a file, with its caption in LaTeX.

    Wider than a column of a journal it is set over both.
    """
    kind = "figure*" if width_mm > _COLUMN else "figure"
    escaped = "".join(_LATEX.get(letter, letter) for letter in chart.caption)
    return (
        f"\\begin{{{kind}}}\n  \\centering\n"
        f"  \\includegraphics[width={width_mm:g}mm]{{{file}}}\n"
        f"  \\caption{{{escaped}}}\n\\end{{{kind}}}"
    )


def markdown(chart: Chart, file: str) -> str:
    """Write the lines that show a chart, from a file, with its caption in Markdown."""
    return f"![{chart.alt}]({file})\n\n*{chart.caption}*"


def plotly_script(*, is_flat: bool) -> bytes:
    """Return Plotly's script: for plane charts the published part that draws them.

    That part is a third as large and starts in a third of the time.
    """
    if is_flat:
        return files("lore_core.figures.plotly").joinpath("plotly-cartesian.min.js").read_bytes()
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs()).encode()


def chart_csv(chart: Chart) -> bytes:
    """Write the numbers the chart shows, as UTF-8 CSV."""
    return csv_text(chart.table).encode()


def side_by_side(
    charts: Sequence[Chart] | Mapping[str, Chart],
    *,
    n_columns: int | None = None,
    width_mm: float = 174.0,
    font_pt: float = 8.0,
) -> Drawing:
    """Lay charts out for print beside each other, all as tall, as (a), (b), (c).

    ``charts``: their names, if any, are written beside the letters. ``n_columns``: by default one
    row. ``drawing.save("figure.pdf")`` writes what is returned.
    """
    names = [*charts] if isinstance(charts, Mapping) else []
    shown = [*charts.values()] if isinstance(charts, Mapping) else [*charts]
    if not 1 <= len(shown) <= _MOST_PANELS:
        raise InputError(f"'charts' must be 1 to {_MOST_PANELS} charts; got {len(shown)}.")
    columns = n_columns or len(shown)
    gap_mm = font_pt / POINTS_PER_INCH * MM_PER_INCH
    size = {"width_mm": (width_mm - gap_mm * (columns - 1)) / columns, "font_pt": font_pt}
    drawings = [chart.drawing(**size) for chart in shown]
    tallest = max(drawing.height for drawing in drawings)
    height_mm = tallest / UNITS_PER_INCH * MM_PER_INCH
    drawings = [
        drawing if drawing.height == tallest else chart.drawing(**size, height_mm=height_mm)
        for chart, drawing in zip(shown, drawings, strict=True)
    ]
    return beside(drawings, columns, "; ".join(chart.alt for chart in shown), names)


def exported(
    chart: Chart,
    kind: str,
    *,
    width_mm: float = 84.0,
    height_mm: float | None = None,
    font_pt: float = 8.0,
    dpi: float = 300.0,
) -> bytes:
    """Write a chart as svg, pdf or png for print, html to look closer, or csv."""
    if kind in PRINTED:
        drawing = chart.drawing(width_mm=width_mm, height_mm=height_mm, font_pt=font_pt)
        return drawing.written(kind, dpi)
    makers = {"html": chart_html, "csv": chart_csv}
    if kind not in makers:
        known = ", ".join((*PRINTED, *makers))
        raise InputError(f"a figure is written as {known}; got {kind or 'no ending'!r}.")
    return makers[kind](chart)
