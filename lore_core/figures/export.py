"""Export of a chart: interactive HTML, CSV, static images where Chrome exists, print layout."""

import io
import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor, TimeoutError as TooLate
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any, Literal

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from lore_core.data.export_text import csv_text
from lore_core.data.validation import InputError, check_positive
from lore_core.figures.chart import Chart

ImageFormat = Literal["png", "svg", "pdf"]
STATIC_FORMATS: tuple[ImageFormat, ...] = ("png", "svg", "pdf")
_BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
)
TIMEOUT_SECONDS = 60.0
#: The browser asks its maker for updates and lists as it starts: of a proxy that is not there.
_NOWHERE = "http://127.0.0.1:9"
_worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="static-image")
COLUMN_WIDTHS = {"one column, 84 mm": 84.0, "one and a half, 129 mm": 129.0, "two, 174 mm": 174.0}
#: Pixels of an inch, in which figures are laid out; a PDF or SVG keeps the physical size.
_PIXELS_AN_INCH = 96.0
_MILLIMETRES_AN_INCH = 25.4
_POINTS_AN_INCH = 72.0
#: Type size the figures are designed with, in pixels, and the width they look right at.
_DESIGN_TYPE = 12.0
_DESIGN_WIDTH = 700.0
_LEGEND_LINE = 1.8


def plot_config(chart: Chart) -> dict[str, object]:
    """Modebar settings of a chart: no upload to a cloud, and the browser's own SVG as download."""
    idle = ["autoScale2d", "zoomIn2d", "zoomOut2d", "select2d", "lasso2d"]
    return {
        "displaylogo": False,
        "showSendToCloud": False,
        "toImageButtonOptions": {"format": "svg", "filename": chart.name},
        "modeBarButtonsToRemove": idle,
        **chart.config,
    }


def chart_html(chart: Chart, *, script: str | None = None) -> bytes:
    """One self-contained HTML file: interactive, opens without a network.

    ``script``: path of a ``plotly.min.js`` that several files can share, not in the file itself.
    """
    figure = go.Figure(chart.figure)
    figure.update_layout(margin_b=70)
    foot = {"xref": "paper", "yref": "paper", "x": 0, "y": 0, "xanchor": "left"}
    figure.add_annotation(
        foot | {"text": chart.how_to_read, "showarrow": False, "font": {"size": 11}},
        yshift=-56,
        yanchor="bottom",
    )
    page = figure.to_html(
        full_html=True,
        include_plotlyjs=True if script is None else script,
        config=plot_config(chart),
        div_id=f"lore-lens-{chart.name}",
    )
    return str(page).encode()


def plotly_script() -> bytes:
    """Return the ``plotly.min.js`` that several HTML files can share."""
    return str(get_plotlyjs()).encode()


def chart_csv(chart: Chart) -> bytes:
    """Write the numbers the chart shows, as UTF-8 CSV."""
    return csv_text(chart.table).encode()


def chart_parquet(chart: Chart) -> bytes:
    """Write the numbers the chart shows, as Parquet."""
    buffer = io.BytesIO()
    table = chart.table
    # A column of names and numbers has no type in Parquet.
    mixed = {name: str for name in table if table[name].dtype == object}
    table.astype(mixed).to_parquet(buffer, index=False)
    return buffer.getvalue()


def why_no_static_images() -> str | None:
    """Return None where PNG, SVG and PDF can be made here, else what is missing, in words."""
    if find_spec("kaleido") is None:
        return "PNG, SVG and PDF need the optional package kaleido: pip install kaleido."
    browser = os.environ.get("BROWSER_PATH")
    if browser is None and not any(shutil.which(name) for name in _BROWSERS):
        return "PNG, SVG and PDF need Chrome or Chromium on this machine; none was found."
    return None


def chart_image(
    chart: Chart,
    image_format: ImageFormat,
    *,
    width: int = 1000,
    height: int | None = None,
    scale: float = 2.0,
) -> bytes:
    """Render a chart as a static image by Kaleido.

    ``width``, ``height``: pixels at scale 1; by default the chart's own height. ``scale``: pixel
    density of a PNG. Raises InputError if the format is unknown, Chrome or Kaleido is missing, the
    browser fails or rendering takes over a minute.
    """
    if image_format not in STATIC_FORMATS:
        raise InputError(f"'image_format' must be one of {STATIC_FORMATS}; got {image_format!r}.")
    missing = why_no_static_images()
    if missing is not None:
        raise InputError(missing)

    import kaleido
    from choreographer.errors import DevtoolsProtocolError
    from kaleido.errors import KaleidoError

    def render() -> bytes:
        # One browser for all images: 3 s for the first, 0.2 s for each after it.
        kaleido.start_sync_server(silence_warnings=True, proxy_server=_NOWHERE)
        image: bytes = chart.figure.to_image(
            format=image_format,
            width=width,
            height=height or chart.figure.layout.height,
            scale=scale,
        )
        return image

    try:
        return _worker.submit(render).result(timeout=TIMEOUT_SECONDS)
    except TooLate as error:
        raise InputError(
            f"rendering '{chart.name}' took over {TIMEOUT_SECONDS:.0f} s and was given up; use "
            "the HTML export or the camera button of the chart."
        ) from error
    except (OSError, RuntimeError, DevtoolsProtocolError, KaleidoError) as error:
        raise InputError(f"the browser that draws '{chart.name}' failed: {error}") from error


