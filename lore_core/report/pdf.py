"""The report as one PDF: what was found, figures with captions, tables, settings."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape

from lore_core.comparison.tables import metric_table
from lore_core.data.errors import require
from lore_core.data.export_text import as_json
from lore_core.data.number_text import points_words, share_words
from lore_core.figures import Chart
from lore_core.figures.drawing import POINTS_PER_INCH, Drawing, draw_on, register_fonts
from lore_core.figures.style import palette
from lore_core.metrics.catalogue import CATALOGUE, REPORT_TABLE
from lore_core.regions.subgroups.verdict import name_of_subgroup
from lore_core.report.charts import LISTED, together
from lore_core.report.findings import Findings

#: A4 in points, its margins, and millimetres of a point.
_PAGE, _MARGIN, _MM = (595.28, 841.89), 56.0, 25.4 / POINTS_PER_INCH
#: Type in points: text, tables, headings, the title.
_TEXT, _SMALL, _HEADING, _TITLE = 9.5, 8.0, 13.0, 18.0
_FIGURE_MM = 120.0
#: Columns of metrics a page is wide enough for, and letters of a cell.
_MOST_METRICS, _LONGEST = 5, 60


def report_pdf(
    findings: Findings,
    charts: Mapping[str, Chart],
    conclusions: Sequence[str],
    *,
    config: Mapping[str, object],
    rerun: str,
) -> bytes:
    """Write it; ``conclusions``: of the page's summary. The same inputs give the same bytes."""
    require("A PDF", "reportlab")
    from reportlab.platypus import PageBreak, SimpleDocTemplate, Spacer

    regular, bold = register_fonts()
    text, small, heading, title = _styles(regular, bold)
    view = findings.view
    parts: list[Any] = [
        _paragraph(view.dataset.name, title),
        _paragraph(f"{view.rows}; target {view.target_name}; {view.kernel_in_words}", small)
        if view.is_local
        else _paragraph(f"{view.rows}; target {view.target_name}", small),
        Spacer(1, 10),
        _paragraph(findings.verdict.sentence, _bolder(text, bold)),
        *(_paragraph(f"• {sentence}", text) for sentence in conclusions),
        Spacer(1, 8),
    ]
    row = together(charts, (_PAGE[0] - 2 * _MARGIN) * _MM)
    if row is not None:
        names = "(a) local error on the map, (b) its distribution, (c) MLCE against bandwidth"
        parts += [_flowable(row), _paragraph(f"{names}; {view.rows}.", small), Spacer(1, 8)]
    for name, table in _tables(findings).items():
        parts += [_paragraph(name, heading), _table(table, regular, bold), Spacer(1, 10)]
    parts += [PageBreak(), _paragraph("Figures", heading)]
    for chart in charts.values():
        drawing = chart.drawing(width_mm=_FIGURE_MM)
        parts += [_flowable(drawing), _paragraph(chart.caption, small), Spacer(1, 14)]
    settings = {name: config[name] for name in ("data", "settings", "feature_map", "versions")}
    lines = [f"{name}: {as_json(value)}" for name, value in settings.items()]
    parts += [_paragraph("Settings", heading), *(_paragraph(line, small) for line in lines)]
    parts += [_paragraph("Made again by", heading), _paragraph(rerun, small)]
    buffer = io.BytesIO()
    document = SimpleDocTemplate(
        buffer,
        pagesize=_PAGE,
        **dict.fromkeys(("leftMargin", "rightMargin", "topMargin", "bottomMargin"), _MARGIN),
        title=f"{view.dataset.name}: local calibration",
        invariant=1,
        initialFontName=regular,
    )
    document.build(parts, onFirstPage=_number(regular), onLaterPages=_number(regular))
    return buffer.getvalue()


