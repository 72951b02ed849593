"""Take a chart away: interactive HTML, its numbers as CSV, static images where Chrome exists."""

from __future__ import annotations

import io
import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor, TimeoutError as TooLate
from importlib.util import find_spec
from typing import Literal

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from lore_core.data.csv_text import csv_text
from lore_core.data.validation import InputError
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
_TIMEOUT_SECONDS = 60.0
#: The browser asks its maker for updates and lists as it starts: of a proxy that is not there.
_NOWHERE = "http://127.0.0.1:9"
_worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="static-image")
_start = threading.Lock()
_started = False


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

    Parameters
    ----------
    chart : Chart
        What to write.
    script : str, optional
        Path of a ``plotly.min.js`` beside the file, which several files can share; by default the
        file holds it.
    """
    figure = go.Figure(chart.figure)
    figure.update_layout(margin_b=70)
    figure.add_annotation(
        text=chart.how_to_read,
        showarrow=False,
        xref="paper",
        yref="paper",
        x=0,
        y=0,
        yshift=-56,
        xanchor="left",
        yanchor="bottom",
        font={"size": 11},
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

    Parameters
    ----------
    chart : Chart
        What to draw.
    image_format : {"png", "svg", "pdf"}
        File format.
    width, height : int
        Pixels at scale 1; the height is the chart's own by default.
    scale : float
        Pixel density of a PNG.

    Raises
    ------
    InputError
        If the format is unknown, Chrome or Kaleido is missing, the browser fails or rendering takes
        over a minute.
    """
    if image_format not in STATIC_FORMATS:
        raise InputError(f"'image_format' must be one of {STATIC_FORMATS}; got {image_format!r}.")
    missing = why_no_static_images()
    if missing is not None:
        raise InputError(missing)

    from choreographer.errors import DevtoolsProtocolError
    from kaleido.errors import KaleidoError

    def render() -> bytes:
        _keep_browser_warm()
        image: bytes = chart.figure.to_image(
            format=image_format,
            width=width,
            height=height or chart.figure.layout.height,
            scale=scale,
        )
        return image

    try:
        return _worker.submit(render).result(timeout=_TIMEOUT_SECONDS)
    except TooLate as error:
        raise InputError(
            f"rendering '{chart.name}' took over {_TIMEOUT_SECONDS:.0f} s and was given up; use "
            "the HTML export or the camera button of the chart."
        ) from error
    # A browser that does not start, closes or answers with an error.
    except (OSError, RuntimeError, DevtoolsProtocolError, KaleidoError) as error:
        raise InputError(f"the browser that draws '{chart.name}' failed: {error}") from error


def _keep_browser_warm() -> None:
    """Start one browser for all images: 3 s for the first, 0.2 s for each after it."""
    global _started  # noqa: PLW0603 -- one browser a process
    with _start:
        if not _started:
            import kaleido

            kaleido.start_sync_server(silence_warnings=True, proxy_server=_NOWHERE)
            _started = True
