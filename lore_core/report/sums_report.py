"""The report of rows that do not fit into memory: what their sums can say."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from lore_core import __version__
from lore_core.data.csv_text import csv_text
from lore_core.data.defaults import GAMMA
from lore_core.data.json_text import as_json
from lore_core.data.progress import Progress, part_of
from lore_core.figures import (
    Chart,
    bandwidth_figure,
    reliability_figure,
    sums_landscape_figure,
)
from lore_core.figures.pictures.reliability import reliability_points
from lore_core.figures.svg import drawing
from lore_core.figures.svg.drawing import page_rules
from lore_core.mergeable.cell_sums.summaries import (
    LocalDistribution,
    bandwidth_curve_of_sums,
    metrics_of_sums,
    null_errors_of_sums,
)
from lore_core.mergeable.cell_sums.sums import LocalErrorSums
from lore_core.metrics.catalogue import MIN_BIN_ROWS
from lore_core.metrics.glossary import GLOSSARY
from lore_core.regions.field_of_sums import SumsLandscape
from lore_core.report.archive import FORMAT
from lore_core.report.charts import figure_files
from lore_core.report.files import parquet_bytes
from lore_core.report.rendering import render


@dataclass(frozen=True)
class SummedRows:
    """Rows that were summed, and how a reader makes their report again."""

    sums: LocalErrorSums
    name: str  #: Of the data
    axes: str  #: Of the map
    said: str  #: What the numbers rest on, as a sentence
    settings: Mapping[str, Any]  #: What was looked at, for config.json
    command: Sequence[str]  #: ``lore report`` and what stands behind it


def sums_report_files(
    rows: SummedRows,
    *,
    gamma: float = GAMMA,
    n_draws: int = 99,
    random_state: int = 0,
    images: bool = True,
    progress: Progress | None = None,
) -> dict[str, bytes]:
    """Make the files of the bundle, by path in it.

    Metrics between bounds and beside chance, reliability, the curve over γ, and on maps of two
    dimensions the landscape of all bins and of the worst. ``n_draws``: simulations of chance; 0:
    none. Raises InputError if ``gamma`` is less than the sums allow.
    """
    sums = rows.sums
    chance = None
    if n_draws:
        chance = null_errors_of_sums(
            sums,
            gamma=gamma,
            n_draws=n_draws,
            random_state=random_state,
            progress=part_of(progress, 0.0, 0.3),
        )
    metrics = metrics_of_sums(sums, gamma=gamma, chance=chance)
    curve = bandwidth_curve_of_sums(sums, progress=part_of(progress, 0.3, 0.6))
    spread = LocalDistribution.of(sums, gamma=gamma).in_words
    binned = f"{sums.n_rows:,} rows, {sums.bins.n_bins} {sums.bins.binning} bins"
    charts: dict[str, Chart] = {
        "reliability": reliability_figure(sums.reliability, rows=binned),
        "bandwidth": bandwidth_figure({rows.axes: curve}, rows=binned, gamma=gamma),
    }
    seen: dict[str, SumsLandscape] = {}
    if sums.n_dimensions == 2:
        worst = sums.reliability.worst_bin(MIN_BIN_ROWS)
        for name, bin_index in (("landscape", None), ("landscape_worst_bin", worst)):
            seen[name] = SumsLandscape.of(sums, gamma=gamma, bin_index=bin_index)
            charts[name] = sums_landscape_figure(seen[name], axes=rows.axes)
    figures, why_not = figure_files(charts, images=images, progress=part_of(progress, 0.6, 0.98))
    of_bins = sums.reliability
    tables = {
        "metrics": metrics,
        "bandwidth": curve.frame(),
        "reliability": of_bins.frame(),
        **{name: charts[name].table for name in seen},
    }
    files = dict(figures)
    for name, table in tables.items():
        files[f"tables/{name}.csv"] = csv_text(table).encode()
        files[f"tables/{name}.parquet"] = parquet_bytes(table)
    command = shlex.join(rows.command)
    files["rerun.sh"] = f'#!/bin/sh\nset -eu\nexec {command} -o "${{OUT:-report-again}}"\n'.encode()
    contents = {
        "index.html": "this page",
        "figures/": "the figures, interactive" + (" and as SVG" if why_not is None else ""),
        "tables/": f"{', '.join(tables)}, as CSV and Parquet",
        "config.json": "every setting",
        "rerun.sh": "makes the report again",
    }
    config = {
        "format": FORMAT,
        "schema": 1,
        "lore_lens": __version__,
        "from": "sums",
        "settings": dict(rows.settings),
        "simulations": n_draws,
        "files": contents,
    }
    files["config.json"] = (as_json(config) + "\n").encode()
    shown = {name: drawing(chart.picture) for name, chart in charts.items()}
    shown["reliability"] = drawing(reliability_points(of_bins, rows=binned))
    files["index.html"] = render(
        "sums.html",
        name=rows.name,
        said=rows.said,
        gamma=gamma,
        drawing_rules=Markup(page_rules()),
        values=list(metrics.itertuples(index=False)),
        n_draws=n_draws,
        spread=spread,
        drawings=shown,
        seen=seen,
        words=GLOSSARY,
        files=render(
            "files.html",
            contents=contents,
            notes=() if why_not is None else (why_not,),
            rerun=command,
        ),
        version=__version__,
    ).encode()
    return dict(sorted(files.items()))
