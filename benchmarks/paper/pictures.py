"""The page's pictures: drawn by lore_core.figures, saved by the project's own export."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lore_core as lore
from benchmarks.paper import published as pub
from benchmarks.paper.measure import GAMMA, MAPS, RunResult, Setting
from lore_core.figures import Chart, bandwidth_figure, run_scatter_figure, runs_figure
from lore_core.figures.drawing import MM_PER_INCH, UNITS_PER_INCH
from lore_core.figures.export import exported
from lore_core.metrics.metric import CurveKey

#: GitHub and most readers show a page some 850 pixels wide.
WIDTH = 860
#: Above this many bytes a raster is kinder to the reader than its vector file.
LARGEST_SVG = 150_000

#: What the curves of one map show, by the names that have a colour of their own.
_DRAWN = {"tsne": {pub.LORE_TSNE: "LoRe"}, "pca": {pub.LORE_PCA: "LoRe"}}
GLOBAL_METHODS = (pub.NONE, pub.TS, pub.HB, pub.IR, pub.MMCE)


class Gallery:
    """Saves charts beside the page.

    Parameters
    ----------
    folder : Path
        Where the pictures go.
    link : str
        The folder as the page names it.
    """

    def __init__(self, folder: Path, link: str) -> None:
        self.folder = folder
        self.link = link
        folder.mkdir(parents=True, exist_ok=True)

    def save(self, chart: Chart, name: str, width: int = WIDTH) -> str:
        """Save a chart as SVG, or as PNG where that is much smaller; return its Markdown."""
        size = {"width_mm": width / UNITS_PER_INCH * MM_PER_INCH, "font_pt": 9.0}
        content, ending = exported(chart, "svg", **size), "svg"
        if len(content) > LARGEST_SVG:
            content, ending = exported(chart, "png", **size, dpi=200), "png"
        for old in self.folder.glob(f"{name}.*"):
            old.unlink()
        (self.folder / f"{name}.{ending}").write_bytes(content)
        return _image(chart, f"{self.link}/{name}.{ending}", width)


def _image(chart: Chart, path: str, width: int) -> str:
    """HTML, because Markdown has no width: halves stand side by side."""
    alt = chart.alt.replace('"', "'")
    share = "100%" if width == WIDTH else "49%"
    title = f"{chart.title}; {chart.subtitle}".replace('"', "'")
    return f'<img src="{path}" width="{share}" alt="{alt}" title="{title}">'


def curves_of(results: Sequence[RunResult], name: str) -> dict[str, lore.BandwidthCurve]:
    """Curves of the global methods and of LoRe on one map; of many runs their mean and spread."""
    wanted = {label: label for label in GLOBAL_METHODS} | _DRAWN[name]
    return {
        shown: _joined([result.curves[name][label] for result in results])
        for label, shown in wanted.items()
    }


def map_curves(results: Sequence[RunResult]) -> dict[str, lore.BandwidthCurve]:
    """Curves without recalibration, by feature map."""
    return {name: _joined([result.maps[name] for result in results]) for name in results[0].maps}


def mean_bandwidth_curve(curves: Sequence[lore.BandwidthCurve]) -> lore.BandwidthCurve:
    """Mean of the curves of many runs, value by value without NaN (Luo et al. 2022, appendix B).

    Its bounds are one standard deviation (the population's) away. Raises InputError if there is no
    curve, or ``gamma`` differs.
    """
    if not curves or any(not np.array_equal(curve.gamma, curves[0].gamma) for curve in curves):
        raise lore.InputError("'curves' must hold one curve or more, all of the same 'gamma'.")
    values: dict[str, Any] = {"gamma": curves[0].gamma, "n_runs": len(curves)}
    bounds: dict[Any, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
    for name in (item.name for item in fields(lore.BandwidthCurve)):
        if name not in (*values, "bounds"):
            known = np.ma.masked_invalid(np.stack([getattr(curve, name) for curve in curves]))
            mean, sd = (
                np.ma.filled(of, np.nan)[()] for of in (known.mean(axis=0), known.std(axis=0))
            )
            values[name] = mean
            if name in ("mlce", "mlce_supported", "alce"):
                bounds[name] = np.maximum(mean - sd, 0.0), np.minimum(mean + sd, 1.0)
    return lore.BandwidthCurve(**values, bounds=bounds)


def _joined(curves: Sequence[lore.BandwidthCurve]) -> lore.BandwidthCurve:
    return curves[0] if len(curves) == 1 else mean_bandwidth_curve(curves)


def curve_chart(
    curves: Mapping[str, lore.BandwidthCurve],
    rows: str,
    metric: CurveKey = "mlce",
    gamma: float | None = None,
) -> Chart:
    """Draw curves over the whole width of the page."""
    chart = bandwidth_figure(curves, metric=metric, rows=rows, gamma=gamma)
    return replace(chart, height=400)


def draw_curves(
    results: Sequence[RunResult],
    setting: Setting,
    gallery: Gallery,
    stem: str,
    rows: str,
    more: tuple[CurveKey, ...] = (),
) -> dict[str, str]:
    """Save every curve of the page for one experiment; return their Markdown by name.

    ``more`` are further metrics to draw on t-SNE.
    """
    made = {
        "maps": gallery.save(
            curve_chart(map_curves(results), f"no recalibration; {rows}"), f"{stem}-maps"
        )
    }
    for name in MAPS:
        where = f"{setting.map_name(name)}; {rows}"
        # The paper shows the average LCE on t-SNE only.
        metrics: tuple[CurveKey, ...] = ("mlce",)
        if name == "tsne":
            metrics = (*metrics, "alce", *more)
        for metric in metrics:
            chart = curve_chart(curves_of(results, name), where, metric, GAMMA[name])
            made[f"{metric}-{name}"] = gallery.save(
                chart, f"{stem}-{metric}-{name}".replace("_", "-")
            )
    return made


def draw_runs(runs: lore.comparison.RunsComparison, gallery: Gallery, rows: str) -> dict[str, str]:
    """Save the worst group of every run by method, and against the MLCE."""
    paper = lore.comparison.RunsComparison(
        runs.runs[runs.runs["method"].isin((*GLOBAL_METHODS, pub.LORE_TSNE))]
        .replace({"method": _DRAWN["tsne"]})
        .reset_index(drop=True)
    )
    metric = "max group-wise MCE"
    scatter = run_scatter_figure(paper, "MLCE (t-SNE)", of=metric, rows=rows)
    return {
        "worst-group": gallery.save(runs_figure(paper, metric, rows=rows), "runs-worst-group"),
        "scatter": gallery.save(scatter, "runs-scatter"),
    }


def lowest_at(
    curves: Mapping[str, lore.BandwidthCurve],
    label: str,
    among: Sequence[str],
    metric: CurveKey = "mlce",
) -> list[float]:
    """Bandwidths at which one method's mean curve lies below all others of ``among``."""
    rivals = [getattr(curves[name], metric) for name in among if name != label]
    own = getattr(curves[label], metric)
    return [
        float(gamma)
        for k, gamma in enumerate(curves[label].gamma)
        if all(own[k] < rival[k] for rival in rivals)
    ]