def _styles(regular: str, bold: str) -> list[Any]:
    from reportlab.lib.styles import ParagraphStyle

    ink, quiet = palette("light")["ink"], palette("light")["quiet"]
    return [
        ParagraphStyle(
            f"size {size}",
            fontName=font,
            fontSize=size,
            leading=1.35 * size,
            textColor=color,
            spaceAfter=0.4 * size,
        )
        for size, font, color in (
            (_TEXT, regular, ink),
            (_SMALL, regular, quiet),
            (_HEADING, bold, ink),
            (_TITLE, bold, ink),
        )
    ]


def _bolder(style: Any, bold: str) -> Any:
    return style.clone("bolder", fontName=bold)


def _paragraph(text: str, style: Any) -> Any:
    from reportlab.platypus import Paragraph

    return Paragraph(escape(text), style)


def _flowable(drawing: Drawing) -> Any:
    from reportlab.platypus import Flowable

    class Figure(Flowable):  # type: ignore[misc]
        """A drawing in the flow of the page."""

        def __init__(self) -> None:
            super().__init__()
            self.width, self.height = drawing.width * 0.75, drawing.height * 0.75
            self.keepWithNext = True

        def draw(self) -> None:
            draw_on(self.canv, drawing, 0.0, self.height)

    return Figure()


def _table(lines: Sequence[Sequence[str]], regular: str, bold: str) -> Any:
    from reportlab.platypus import Table

    grid, quiet = palette("light")["line"], palette("light")["quiet"]
    cells = [
        [text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…" for text in line]
        for line in lines
    ]
    return Table(
        cells,
        repeatRows=1,
        hAlign="LEFT",
        style=[
            ("FONT", (0, 0), (-1, -1), regular, _SMALL),
            ("FONT", (0, 0), (-1, 0), bold, _SMALL),
            ("TEXTCOLOR", (0, 0), (-1, 0), quiet),
            ("LINEBELOW", (0, 0), (-1, -1), 0.4, grid),
            ("ALIGN", (1, 0), (-1, -1), "RIGHT"),
            ("TOPPADDING", (0, 0), (-1, -1), 2),
            ("BOTTOMPADDING", (0, 0), (-1, -1), 2),
        ],
    )


def _number(font: str) -> Any:
    def write(canvas: Any, document: Any) -> None:
        canvas.setFont(font, _SMALL)
        canvas.drawRightString(_PAGE[0] - _MARGIN, 0.6 * _MARGIN, str(document.page))

    return write


def _tables(findings: Findings) -> dict[str, list[list[str]]]:
    """Return the tables of the first pages, as text, by their headings."""
    made = {}
    metrics = [["metric", "value", "95 % CI"]]
    for item in metric_table(findings.summary, findings.chance).to_dict("records"):
        metric = CATALOGUE[item["metric"]]
        interval = metric.interval_text(item["low"], item["high"])
        estimate = item.get("estimate", math.nan)
        value = item["value"] if math.isnan(estimate) else estimate
        metrics.append([metric.heading, metric.text(value), interval])
    made["The numbers"] = metrics
    found = findings.search.subgroups[:LISTED]
    if found:
        lines = [["subgroup", "rows", "held-out gap, points", "95 % CI"]]
        for subgroup in found:
            held, sign = subgroup.held, subgroup.sign
            low, high = sorted((sign * held.gap_low, sign * held.gap_high))
            share = share_words(subgroup.n_rows / findings.search.n_rows)
            ends = f"{points_words(low)} to {points_words(high)}"
            rows = f"{subgroup.n_rows:,} ({share})"
            lines.append([name_of_subgroup(subgroup), rows, points_words(sign * held.gap), ends])
        made["Significantly miscalibrated subgroups"] = lines
    result = findings.comparison
    if result is not None:
        shown = [item for item in REPORT_TABLE if item.name in result.table][:_MOST_METRICS]
        lines = [["method", *(item.heading for item in shown)]]
        for label in result.ranking:
            lines.append([label, *(item.text(result.table[item.name][label]) for item in shown)])
        made["Recalibrators, on evaluation rows"] = lines
    return made