def paper_chart(
    chart: Chart,
    *,
    width_mm: float = 84.0,
    height_mm: float | None = None,
    font_pt: float = 8.0,
    title: bool = False,
) -> Chart:
    """Lay a chart out anew for print.

    In the light colours, which colour-blind readers can tell apart. ``height_mm``: by default 0.75
    of the width. ``font_pt``: size of all type in points. ``title``: keep the title; journals put
    it into the caption. Layouts are in pixels of 1/96 inch. Raises InputError if a size is out of
    range.
    """
    width = _pixels(width_mm, "width_mm", 30.0)
    height = None if height_mm is None else _pixels(height_mm, "height_mm", 20.0)
    if not 4 <= check_positive(font_pt, "font_pt") <= 24:
        raise InputError(f"'font_pt' must lie between 4 and 24 points; got {font_pt!r}.")
    sized = partial(_laid_out, width=width, height=height, font_pt=font_pt, title=title)
    first = chart.lay_out
    lay_out = sized if first is None else lambda drawn: sized(first(drawn))
    return replace(chart, mode="light", lay_out=lay_out)


def _laid_out(
    drawn: go.Figure, *, width: float, height: float | None, font_pt: float, title: bool
) -> go.Figure:
    figure: dict[str, Any] = json.loads(drawn.to_json())
    layout = figure["layout"]
    factor = font_pt / _POINTS_AN_INCH * _PIXELS_AN_INCH / _DESIGN_TYPE
    small, high = _DESIGN_TYPE * factor, height or 0.75 * width
    _scale(figure, factor, min(1.0, max(0.55, width / _DESIGN_WIDTH)))
    if not title:
        layout.pop("title", None)
    top = small * (4.0 if title else 0.8)
    if layout.get("showlegend", False):
        if layout["legend"].get("yref") != "container":
            top += small * _LEGEND_LINE
        elif height is None:
            names = [trace["name"] for trace in figure["data"] if trace.get("showlegend", True)]
            high += small * _LEGEND_LINE * _lines(names, small, width)
    layout["margin"] = {"l": 4, "r": 4, "b": 4, "t": top}
    layout.update(width=round(width), height=round(high), autosize=False)
    layout["font"] = {**layout.get("font", {}), "size": small}
    return go.Figure(figure)


def paper_scale(dpi: float = 300.0) -> float:
    """Return the ``scale`` of a PNG by :func:`~lore_core.figures.export.chart_image`."""
    return check_positive(dpi, "dpi") / _PIXELS_AN_INCH


def _lines(names: list[str], size: float, width: float) -> int:
    """Count the lines of a legend as wide as the figure, from the usual width of type."""
    lines, used = 1, 0.0
    for name in names:
        wide = 40.0 + 0.55 * size * len(name)
        lines, used = (lines, used + wide) if used + wide <= width else (lines + 1, wide)
    return lines


def _pixels(millimetres: float, name: str, least: float) -> float:
    if not least <= check_positive(millimetres, name) <= 500:
        raise InputError(f"'{name}' must lie between {least:g} and 500 mm; got {millimetres!r}.")
    return millimetres / _MILLIMETRES_AN_INCH * _PIXELS_AN_INCH


def _scale(item: Any, type_factor: float, line_factor: float) -> None:
    if isinstance(item, list):
        for part in item:
            _scale(part, type_factor, line_factor)
    if not isinstance(item, dict):
        return
    for name, value in item.items():
        if isinstance(value, dict):
            if name in ("font", "tickfont", "titlefont") and "size" in value:
                value["size"] *= type_factor
            elif name in ("marker", "line"):
                for size in ("size", "width"):
                    if isinstance(value.get(size), (int, float)):
                        value[size] *= line_factor
            elif name == "colorbar" and "thickness" in value:
                value["thickness"] *= max(line_factor, 0.7)
        _scale(value, type_factor, line_factor)
