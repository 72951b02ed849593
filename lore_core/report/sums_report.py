"""The report of rows that do not fit into memory: what their sums can say."""

import shlex
from dataclasses import replace

from markupsafe import Markup

from lore_core import __version__
from lore_core.data.export_text import as_json
from lore_core.data.progress import Progress, part_of
from lore_core.figures import Chart, bandwidth_figure, reliability_figure, sums_landscape_figure
from lore_core.figures.drawing import page_rules
from lore_core.mergeable import LocalDistribution
from lore_core.metrics.bandwidth import BandwidthCurve
from lore_core.metrics.catalogue import MIN_BIN_ROWS
from lore_core.metrics.glossary import GLOSSARY
from lore_core.regions.field import SumsLandscape
from lore_core.report.archive import FORMAT, option_words
from lore_core.report.charts import figure_files
from lore_core.report.page import render
from lore_core.report.pdf import report_pdf
from lore_core.report.tables import table_files
from lore_core.view import SumsView
from lore_core.view.methods import metrics_of
from lore_core.view.where import curve_of


def sums_report_files(
    view: SumsView, n_draws: int | None, *, progress: Progress | None
) -> dict[str, bytes]:
    """Make the files of the bundle, by path in it.

    ``n_draws``: simulations of chance; 0: none. Raises InputError if γ is less than the sums allow.
    """
    sums, bins = view.sums, view.sums.reliability
    metrics, chance = metrics_of(view, n_draws=n_draws, progress=progress)
    curve = curve_of(view, progress)
    spread = LocalDistribution.of(sums, gamma=view.gamma).in_words
    n_draws = 0 if chance is None else chance.n_draws
    charts, seen = sums_charts(view, curve)
    files = figure_files(charts, progress=part_of(progress, 0.9, 1.0))
    tables = {
        "metrics": metrics,
        "bandwidth": curve.frame(),
        "reliability": bins.frame(),
        **{name: charts[name].table for name in seen},
    }
    for name, table in tables.items():
        files |= table_files(name, table)
    command = sums_command(view, "report", n_draws)
    files["rerun.sh"] = f'#!/bin/sh\nset -eu\nexec {command} -o "${{OUT:-report-again}}"\n'.encode()
    contents = {
        "index.html": "this page",
        "report.pdf": "the same on paper",
        "figures/": "the figures: interactive, and SVG and PDF for print",
        "tables/": f"{', '.join(tables)}, as CSV and Parquet",
        "config.json": "every setting",
        "rerun.sh": "makes the report again",
    }
    config = {
        "format": FORMAT,
        "schema": 1,
        "lore_lens": __version__,
        "from": "sums",
        "settings": view.settings(),
        "simulations": n_draws,
        "files": contents,
    }
    files["config.json"] = (as_json(config) + "\n").encode()
    shown = {name: chart.drawing() for name, chart in charts.items()}
    page = render(
        "sums.html",
        view=view,
        name=view.name,
        drawing_rules=Markup(page_rules()),
        values=metrics.to_dict("records"),
        chance=chance,
        spread=spread,
        drawings=shown,
        seen=seen,
        words=GLOSSARY,
        files=render("files.html", contents=contents, rerun=command),
        version=__version__,
    )
    files["index.html"] = page.encode()
    files["report.pdf"] = report_pdf(page, shown.values(), view.name)
    return dict(sorted(files.items()))


def sums_charts(
    view: SumsView, curve: BandwidthCurve
) -> tuple[dict[str, Chart], dict[str, SumsLandscape]]:
    """Show what sums say: charts by the names of their files, and their landscapes."""
    sums, bins = view.sums, view.sums.reliability
    binned = f"{view.rows}, {view.bins_in_words}"
    charts: dict[str, Chart] = {
        "reliability": reliability_figure(bins, rows=binned),
        "bandwidth": bandwidth_figure({view.map_name: curve}, rows=binned, gamma=view.gamma),
    }
    seen: dict[str, SumsLandscape] = {}
    if sums.n_dimensions == 2:
        for name, k in (("landscape", None), ("landscape_worst_bin", bins.worst_bin(MIN_BIN_ROWS))):
            seen[name] = SumsLandscape.of(sums, gamma=view.gamma, bin_index=k)
            charts[name] = sums_landscape_figure(seen[name], axes=view.map_name)
    basis = f"{view.basis()} Seed {view.seed}."
    return {name: replace(chart, basis=basis) for name, chart in charts.items()}, seen


def sums_command(view: SumsView, word: str, n_draws: int | None = None) -> str:
    """Return the command that makes a report or figures of the same sums again."""
    plan, bins = view.run.plan, view.sums.bins
    options = {
        "--map": plan.embedding.name.typed,
        "--gamma": view.gamma,
        "--bins": bins.n_bins,
        "--binning": bins.binning,
        "--target": plan.target,
        "--seed": view.seed,
        "--cells": plan.max_cells,
        "--column": view.columns,
        "--draws": n_draws,
    }
    return shlex.join(["lore", word, *view.data, *option_words(options)])
